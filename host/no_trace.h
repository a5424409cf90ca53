/* SPDX-License-Identifier: GPL-2.0 */
/* The tracing part of the contract (host.h) for homes where nobody can watch: nothing happens. */
#ifndef HOST_NO_TRACE_H
#define HOST_NO_TRACE_H

static inline void host_trace_command(u32 cmd)
{
}

static inline void host_trace_return(u32 cmd)
{
}

static inline void host_trace_write_done(int err)
{
}

static inline void host_trace_read_done(int err)
{
}

static inline void host_trace_wait(bool proc_work, bool in_call, bool has_todo)
{
}

static inline void host_trace_txn_sent(const struct host_trace_txn *txn)
{
}

static inline void host_trace_txn_received(u32 id)
{
}

static inline void host_trace_txn_freed(const struct host_trace_txn *txn)
{
}

static inline void host_trace_buffer(enum host_trace_buffer what, u32 id, size_t data,
				     size_t offsets, size_t extra)
{
}

static inline void host_trace_object(enum host_trace_object what,
				     const struct host_trace_translation *x)
{
}

static inline bool host_trace_objects_wanted(void)
{
	return false;
}

static inline void host_trace_file_sent(u32 id, u32 fd, size_t off)
{
}

static inline void host_trace_file_received(u32 id, u32 fd, size_t off)
{
}

#endif
