// SPDX-License-Identifier: GPL-2.0
/*
 * The payload of a call.
 *
 * A receiver that never reads its payload would favour a transport that delivers pages lazily; with
 * one that reads every byte, most of the measured time would be its own. Reading one byte of each
 * cache line transfers all of the payload to the receiver at little cost.
 */
#include "bench/payload.h"

#include "bench/fail.h"

#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64

void *payload_new(size_t size)
{
	void *data;

	if (posix_memalign(&data, 4096, size ? size : 1))
		fail("no memory for a payload of %zu bytes", size);
	memset(data, 0x5a, size ? size : 1);
	return data;
}

void payload_read(const void *data, size_t size)
{
	const volatile uint8_t *bytes = data;

	for (size_t at = 0; at < size; at += CACHE_LINE)
		(void)bytes[at];
}
