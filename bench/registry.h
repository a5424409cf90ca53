/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registry: a context manager that finds servers by number.
 */
#ifndef BENCH_REGISTRY_H
#define BENCH_REGISTRY_H

#include "bench/cell.h"
#include "bench/wire.h"

/*
 * The assist step of a binder peer: becomes the context manager of the cell's device and serves;
 * never returns. Ends the process on any failure, as all functions here do.
 */
void registry_assist(void *state, const struct cell *cell);

/* Publishes an object of the calling process as server @number, which is below 65,536. */
void registry_publish(struct wire *wire, uint32_t number);

/* Returns a handle with a strong reference to server @number, which must have been published. */
uint32_t registry_lookup(struct wire *wire, uint32_t number);

#endif
