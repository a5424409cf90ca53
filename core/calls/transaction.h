/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_transaction: one call, reply or one-way call from the moment that it
 * is sent until it is answered, delivered or lost.  A call stands on two
 * stacks at once, its sender's and its receiver's, which is how a callback into
 * a waiting thread finds that thread.
 *
 * transaction.c  birth, death, and who sent it
 * send.c	  BC_TRANSACTION, BC_REPLY: decide, copy, translate, queue
 * oneway.c	  into which todo list, one-way order, frozen targets
 * translate.c	  the objects in it
 */
#ifndef BINDER_TRANSACTION_H
#define BINDER_TRANSACTION_H

#include "common/abi.h"
#include "memory/alloc.h"
#include "common/lock.h"
#include "things/proc.h"
#include "common/result.h"
#include "things/thread.h"
#include "common/work.h"

struct binder_node;
struct binder_proc;
struct binder_thread;

/* A file on its way: where its number has to be stored. */
struct binder_file_slot {
	struct host_file *file;
	size_t off;	/* of the number (u32) in the receiver's map */
	u32 resource; /* index in the buffer's resources, for fd arrays; or NO_RESOURCE */
};
#define NO_RESOURCE (~0u)

struct binder_transaction {
	struct binder_work work; /* WORK_TRANSACTION */
	u32 debug_id;
	u32 code;
	u32 flags;
	bool is_reply;
	bool counted; /* in to_proc->outstanding_txns */
	struct host_priority priority;	     /* of the sender */
	struct host_priority saved_priority; /* of the receiver, before */
	bool saved_lent;		     /* was that lent to it by another call? */
	u32 sender_euid;
	s32 from_pid, from_tid;
	s32 to_pid, to_tid; /* of to_proc and to_thread, for reports of either side */
	u64 start_ns;

	struct binder_lock lock;
	struct binder_thread *from GUARDED_BY(&lock); /* NULL: one-way, reply, or dead */

	/* sender's inner_lock */
	struct binder_transaction *from_parent;
	struct binder_transaction *next_orphan; /* while its sender's stack is unwound */
	/* receiver's inner_lock */
	struct binder_proc *to_proc;
	struct binder_thread *to_thread;
	struct binder_transaction *to_parent;
	struct binder_buffer *buffer;
	bool has_secctx;
	u64 secctx; /* address in the receiver */

	struct binder_file_slot *files;
	u32 nr_files;
};

/* By a thread's own call.  NULL: no memory.  May sleep. */
struct binder_transaction *binder_transaction_new(struct binder_thread *thread);

/* Whose it is: the receiver's own lock guards it, but a report of the sender's side
 * asks as well. */
static inline bool binder_transaction_is_in(const struct binder_transaction *t,
					    const struct binder_proc *proc)
{
	return __atomic_load_n(&t->to_proc, __ATOMIC_RELAXED) == proc;
}

static inline void binder_transaction_set_in(struct binder_transaction *t,
					     struct binder_proc *proc)
{
	__atomic_store_n(&t->to_proc, proc, __ATOMIC_RELAXED);
	__atomic_store_n(&t->to_pid, proc ? proc->pid : 0, __ATOMIC_RELAXED);
}

/* Is it for @thread to answer?  Both sides ask that of what is on their stacks, each
 * under its own lock; whoever it is not for may see it change, but never to itself. */
static inline bool binder_transaction_is_for(const struct binder_transaction *t,
					     const struct binder_thread *thread)
{
	return __atomic_load_n(&t->to_thread, __ATOMIC_RELAXED) == thread;
}

static inline void binder_transaction_set_for(struct binder_transaction *t,
					      struct binder_thread *thread)
{
	__atomic_store_n(&t->to_thread, thread, __ATOMIC_RELAXED);
	__atomic_store_n(&t->to_tid, thread ? thread->tid : 0, __ATOMIC_RELAXED);
}

/* Frees the transaction and what it still carries (files).  The buffer stays
 * with its receiver.  May sleep; no lock held. */
void binder_transaction_free(struct binder_transaction *t);
/* The same, by a thread's own call, which keeps the memory for its next one: who serves
 * calls frees one for each that it sends, and so does who makes them. */
void binder_transaction_free_by(struct binder_thread *thread, struct binder_transaction *t);

/* Parts @t from its receiver's buffer, which is returned (NULL if it has parted
 * already), and from the count of outstanding calls.  No lock held. */
struct binder_buffer *binder_transaction_detach_buffer(struct binder_transaction *t);
/* The same, under the inner_lock of its receiver. */
struct binder_buffer *binder_transaction_detach_buffer_ilocked(struct binder_transaction *t);

/* The thread that waits for the answer, counted; NULL if there is none. */
struct binder_thread *binder_transaction_get_from(struct binder_transaction *t);

/* Puts the files of @t into @thread's process, whose own call this is, and their numbers into the
 * data.  0 and *fds the numbers, HOST_FDS_LATER, or errno; *fds is to be freed in any case. */
int binder_transaction_install_files(struct binder_transaction *t, struct binder_thread *thread,
				     u32 **fds);

/* Tells the sender (or, if it is gone, whoever called it) that there will be
 * no answer, and frees @t.  @extended: as an extended error too, as for a reply
 * that fails, but not for a death.  May sleep. */
void binder_transaction_fail(struct binder_transaction *t, const struct binder_result *why,
			     bool extended);
/* @t will not be delivered: fails it if it is a call, else frees it; its
 * buffer is left to the caller. */
void binder_transaction_drop(struct binder_transaction *t, const struct binder_result *why);

/* BC_TRANSACTION, BC_REPLY and their _SG forms.  User errors become returns of
 * the thread: nothing is returned.  May sleep. */
void binder_transaction_send(struct binder_thread *thread,
			     const struct binder_transaction_data *tr, u64 buffers_size,
			     bool is_reply);

/* Drops what a buffer holds for its receiver and gives it back.
 * @freer: the thread of the receiver that is freeing it, to close the files of
 * fd arrays; NULL: they stay (the delivery never happened, or it is dead). */
void binder_buffer_release(struct binder_proc *proc, struct binder_thread *freer,
			   struct binder_buffer *buffer);
/* The receiver dies, and its refs go all at once: the buffer need not drop them. */
void binder_buffer_forget_refs(struct binder_buffer *buffer);
/* BC_FREE_BUFFER. */
void binder_buffer_free_command(struct binder_thread *thread, u64 ptr);

/* Puts a call into the todo list where it belongs.  0: queued.  1: queued, the
 * target is frozen (BR_TRANSACTION_PENDING_FROZEN).  Otherwise *why is
 * BR_DEAD_REPLY or BR_FROZEN_REPLY and @t is still the caller's.  @node: pinned, and
 * held strongly by the buffer; the pin is dropped when @t is queued.  @thread: that
 * must get it (nested call), or NULL. */
int binder_transaction_queue(struct binder_transaction *t, struct binder_node *node,
			     struct binder_proc *proc, struct binder_thread *thread,
			     struct binder_result *why);
/* The receiver has freed a one-way buffer of @node: the next one may come. */
void binder_oneway_next(struct binder_node *node);

/* Copies and translates the data of @t, whose buffer is reserved. */
struct binder_translation {
	struct binder_thread *thread;	      /* that sends */
	struct binder_proc *target;
	struct binder_transaction *t;
	const struct binder_transaction_data *tr;
	u64 buffers_size;
	bool allow_fds;
};
int binder_translate(struct binder_translation *x, struct binder_result *why);

#endif
