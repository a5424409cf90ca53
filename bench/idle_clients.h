/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Many idle binder clients, for what each costs the driver.
 */
#ifndef BENCH_IDLE_CLIENTS_H
#define BENCH_IDLE_CLIENTS_H

struct idle_clients {
	int nr_clients;
	int nr_objects;		/* that all of them publish together, if they look up none */
	int nr_threads;		/* of each client */
};

/*
 * Connects so many processes to @device: each opens and maps it, looks up an object or publishes
 * some, and then sleeps in a read as the threads of a pool do. Prints `ready` when all are
 * connected; ends them and returns when standard input ends.
 */
void idle_clients_run(const char *device, const struct idle_clients *wanted);

#endif
