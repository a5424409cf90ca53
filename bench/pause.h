/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clients that notice for how long a driver does not answer.
 */
#ifndef BENCH_PAUSE_H
#define BENCH_PAUSE_H

/*
 * @nr_pairs clients call a server each, of @device, which has a registry, with a short rest between
 * two calls. Prints `ready`; then, for each line of standard input, the longest call of each client
 * since the line before, in us. Ends the processes and returns when standard input ends.
 */
void pause_run(const char *device, int nr_pairs);

#endif
