/* SPDX-License-Identifier: GPL-2.0 */
/* The operations of trace.h in the daemon: each is an event of the stream (event_stream.h). */
#ifndef HOST_FUSE_TRACE_EVENTS_H
#define HOST_FUSE_TRACE_EVENTS_H

#include "events/event_stream.h"

#define trace_put(kind, fields) \
	do { \
		if (events_wanted(kind)) \
			events_put((kind), &(fields), sizeof(fields)); \
	} while (0)

#define host_trace_command host_trace_command
static inline void host_trace_command(u32 cmd)
{
	trace_put(EVENT_COMMAND, ((struct event_word){ cmd }));
}

#define host_trace_return host_trace_return
static inline void host_trace_return(u32 cmd)
{
	if (events_wanted(EVENT_RETURN) || events_wanted(EVENT_ERROR))
		events_put_return(cmd);
}

#define host_trace_write_done host_trace_write_done
static inline void host_trace_write_done(int err)
{
	trace_put(EVENT_WRITE_DONE, ((struct event_done){ err }));
}

#define host_trace_read_done host_trace_read_done
static inline void host_trace_read_done(int err)
{
	trace_put(EVENT_READ_DONE, ((struct event_done){ err }));
}

/* The daemon itself tells the begin and the end of an ioctl, as the module's file operations do. */
static inline void trace_ioctl(u32 cmd, u64 arg)
{
	struct event_ioctl ioctl = { .arg = arg, .cmd = cmd };

	trace_put(EVENT_IOCTL, ioctl);
}

/* A worker may have gone on to another call before it replies to that of @thread. */
static inline void trace_ioctl_done(s32 thread, int result)
{
	if (events_wanted(EVENT_IOCTL_DONE))
		events_put_of(thread, EVENT_IOCTL_DONE, &(struct event_done){ result },
			      sizeof(struct event_done));
}

#define host_trace_wait host_trace_wait
static inline void host_trace_wait(bool proc_work, bool in_call, bool has_todo)
{
	struct event_wait wait = { proc_work, in_call, has_todo };

	trace_put(EVENT_WAIT, wait);
}

static inline void trace_txn(enum event_kind kind, const struct host_trace_txn *txn)
{
	struct event_txn event = {
		.id = txn->id,
		.node = txn->node,
		.from_proc = txn->from_proc,
		.from_thread = txn->from_thread,
		.to_proc = txn->to_proc,
		.to_thread = txn->to_thread,
		.code = txn->code,
		.flags = txn->flags,
		.reply = txn->reply,
	};

	trace_put(kind, event);
}

#define host_trace_txn_sent host_trace_txn_sent
static inline void host_trace_txn_sent(const struct host_trace_txn *txn)
{
	trace_txn(EVENT_TXN, txn);
}

#define host_trace_txn_received host_trace_txn_received
static inline void host_trace_txn_received(u32 id)
{
	struct event_txn event = { .id = id };

	trace_put(EVENT_TXN_RECEIVED, event);
}

#define host_trace_priorities_wanted host_trace_priorities_wanted
static inline bool host_trace_priorities_wanted(void)
{
	return events_wanted(EVENT_PRIORITIES);
}

#define host_trace_priorities host_trace_priorities
static inline void host_trace_priorities(u32 id, const struct host_priority *caller,
					 struct host_priority served)
{
	struct event_priorities event = {
		.id = id,
		.has_caller = caller != NULL,
		.caller_policy = caller ? caller->policy : 0,
		.caller_prio = caller ? caller->prio : 0,
		.policy = served.policy,
		.prio = served.prio,
	};

	trace_put(EVENT_PRIORITIES, event);
}

#define host_trace_txn_freed host_trace_txn_freed
static inline void host_trace_txn_freed(const struct host_trace_txn *txn)
{
	trace_txn(EVENT_TXN_FREED, txn);
}

#define host_trace_buffer host_trace_buffer
static inline void host_trace_buffer(enum host_trace_buffer what, u32 id, size_t data,
				     size_t offsets, size_t extra)
{
	static const enum event_kind kinds[] = {
		[HOST_TRACE_BUFFER_ALLOCATED] = EVENT_BUFFER_ALLOCATED,
		[HOST_TRACE_BUFFER_FREED] = EVENT_BUFFER_FREED,
		[HOST_TRACE_BUFFER_FAILED] = EVENT_BUFFER_FAILED,
		[HOST_TRACE_BUFFER_OUTDATED] = EVENT_BUFFER_OUTDATED,
	};
	struct event_buffer event = { data, offsets, extra, id };

	trace_put(kinds[what], event);
}

static const enum event_kind trace_object_kinds[] = {
	[HOST_TRACE_NODE_TO_REF] = EVENT_NODE_TO_REF,
	[HOST_TRACE_REF_TO_NODE] = EVENT_REF_TO_NODE,
	[HOST_TRACE_REF_TO_REF] = EVENT_REF_TO_REF,
};

#define host_trace_object host_trace_object
static inline void host_trace_object(enum host_trace_object what,
				     const struct host_trace_translation *x)
{
	struct event_object event = {
		.ptr = x->ptr,
		.id = x->id,
		.node = x->node,
		.from_ref = x->from_ref,
		.from_desc = x->from_desc,
		.to_ref = x->to_ref,
		.to_desc = x->to_desc,
	};

	trace_put(trace_object_kinds[what], event);
}

#define host_trace_objects_wanted host_trace_objects_wanted
static inline bool host_trace_objects_wanted(void)
{
	return events_wanted(EVENT_NODE_TO_REF) || events_wanted(EVENT_REF_TO_NODE) ||
	       events_wanted(EVENT_REF_TO_REF);
}

static inline void trace_file(enum event_kind kind, u32 id, u32 fd, size_t off)
{
	struct event_file event = { .offset = off, .id = id, .fd = (int32_t)fd };

	trace_put(kind, event);
}

#define host_trace_file_sent host_trace_file_sent
static inline void host_trace_file_sent(u32 id, u32 fd, size_t off)
{
	trace_file(EVENT_FILE_SENT, id, fd, off);
}

#define host_trace_file_received host_trace_file_received
static inline void host_trace_file_received(u32 id, u32 fd, size_t off)
{
	trace_file(EVENT_FILE_RECEIVED, id, fd, off);
}

_Static_assert(EVENTS_DATA_MAX == HOST_TRACE_DATA_MAX, "as the header for readers says");

#define host_trace_data_wanted host_trace_data_wanted
static inline bool host_trace_data_wanted(bool to_clear)
{
	return events_wanted(to_clear ? EVENT_DATA_TO_CLEAR : EVENT_DATA);
}

#define host_trace_data host_trace_data
static inline void host_trace_data(const struct host_trace_data *data)
{
	events_put_data(data);
}

static inline void trace_failed(const struct host_txn_failure *failure)
{
	struct event_failed event = {
		.id = failure->id,
		.error = failure->error,
		.reason = failure->reason,
		.from_proc = failure->from_pid,
		.from_thread = failure->from_tid,
		.to_proc = failure->to_pid,
		.to_thread = failure->to_tid,
		.code = failure->code,
		.flags = failure->flags,
		.data_size = failure->data_size < UINT32_MAX ? (u32)failure->data_size : UINT32_MAX,
	};

	if (failure->node)
		trace_put(EVENT_TARGET, ((struct event_target){ failure->id, failure->node }));
	events_put_failed(&event, failure->is_reply);
}

#endif
