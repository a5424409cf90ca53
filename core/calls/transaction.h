/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_transaction: one call, reply or one-way call, from the moment that it is sent until
 * it is replied to, delivered or lost. A call is on two stacks at once, the sender's and
 * the receiver's, which is how a call back into a waiting thread finds that thread.
 */
#ifndef BINDER_TRANSACTION_H
#define BINDER_TRANSACTION_H

#include "common/abi.h"
#include "common/lock.h"
#include "common/result.h"
#include "common/work.h"
#include "memory/buffer_alloc.h"
#include "entities/proc.h"
#include "entities/thread.h"

/* A file in transit, and where its number has to be stored. */
struct binder_file_slot {
	struct host_file *file;
	size_t off;   /* where the number (u32) stands in the receiver's map */
	u32 resource; /* index in the buffer's resources, for fd arrays; or NO_RESOURCE */
	u32 fd;	      /* the number, once it is installed */
};
#define NO_RESOURCE (~0u)

struct binder_transaction {
	struct binder_work work; /* WORK_TRANSACTION */
	u32 debug_id;
	u32 code;
	u32 flags;
	bool is_reply;
	struct host_priority priority;	     /* the sender's */
	struct host_priority saved_priority; /* the receiver's, before it inherited */
	bool saved_lent;		     /* the receiver's priority_lent before */
	u32 sender_euid;
	s32 from_pid, from_tid;
	u64 start_ns;

	struct binder_lock lock;
	struct binder_thread *from GUARDED_BY(&lock); /* NULL: one-way, reply, or dead */

	/* sender's inner_lock */
	struct binder_transaction *from_parent;
	struct binder_transaction *next_orphan; /* while its sender's stack is unwound */
	/*
	 * receiver's inner_lock; the first five are marked, because the sender's side and
	 * reports load them without it
	 */
	struct binder_proc *to_proc;
	struct binder_thread *to_thread;
	s32 to_pid, to_tid;
	struct binder_buffer *buffer;
	bool counted; /* in to_proc->outstanding_txns; marked */
	struct binder_transaction *to_parent;
	bool has_secctx;
	u64 secctx; /* user address in the receiver */

	struct binder_file_slot *files;
	u32 nr_files;
};

/*
 * By @thread's own call, which may keep the memory of its last one. NULL: no memory. May
 * sleep.
 */
struct binder_transaction *binder_transaction_new(struct binder_thread *thread);
/*
 * Frees the transaction and the files in it. The buffer stays with its receiver. May
 * sleep; no lock held.
 */
void binder_transaction_free(struct binder_transaction *t);
/* binder_transaction_free() by @thread's own call, which keeps the memory for its next one. */
void binder_transaction_free_by(struct binder_thread *thread, struct binder_transaction *t);

/*
 * The receiving process. It may be asked for without its lock: the answer changes only
 * to NULL, when the process dies.
 */
static inline bool binder_transaction_is_in_racy(const struct binder_transaction *t,
						 const struct binder_proc *proc)
{
	return BINDER_READ_ONCE(t->to_proc) == proc;
}

static inline void binder_transaction_set_in(struct binder_transaction *t,
					     struct binder_proc *proc)
{
	BINDER_WRITE_ONCE(t->to_proc, proc);
	BINDER_WRITE_ONCE(t->to_pid, proc ? proc->pid : 0);
}

/*
 * Is @thread to reply to it? Both sides ask this about their stacks, each under its own
 * lock; to a thread that is not the receiver the answer never becomes true.
 */
static inline bool binder_transaction_is_for_racy(const struct binder_transaction *t,
						  const struct binder_thread *thread)
{
	return BINDER_READ_ONCE(t->to_thread) == thread;
}

static inline void binder_transaction_set_for(struct binder_transaction *t,
					      struct binder_thread *thread)
{
	BINDER_WRITE_ONCE(t->to_thread, thread);
	BINDER_WRITE_ONCE(t->to_tid, thread ? thread->tid : 0);
}

/* Counts @t among the outstanding transactions of @proc. */
void binder_transaction_count_ilocked(struct binder_transaction *t, struct binder_proc *proc)
	REQUIRES(&proc->inner_lock);
/*
 * Detaches @t from its buffer, which is returned (NULL if it has none any more), and ends
 * its count. @proc: the receiving process.
 */
struct binder_buffer *binder_transaction_detach_ilocked(struct binder_transaction *t,
							struct binder_proc *proc)
	REQUIRES(&proc->inner_lock);
/* binder_transaction_detach_ilocked() with no lock held, for the process that has @t. */
struct binder_buffer *binder_transaction_detach(struct binder_transaction *t);

/* The thread that waits for the reply, with a reference; NULL if there is none. */
struct binder_thread *binder_transaction_get_from(struct binder_transaction *t);

/*
 * Queues an error for the sender or, if it is gone, for the sender of the call that it was
 * serving, and frees @t. @extended: also as the extended error, which is for a reply that
 * fails, not for a death. May sleep; no lock held.
 */
void binder_transaction_fail(struct binder_transaction *t, const struct binder_result *why,
			     bool extended);
/*
 * @t will not be delivered: fails it if it is a call, else frees it. Its buffer is left to
 * the caller.
 */
void binder_transaction_drop(struct binder_transaction *t, const struct binder_result *why);

#endif
