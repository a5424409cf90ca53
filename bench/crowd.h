/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A crowd: many binder clients that do nothing but be there.
 */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

/*
 * Connects @nr_clients processes to @device: each opens and maps it, makes one call, and then
 * sleeps in a read as a thread of a pool would. Prints `ready` when all are there, and ends them
 * and returns when standard input ends.
 */
void crowd_run(const char *device, int nr_clients);

#endif
