/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracing: the events of the C driver's tracepoints. Optional: for an operation
 * that a host does not define, defaults.h does nothing. All are [atomic] and cost
 * next to nothing while nothing listens.
 *
 * A host that implements an operation also defines a macro of its name:
 *
 *   #define host_trace_command host_trace_command
 */
#ifndef BINDER_TRACE_H
#define BINDER_TRACE_H

static inline void host_trace_command(u32 cmd);
static inline void host_trace_return(u32 cmd);
/* The commands of a call are done; its read is done. @err: 0 or errno. */
static inline void host_trace_write_done(int err);
static inline void host_trace_read_done(int err);
/*
 * A thread looks for work. @proc_work: it may take work of its process; @in_call: its
 * transaction stack is not empty; @has_todo: its own todo list is not empty.
 */
static inline void host_trace_wait(bool proc_work, bool in_call, bool has_todo);

struct host_trace_txn {
	u32 id;
	u32 node; /* 0: none */
	s32 from_proc, from_thread;
	s32 to_proc, to_thread; /* 0: any thread */
	bool reply;
	u32 code, flags;
};
static inline void host_trace_txn_sent(const struct host_trace_txn *txn);
static inline void host_trace_txn_received(u32 id);
/*
 * After host_trace_txn_received() of a call, in the thread that serves it. @served: its priority,
 * which it inherited or has kept. @caller: NULL for a one-way call, which carries none.
 */
static inline void host_trace_priorities(u32 id, const struct host_priority *caller,
					 struct host_priority served);
/* Does anything listen to host_trace_priorities()? The priority may cost a system call. */
static inline bool host_trace_priorities_wanted(void);
static inline void host_trace_txn_freed(const struct host_trace_txn *txn);

enum host_trace_buffer {
	HOST_TRACE_BUFFER_ALLOCATED, /* for a transaction */
	HOST_TRACE_BUFFER_FREED,     /* by its receiver */
	HOST_TRACE_BUFFER_FAILED,    /* with its transaction */
	HOST_TRACE_BUFFER_OUTDATED,  /* replaced by a newer one-way call (TF_UPDATE_TXN) */
};
/* Sizes in bytes, as in struct binder_buffer. */
static inline void host_trace_buffer(enum host_trace_buffer event, u32 id, size_t data,
				     size_t offsets, size_t extra);

/* How an object of the data was translated. */
enum host_trace_object {
	HOST_TRACE_NODE_TO_REF,
	HOST_TRACE_REF_TO_NODE,
	HOST_TRACE_REF_TO_REF,
};
struct host_trace_translation {
	u32 id; /* of the transaction */
	u32 node;
	u64 ptr;
	u32 from_ref, from_desc; /* the sender's handle; 0: none */
	u32 to_ref, to_desc;	 /* the receiver's */
};
static inline void host_trace_object(enum host_trace_object kind,
				     const struct host_trace_translation *x);
/* Does anything listen to host_trace_object()? Its handles cost a look-up. */
static inline bool host_trace_objects_wanted(void);
/*
 * A file is taken from its sender; is installed in its receiver as @fd. @off: of its
 * number in the buffer, in bytes.
 */
static inline void host_trace_file_sent(u32 id, u32 fd, size_t off);
static inline void host_trace_file_received(u32 id, u32 fd, size_t off);

/* How many of the first bytes of a transaction's data are told: a multiple of 32. */
#define HOST_TRACE_DATA_MAX 1024

struct host_trace_data {
	u32 id;
	u32 size; /* bytes at @bytes, HOST_TRACE_DATA_MAX at most */
	/*
	 * The data as the receiver gets it, but with the sender's numbers of files, which have no
	 * others yet; then zeros up to a multiple of 32.
	 */
	const u8 *bytes;
	/* Bit K of byte N: an object begins at byte 32 * N + 4 * K. */
	const u8 *objects;
	bool to_clear; /* its sender wants it to be cleared after use (TF_CLEAR_BUF) */
};
/* Does anything listen to host_trace_data(), for data that is @to_clear or for other? */
static inline bool host_trace_data_wanted(bool to_clear);
/* After the copy, before the receiver may read it. */
static inline void host_trace_data(const struct host_trace_data *data);

#endif
