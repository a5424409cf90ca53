/* SPDX-License-Identifier: GPL-2.0 */
/* runner: runs every TEST() of a program, in order, and sums up. */
#ifndef HEAP_TEST_RUNNER_H
#define HEAP_TEST_RUNNER_H

/* Each test between @before and @after; the summary goes under @name. Returns the program's exit
 * status. */
int runner_run(const char *name, void (*before)(void), void (*after)(void));

#endif
