/* SPDX-License-Identifier: GPL-2.0 */
/* The operations of trace.h and measure.h that a host does not define: they do nothing. */
#ifndef BINDER_DEFAULTS_H
#define BINDER_DEFAULTS_H

/* host_types.h may define it: see host.h. */
#ifndef HOST_LINE_ALIGNED
#define HOST_LINE_ALIGNED
#endif

#ifndef host_trace_command
static inline void host_trace_command(u32 cmd)
{
}
#endif

#ifndef host_trace_return
static inline void host_trace_return(u32 cmd)
{
}
#endif

#ifndef host_trace_write_done
static inline void host_trace_write_done(int err)
{
}
#endif

#ifndef host_trace_read_done
static inline void host_trace_read_done(int err)
{
}
#endif

#ifndef host_trace_wait
static inline void host_trace_wait(bool proc_work, bool in_call, bool has_todo)
{
}
#endif

#ifndef host_trace_txn_sent
static inline void host_trace_txn_sent(const struct host_trace_txn *txn)
{
}
#endif

#ifndef host_trace_txn_received
static inline void host_trace_txn_received(u32 id)
{
}
#endif

#ifndef host_trace_priorities
static inline void host_trace_priorities(u32 id, const struct host_priority *caller,
					 struct host_priority served)
{
}
#endif

#ifndef host_trace_priorities_wanted
static inline bool host_trace_priorities_wanted(void)
{
	return false;
}
#endif

#ifndef host_trace_txn_freed
static inline void host_trace_txn_freed(const struct host_trace_txn *txn)
{
}
#endif

#ifndef host_trace_buffer
static inline void host_trace_buffer(enum host_trace_buffer event, u32 id, size_t data,
				     size_t offsets, size_t extra)
{
}
#endif

#ifndef host_trace_object
static inline void host_trace_object(enum host_trace_object kind,
				     const struct host_trace_translation *x)
{
}
#endif

#ifndef host_trace_objects_wanted
static inline bool host_trace_objects_wanted(void)
{
	return false;
}
#endif

#ifndef host_trace_file_sent
static inline void host_trace_file_sent(u32 id, u32 fd, size_t off)
{
}
#endif

#ifndef host_trace_file_received
static inline void host_trace_file_received(u32 id, u32 fd, size_t off)
{
}
#endif

#ifndef host_trace_data_wanted
static inline bool host_trace_data_wanted(bool to_clear)
{
	return false;
}
#endif

#ifndef host_trace_data
static inline void host_trace_data(const struct host_trace_data *data)
{
}
#endif

#ifndef host_shard
static inline u32 host_shard(void)
{
	return 0;
}
#endif

#ifndef host_trace_stages_wanted
static inline bool host_trace_stages_wanted(void)
{
	return false;
}
#endif

#ifndef host_trace_stage
static inline void host_trace_stage(enum host_stage stage, u32 id, u32 answers, s32 pid,
				    s32 tid)
{
}
#endif

#endif
