/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring of events: any number of writers, which never wait for each other or for a reader, and
 * readers, each with a position of its own.
 */
#ifndef HOST_FUSE_EVENTS_RING_H
#define HOST_FUSE_EVENTS_RING_H

#include "events/events_abi.h"
#include "host_types.h"

struct host_trace_data;

/* The position of a reader. */
struct events_position {
	u64 number;		/* of the next event that it gets */
	u64 stalled_ns;		/* since when that one is being written; 0: it is not */
	u64 lost;		/* events that it missed and was not told of yet */
	u32 mask;		/* the kinds that it wants, a bit each */
};

/* A record that takes longer to be written than this is given up, in nanoseconds. */
#define EVENTS_STALL_NS 20000000ull

void events_ring_init(void);

/* Provides the memory, which is zero. False: there is none. Not from two threads at a time. */
bool events_ring_start(void);
/*
 * Gives the memory back, not the addresses: a writer may be late. Not from two threads at a time.
 */
void events_ring_stop(void);

/* The number of the next event that is written. */
u64 events_ring_end(void);
/* Sets that number to the predecessor's, before the first event. */
void events_ring_set_end(u64 number);

/*
 * Writes an event at the time @now_ns; its fields are the @size bytes at @fields, 40 at most. Any
 * thread, any lock of the engine may be held. Between the first events_ring_start() and the end.
 */
void events_ring_put(u64 now_ns, u32 kind, bool reply, s32 thread, const void *fields, size_t size);

/*
 * Writes an EVENT_DATA, or EVENT_DATA_TO_CLEAR, for each portion of the data of a transaction, as
 * above; their numbers follow each other.
 */
void events_ring_put_data(u64 now_ns, s32 thread, const struct host_trace_data *data);

/*
 * Copies at most @room records at @position to @records and advances it; returns how many.
 * EVENT_LOST is one of them where events are missing.
 */
size_t events_ring_copy(struct events_position *position, u64 now_ns, struct event_record *records,
			size_t room);

#endif
