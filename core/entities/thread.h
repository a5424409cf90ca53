/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_thread: a thread of a process as the driver knows it, created by its first
 * call and kept until BINDER_THREAD_EXIT or the end of the open.
 */
#ifndef BINDER_THREAD_H
#define BINDER_THREAD_H

#include "base/list.h"
#include "base/rbtree.h"
#include "common/abi.h"
#include "common/lock.h"
#include "common/work.h"
#include "entities/proc.h"
#include "entities/world.h"

struct binder_buffer;
struct binder_transaction;

enum binder_looper { /* as the C driver's reports print them */
	LOOPER_REGISTERED = 0x01,
	LOOPER_ENTERED = 0x02,
	LOOPER_EXITED = 0x04,
	LOOPER_INVALID = 0x08,
	LOOPER_WAITING = 0x10,
	LOOPER_POLL = 0x20,
};

/* A return code to be read, at most one at a time. */
struct binder_error {
	struct binder_work work;
	u32 cmd; /* BR_OK: none */
};

/* What the present call has to be resumed for. */
enum binder_wait { WAIT_NONE, WAIT_READ, WAIT_FREEZE, WAIT_WRITE };

/*
 * Guarded by proc->inner_lock unless stated otherwise. In groups by who writes them in a
 * call, because a cache line moves to the CPU that writes any part of it.
 */
struct binder_thread {
	/* The thread, and those that give it work. */
	struct host_thread host;
	struct host_atomic refs;
	u32 looper;
	bool need_return; /* the next read returns at once */
	bool is_dead;
	bool process_todo;	     /* todo contains work that ends a wait */
	struct bl_list waiting_link; /* in proc->waiting_threads */
	struct bl_list todo;
	struct binder_transaction *stack; /* innermost first */

	/* Written by no thread in the usual call, and read by others. */
	struct binder_proc *proc HOST_LINE_ALIGNED; /* never changes; a reference */
	s32 tid;				    /* never changes */
	struct bt_node by_tid;
	struct binder_error return_error; /* for what the thread sent */
	struct binder_error reply_error;  /* for a call that it waits for */

	struct binder_extended_error ee HOST_LINE_ALIGNED;
	/* Only used by the thread's own calls, without a lock. */
	u32 next_id, nr_ids;			      /* debug ids that it may use */
	u32 nr_unread;				      /* completions in todo */
	struct binder_work *spare;		      /* memory for the next completion */
	struct binder_transaction *spare_transaction; /* memory for the next transaction */
#ifdef HOST_HANDS_OVER
	struct binder_buffer *freeing; /* a buffer, while it releases it */
#endif
	struct host_priority priority;		      /* calls/inherit.h */
	bool priority_known;
	bool priority_lent;		   /* it may be real-time because of a call */
	struct host_priority own_priority; /* what it had before priority_lent */
	enum binder_wait wait;
	bool write_nonblock; /* WAIT_WRITE: for the read that follows */
	bool long_command;   /* the next one was put off, and is executed when it comes again */
	u64 write_stopped;   /* where an error stopped the commands of a call to be made again */
	u32 wait_timeout_ms; /* 0: without limit */
	s32 freeze_pid;
	struct bl_list freeze_link; /* in freeze_target->freeze_waiters, its inner_lock */
	struct binder_proc *freeze_target;
};

/*
 * A debug id for a transaction, by the thread's own call. Never 0. Ids are taken in blocks, so
 * that threads do not write to a shared cache line in each call: ids are unique, but only those
 * of one thread rise in the order of its calls.
 */
static inline u32 binder_thread_next_id(struct binder_thread *thread)
{
	u32 id;

	do {
		if (!thread->nr_ids) {
			thread->next_id = binder_take_ids();
			thread->nr_ids = BINDER_ID_BLOCK;
		}
		thread->nr_ids--;
		id = thread->next_id++;
	} while (!id);
	return id;
}

/*
 * Asked by the thread's own call before a command, which @takes_long or does not. True: the call
 * returns BINDER_AGAIN, and the command is executed when the thread comes again.
 */
static inline bool binder_thread_put_off(struct binder_thread *thread, bool takes_long)
{
	thread->long_command = takes_long && !thread->long_command;
	return thread->long_command;
}

/* The thread releases @buffer, which may be in no space any more; NULL: it is done. */
static inline void binder_thread_set_freeing(struct binder_thread *thread,
					     struct binder_buffer *buffer)
{
#ifdef HOST_HANDS_OVER
	thread->freeing = buffer;
#else
	(void)thread;
	(void)buffer;
#endif
}

/* Initialises a thread of @proc, which is all zero, but for its number and the host's part. */
void binder_thread_init(struct binder_thread *thread, struct binder_proc *proc);
/* Inserts @thread by its number. False: BINDER_MAX_THREADS, or @proc has one with that number. */
bool binder_thread_insert_ilocked(struct binder_proc *proc, struct binder_thread *thread)
	REQUIRES(&proc->inner_lock);

/* See core.h. */
struct binder_thread *binder_thread_find_or_new(struct binder_proc *proc, s32 tid,
						const void *opener);
struct binder_thread *binder_thread_find(struct binder_proc *proc, s32 tid);
void binder_thread_get(struct binder_thread *thread);
void binder_thread_put(struct binder_thread *thread);
bool binder_thread_put_unless_last(struct binder_thread *thread);
/* @need: the next read of the thread returns at once; or may wait again. No lock held. */
void binder_thread_set_need_return(struct binder_thread *thread, bool need);
u32 binder_list_threads(struct binder_proc *proc, s32 first, s32 *tids, u32 max, u32 *total);
/* The thread @tid of @proc or the next above, without a reference; NULL if there is none. */
struct binder_thread *binder_thread_find_from_ilocked(struct binder_proc *proc, s32 tid)
	REQUIRES(&proc->inner_lock);

/* @process: the thread's todo list has work that ends a wait. */
static inline void binder_thread_set_process_todo_ilocked(struct binder_thread *thread,
							  bool process)
	REQUIRES(&thread->proc->inner_lock)
{
	binder_assert_held(&thread->proc->inner_lock);
	BINDER_WRITE_ONCE(thread->process_todo, process);
}

/*
 * May the thread take work of its process: is its stack empty, and has its own todo list nothing
 * but what was deferred? It need not have entered the loop (as in the C driver).
 */
static inline bool binder_thread_is_available_ilocked(const struct binder_thread *thread)
	REQUIRES(&thread->proc->inner_lock)
{
	binder_assert_held(&thread->proc->inner_lock);
	return !thread->stack && !thread->process_todo;
}

/* Would a read return now? @proc_work: it may take work of the process. */
static inline bool binder_thread_has_work_ilocked(const struct binder_thread *thread,
						  bool proc_work)
	REQUIRES(&thread->proc->inner_lock)
{
	binder_assert_held(&thread->proc->inner_lock);
	return thread->process_todo || thread->need_return ||
	       (proc_work && !bl_empty(&thread->proc->todo));
}


/*
 * Queue @work for one thread. Deferred work does not end a wait: it is delivered with
 * the work that does.
 */
static inline void binder_thread_queue_ilocked(struct binder_thread *thread,
					       struct binder_work *work)
	REQUIRES(&thread->proc->inner_lock)
{
	binder_assert_held(&thread->proc->inner_lock);
	bl_add_tail(&thread->todo, &work->link);
	binder_thread_set_process_todo_ilocked(thread, true);
}

static inline void binder_thread_queue_deferred_ilocked(struct binder_thread *thread,
							struct binder_work *work)
	REQUIRES(&thread->proc->inner_lock)
{
	binder_assert_held(&thread->proc->inner_lock);
	bl_add_tail(&thread->todo, &work->link);
}

/* Queues @work for the thread if it is a looper, else for its process. */
void binder_thread_queue_notice_ilocked(struct binder_thread *thread, struct binder_work *work)
	REQUIRES(&thread->proc->inner_lock);
/* Queues @work for any thread of @proc, and wakes one. */
void binder_proc_queue_ilocked(struct binder_proc *proc, struct binder_work *work)
	REQUIRES(&proc->inner_lock);

/*
 * Wakes @thread; if NULL, the threads that poll for the process. @sync: the caller is
 * about to sleep.
 */
void binder_wake_ilocked(struct binder_proc *proc, struct binder_thread *thread, bool sync)
	REQUIRES(&proc->inner_lock);
/* Wakes a thread for work in proc->todo. */
void binder_wake_proc_ilocked(struct binder_proc *proc) REQUIRES(&proc->inner_lock);
/* Wakes a thread if there is work in proc->todo. No lock held. */
void binder_wake_for_todo(struct binder_proc *proc);
/* Removes and returns a waiting thread, to take new work of the process; NULL: none waits. */
struct binder_thread *binder_select_thread_ilocked(struct binder_proc *proc)
	REQUIRES(&proc->inner_lock);

#endif
