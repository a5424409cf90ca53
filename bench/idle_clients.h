/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Many idle binder clients, for what each costs the driver.
 */
#ifndef BENCH_IDLE_CLIENTS_H
#define BENCH_IDLE_CLIENTS_H

/*
 * Connects @nr_clients processes to @device: each opens and maps it, makes one call, and then
 * sleeps in a read as a thread of a pool does. Prints `ready` when all are connected; ends them
 * and returns when standard input ends.
 */
void idle_clients_run(const char *device, int nr_clients);

#endif
