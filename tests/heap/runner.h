/* SPDX-License-Identifier: GPL-2.0 */
/* runner: runs every TEST() of a program, in order, and sums up. */
#ifndef TESTS_HEAP_RUNNER_H
#define TESTS_HEAP_RUNNER_H

/*
 * Runs those whose names contain @word (NULL: all), each between @before and @after (NULL:
 * nothing), and prints the summary under @name. Returns the program's exit status.
 */
int runner_run(const char *name, const char *word, void (*before)(void), void (*after)(void));
/* The running test does not apply here. */
void runner_skip(const char *why);

#endif
