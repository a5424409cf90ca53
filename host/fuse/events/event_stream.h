/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stream of events, binder_logs/events (events_abi.h): what the engine tells through trace.h,
 * for those who have the file open. While it is not open, an event costs one predictable branch.
 *
 * Opens, reads and their ends take one mutex, which writers of events never take.
 */
#ifndef HOST_FUSE_EVENT_STREAM_H
#define HOST_FUSE_EVENT_STREAM_H

#include "base/daemon_state.h"
#include "events/events_abi.h"
#include "host_types.h"

struct events_reader;
struct host_trace_data;
struct request;

struct events {
	atomic_uint wanted_kinds;	/* by some reader, a bit each */
	struct events_readers *all;	/* those who have the file open (event_stream.c) */
};

void events_init(void);

/* Does a reader want events of @kind? Then there is a ring (events_ring_start()). */
static inline bool events_wanted(enum event_kind kind)
{
	u32 wanted = atomic_load_explicit(&daemon_self->events->wanted_kinds, memory_order_acquire);

	return __builtin_expect(wanted & (1u << kind), 0);
}

/*
 * Writes an event, which happens in the call that the running worker serves. @fields: the struct
 * of its kind, @size bytes. Any lock of the engine may be held. Reads the clock.
 */
void events_put(enum event_kind kind, const void *fields, size_t size);
/* Writes an event that happens in the call of @thread. */
void events_put_of(s32 thread, enum event_kind kind, const void *fields, size_t size);
/* Writes EVENT_RETURN, and EVENT_ERROR if @cmd is one, as far as they are wanted. */
void events_put_return(u32 cmd);
/* Writes the EVENT_DATA of a transaction. */
void events_put_data(const struct host_trace_data *data);
/* Writes EVENT_OPENED; reads a file of /proc, so @pid waits for its open(2) and no lock is held. */
void events_put_opened(s32 pid);
/* Writes EVENT_FAILED. */
void events_put_failed(const struct event_failed *failed, bool reply);

/*
 * Opens the file for user @uid, of the mount of user @owner. 0 and *@out; -EACCES: neither root nor
 * the owner; -EMFILE: too many have it open; -ENOMEM.
 */
int events_open(u32 uid, u32 owner, struct events_reader **out);
void events_close(struct events_reader *reader);

/* From now on @reader gets the kinds of @mask, a bit each. */
void events_select(struct events_reader *reader, u32 mask);

/* Reply to the request; to a READ when there is something, or -EBUSY while another one waits. */
void events_read(struct events_reader *reader, const struct request *request);
void events_write(struct events_reader *reader, const struct request *request);
void events_poll(struct events_reader *reader, const struct request *request);

/* ---- handing over ---- */

/* What a reader waits for. The last three are set as it is handed over. */
struct events_reader_state {
	u64 unique;		/* of the READ that waits; 0: none */
	u64 idle_ns;		/* when that returns EVENT_IDLE */
	u64 poll_handle;	/* of the poller that waits */
	u32 room;		/* records that the READ takes */
	bool header_sent;
	bool poll_armed;
	u32 mask;
	u64 end;		/* the number of the event after the last one */
	u64 lost;
};

/* Events for a reader that are handed over with it; it is told how many more there were. */
#define EVENTS_PENDING 16384u

/* Returns what @reader has not read yet, *@nr events, to be freed. NULL: nothing, or no memory. */
struct event_record *events_save(const struct events_reader *reader,
				 struct events_reader_state *state, size_t *nr);
/* A reader that was taken over, with the @nr events at @pending. NULL: no memory. */
struct events_reader *events_restore(const struct events_reader_state *state,
				     const struct event_record *pending, size_t nr);

/* An INTERRUPT for the request @unique. False: no READ of this file waits as that request. */
bool events_interrupt(u64 unique);

#endif
