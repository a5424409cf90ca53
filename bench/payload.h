/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bytes that a call carries.
 */
#ifndef BENCH_PAYLOAD_H
#define BENCH_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Memory of @size bytes (page aligned, every page touched), filled with a pattern. Never fails:
 * ends the process if there is no memory. Not freed: the process is short-lived.
 */
void *payload_new(size_t size);

/*
 * Reads one word of every cache line of @data, as a receiver that uses what it got would: pages
 * that are not mapped yet fault here. Returns a sum that the caller need not look at.
 */
uint64_t payload_read(const void *data, size_t size);

#endif
