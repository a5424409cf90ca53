/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registry: a context manager that knows servers by number.
 */
#ifndef BENCH_REGISTRY_H
#define BENCH_REGISTRY_H

#include "bench/wire.h"

/* Becomes the context manager of @device, calls @ready(), serves; never returns. */
void registry_run(const char *device, void (*ready)(void));

/* Publishes an object of the caller's own as server @number. */
void registry_publish(struct wire *wire, uint64_t number);

/* A strong reference to server @number, which must have been published. */
uint32_t registry_lookup(struct wire *wire, uint64_t number);

#endif
