/* SPDX-License-Identifier: GPL-2.0 */
/* The tracepoints have the names and fields of the C driver's, for Perfetto and other tools. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM binder

#if !defined(HOST_LINUX_BINDER_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define HOST_LINUX_BINDER_EVENTS_H

#include <linux/tracepoint.h>

TRACE_EVENT(binder_ioctl,
	TP_PROTO(unsigned int cmd, unsigned long arg),
	TP_ARGS(cmd, arg),
	TP_STRUCT__entry(
		__field(unsigned int, cmd)
		__field(unsigned long, arg)
	),
	TP_fast_assign(
		__entry->cmd = cmd;
		__entry->arg = arg;
	),
	TP_printk("cmd=0x%x arg=0x%lx", __entry->cmd, __entry->arg)
);

DECLARE_EVENT_CLASS(binder_done,
	TP_PROTO(int ret),
	TP_ARGS(ret),
	TP_STRUCT__entry(
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->ret = ret;
	),
	TP_printk("ret=%d", __entry->ret)
);
DEFINE_EVENT(binder_done, binder_ioctl_done, TP_PROTO(int ret), TP_ARGS(ret));
DEFINE_EVENT(binder_done, binder_write_done, TP_PROTO(int ret), TP_ARGS(ret));
DEFINE_EVENT(binder_done, binder_read_done, TP_PROTO(int ret), TP_ARGS(ret));

TRACE_EVENT(binder_wait_for_work,
	TP_PROTO(bool proc_work, bool transaction_stack, bool thread_todo),
	TP_ARGS(proc_work, transaction_stack, thread_todo),
	TP_STRUCT__entry(
		__field(bool, proc_work)
		__field(bool, transaction_stack)
		__field(bool, thread_todo)
	),
	TP_fast_assign(
		__entry->proc_work = proc_work;
		__entry->transaction_stack = transaction_stack;
		__entry->thread_todo = thread_todo;
	),
	TP_printk("proc_work=%d transaction_stack=%d thread_todo=%d", __entry->proc_work,
		  __entry->transaction_stack, __entry->thread_todo)
);

DECLARE_EVENT_CLASS(binder_code_class,
	TP_PROTO(u32 cmd),
	TP_ARGS(cmd),
	TP_STRUCT__entry(
		__field(u32, cmd)
	),
	TP_fast_assign(
		__entry->cmd = cmd;
	),
	TP_printk("cmd=0x%x %s", __entry->cmd,
		  binder_command_name(__entry->cmd & 0xff) ?: "unknown")
);
DEFINE_EVENT(binder_code_class, binder_command, TP_PROTO(u32 cmd), TP_ARGS(cmd));
DEFINE_EVENT_PRINT(binder_code_class, binder_return, TP_PROTO(u32 cmd), TP_ARGS(cmd),
	TP_printk("cmd=0x%x %s", __entry->cmd,
		  binder_return_name(__entry->cmd & 0xff) ?: "unknown")
);

TRACE_EVENT(binder_transaction,
	TP_PROTO(u32 debug_id, u32 target_node, int to_proc, int to_thread, bool reply,
		 unsigned int code, unsigned int flags),
	TP_ARGS(debug_id, target_node, to_proc, to_thread, reply, code, flags),
	TP_STRUCT__entry(
		__field(int, debug_id)
		__field(int, target_node)
		__field(int, to_proc)
		__field(int, to_thread)
		__field(int, reply)
		__field(unsigned int, code)
		__field(unsigned int, flags)
	),
	TP_fast_assign(
		__entry->debug_id = debug_id;
		__entry->target_node = target_node;
		__entry->to_proc = to_proc;
		__entry->to_thread = to_thread;
		__entry->reply = reply;
		__entry->code = code;
		__entry->flags = flags;
	),
	TP_printk("transaction=%d dest_node=%d dest_proc=%d dest_thread=%d reply=%d "
		  "flags=0x%x code=0x%x",
		  __entry->debug_id, __entry->target_node, __entry->to_proc, __entry->to_thread,
		  __entry->reply, __entry->flags, __entry->code)
);

TRACE_EVENT(binder_transaction_received,
	TP_PROTO(u32 debug_id),
	TP_ARGS(debug_id),
	TP_STRUCT__entry(
		__field(int, debug_id)
	),
	TP_fast_assign(
		__entry->debug_id = debug_id;
	),
	TP_printk("transaction=%d", __entry->debug_id)
);

TRACE_EVENT(binder_txn_latency_free,
	TP_PROTO(u32 debug_id, int from_proc, int from_thread, int to_proc, int to_thread,
		 unsigned int code, unsigned int flags),
	TP_ARGS(debug_id, from_proc, from_thread, to_proc, to_thread, code, flags),
	TP_STRUCT__entry(
		__field(int, debug_id)
		__field(int, from_proc)
		__field(int, from_thread)
		__field(int, to_proc)
		__field(int, to_thread)
		__field(unsigned int, code)
		__field(unsigned int, flags)
	),
	TP_fast_assign(
		__entry->debug_id = debug_id;
		__entry->from_proc = from_proc;
		__entry->from_thread = from_thread;
		__entry->to_proc = to_proc;
		__entry->to_thread = to_thread;
		__entry->code = code;
		__entry->flags = flags;
	),
	TP_printk("transaction=%d from %d:%d to %d:%d flags=0x%x code=0x%x", __entry->debug_id,
		  __entry->from_proc, __entry->from_thread, __entry->to_proc, __entry->to_thread,
		  __entry->flags, __entry->code)
);

DECLARE_EVENT_CLASS(binder_buffer_class,
	TP_PROTO(u32 debug_id, size_t data_size, size_t offsets_size, size_t extra_buffers_size),
	TP_ARGS(debug_id, data_size, offsets_size, extra_buffers_size),
	TP_STRUCT__entry(
		__field(int, debug_id)
		__field(size_t, data_size)
		__field(size_t, offsets_size)
		__field(size_t, extra_buffers_size)
	),
	TP_fast_assign(
		__entry->debug_id = debug_id;
		__entry->data_size = data_size;
		__entry->offsets_size = offsets_size;
		__entry->extra_buffers_size = extra_buffers_size;
	),
	TP_printk("transaction=%d data_size=%zd offsets_size=%zd extra_buffers_size=%zd",
		  __entry->debug_id, __entry->data_size, __entry->offsets_size,
		  __entry->extra_buffers_size)
);
#define BINDER_BUFFER_EVENT(name) \
	DEFINE_EVENT(binder_buffer_class, name, \
		TP_PROTO(u32 debug_id, size_t data_size, size_t offsets_size, \
			 size_t extra_buffers_size), \
		TP_ARGS(debug_id, data_size, offsets_size, extra_buffers_size))
BINDER_BUFFER_EVENT(binder_transaction_alloc_buf);
BINDER_BUFFER_EVENT(binder_transaction_buffer_release);
BINDER_BUFFER_EVENT(binder_transaction_failed_buffer_release);
BINDER_BUFFER_EVENT(binder_transaction_update_buffer_release);

TRACE_EVENT(binder_transaction_node_to_ref,
	TP_PROTO(u32 debug_id, u32 node_debug_id, u64 node_ptr, u32 ref_debug_id, u32 ref_desc),
	TP_ARGS(debug_id, node_debug_id, node_ptr, ref_debug_id, ref_desc),
	TP_STRUCT__entry(
		__field(int, debug_id)
		__field(int, node_debug_id)
		__field(u64, node_ptr)
		__field(int, ref_debug_id)
		__field(u32, ref_desc)
	),
	TP_fast_assign(
		__entry->debug_id = debug_id;
		__entry->node_debug_id = node_debug_id;
		__entry->node_ptr = node_ptr;
		__entry->ref_debug_id = ref_debug_id;
		__entry->ref_desc = ref_desc;
	),
	TP_printk("transaction=%d node=%d src_ptr=0x%016llx ==> dest_ref=%d dest_desc=%d",
		  __entry->debug_id, __entry->node_debug_id, __entry->node_ptr,
		  __entry->ref_debug_id, __entry->ref_desc)
);

TRACE_EVENT(binder_transaction_ref_to_node,
	TP_PROTO(u32 debug_id, u32 ref_debug_id, u32 ref_desc, u32 node_debug_id, u64 node_ptr),
	TP_ARGS(debug_id, ref_debug_id, ref_desc, node_debug_id, node_ptr),
	TP_STRUCT__entry(
		__field(int, debug_id)
		__field(int, ref_debug_id)
		__field(u32, ref_desc)
		__field(int, node_debug_id)
		__field(u64, node_ptr)
	),
	TP_fast_assign(
		__entry->debug_id = debug_id;
		__entry->ref_debug_id = ref_debug_id;
		__entry->ref_desc = ref_desc;
		__entry->node_debug_id = node_debug_id;
		__entry->node_ptr = node_ptr;
	),
	TP_printk("transaction=%d node=%d src_ref=%d src_desc=%d ==> dest_ptr=0x%016llx",
		  __entry->debug_id, __entry->node_debug_id, __entry->ref_debug_id,
		  __entry->ref_desc, __entry->node_ptr)
);

TRACE_EVENT(binder_transaction_ref_to_ref,
	TP_PROTO(u32 debug_id, u32 node_debug_id, u32 src_ref_debug_id, u32 src_ref_desc,
		 u32 dest_ref_debug_id, u32 dest_ref_desc),
	TP_ARGS(debug_id, node_debug_id, src_ref_debug_id, src_ref_desc, dest_ref_debug_id,
		dest_ref_desc),
	TP_STRUCT__entry(
		__field(int, debug_id)
		__field(int, node_debug_id)
		__field(int, src_ref_debug_id)
		__field(u32, src_ref_desc)
		__field(int, dest_ref_debug_id)
		__field(u32, dest_ref_desc)
	),
	TP_fast_assign(
		__entry->debug_id = debug_id;
		__entry->node_debug_id = node_debug_id;
		__entry->src_ref_debug_id = src_ref_debug_id;
		__entry->src_ref_desc = src_ref_desc;
		__entry->dest_ref_debug_id = dest_ref_debug_id;
		__entry->dest_ref_desc = dest_ref_desc;
	),
	TP_printk("transaction=%d node=%d src_ref=%d src_desc=%d ==> dest_ref=%d dest_desc=%d",
		  __entry->debug_id, __entry->node_debug_id, __entry->src_ref_debug_id,
		  __entry->src_ref_desc, __entry->dest_ref_debug_id, __entry->dest_ref_desc)
);

DECLARE_EVENT_CLASS(binder_file_class,
	TP_PROTO(u32 debug_id, int fd, size_t offset),
	TP_ARGS(debug_id, fd, offset),
	TP_STRUCT__entry(
		__field(int, debug_id)
		__field(int, fd)
		__field(size_t, offset)
	),
	TP_fast_assign(
		__entry->debug_id = debug_id;
		__entry->fd = fd;
		__entry->offset = offset;
	),
	TP_printk("transaction=%d src_fd=%d offset=%zu", __entry->debug_id, __entry->fd,
		  __entry->offset)
);
DEFINE_EVENT(binder_file_class, binder_transaction_fd_send,
	TP_PROTO(u32 debug_id, int fd, size_t offset),
	TP_ARGS(debug_id, fd, offset)
);
DEFINE_EVENT_PRINT(binder_file_class, binder_transaction_fd_recv,
	TP_PROTO(u32 debug_id, int fd, size_t offset),
	TP_ARGS(debug_id, fd, offset),
	TP_printk("transaction=%d dest_fd=%d offset=%zu", __entry->debug_id, __entry->fd,
		  __entry->offset)
);

DECLARE_EVENT_CLASS(binder_page_class,
	TP_PROTO(int proc, size_t page_index),
	TP_ARGS(proc, page_index),
	TP_STRUCT__entry(
		__field(int, proc)
		__field(size_t, page_index)
	),
	TP_fast_assign(
		__entry->proc = proc;
		__entry->page_index = page_index;
	),
	TP_printk("proc=%d page_index=%zu", __entry->proc, __entry->page_index)
);
#define BINDER_PAGE_EVENT(name) \
	DEFINE_EVENT(binder_page_class, name, \
		TP_PROTO(int proc, size_t page_index), \
		TP_ARGS(proc, page_index))
BINDER_PAGE_EVENT(binder_alloc_page_start);
BINDER_PAGE_EVENT(binder_alloc_page_end);
BINDER_PAGE_EVENT(binder_unmap_user_start);
BINDER_PAGE_EVENT(binder_unmap_user_end);

TRACE_EVENT(binder_update_page_range,
	TP_PROTO(int proc, bool allocate, size_t offset, size_t size),
	TP_ARGS(proc, allocate, offset, size),
	TP_STRUCT__entry(
		__field(int, proc)
		__field(bool, allocate)
		__field(size_t, offset)
		__field(size_t, size)
	),
	TP_fast_assign(
		__entry->proc = proc;
		__entry->allocate = allocate;
		__entry->offset = offset;
		__entry->size = size;
	),
	TP_printk("proc=%d allocate=%d offset=%zu size=%zu", __entry->proc, __entry->allocate,
		  __entry->offset, __entry->size)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE binder_events
#include <trace/define_trace.h>
