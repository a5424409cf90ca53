/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The payload of a call.
 */
#ifndef BENCH_PAYLOAD_H
#define BENCH_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns @size bytes of page-aligned memory, filled with a pattern. Never freed: the process is
 * short-lived. Ends the process if there is no memory.
 */
void *payload_new(size_t size);

/*
 * Reads one byte of every cache line of @data, as a receiver that uses its data does: pages that
 * are not mapped yet fault here.
 */
void payload_read(const void *data, size_t size);

#endif
