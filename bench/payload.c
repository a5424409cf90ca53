// SPDX-License-Identifier: GPL-2.0
/*
 * The bytes that a call carries.
 *
 * A receiver that never looks at its payload would flatter a transport that delivers pages lazily;
 * one that adds up every byte would drown the transport in its own work. Reading one word of each
 * cache line brings all of the payload to the receiver and costs next to nothing.
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

uint64_t payload_read(const void *data, size_t size)
{
	const volatile uint8_t *bytes = data;
	uint64_t sum = 0;

	for (size_t at = 0; at < size; at += CACHE_LINE)
		sum += bytes[at];
	return sum;
}
