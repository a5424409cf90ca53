// SPDX-License-Identifier: GPL-2.0
/* Instantiates the tracepoints of heap_events.h. */
#include "pool.h"

#define CREATE_TRACE_POINTS
#include "heap_events.h"

unsigned int heap_event_order(const struct pool *pool)
{
	return pool->order;
}

bool heap_event_uncached(const struct pool *pool)
{
	return pool->uncached;
}
