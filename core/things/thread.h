/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_thread: a thread of a process as the driver knows it, made the first
 * time that it calls and kept until BINDER_THREAD_EXIT or the end of the open.
 */
#ifndef BINDER_THREAD_H
#define BINDER_THREAD_H

#include "common/abi.h"
#include "base/list.h"
#include "base/rbtree.h"
#include "common/lock.h"
#include "common/work.h"

struct binder_proc;
struct binder_transaction;

enum binder_looper { /* the numbers that the stock text reports show */
	LOOPER_REGISTERED = 0x01,
	LOOPER_ENTERED = 0x02,
	LOOPER_EXITED = 0x04,
	LOOPER_INVALID = 0x08,
	LOOPER_WAITING = 0x10,
	LOOPER_POLL = 0x20,
};

/* A return code that waits to be read, at most one at a time. */
struct binder_error {
	struct binder_work work;
	u32 cmd; /* BR_OK: none */
};

enum binder_wait { WAIT_NONE, WAIT_READ, WAIT_FREEZE };

/* Fields without another word: inner_lock of the process. */
struct binder_thread {
	struct host_thread host;
	struct binder_proc *proc; /* never changes; counted */
	s32 tid;		  /* never changes */
	struct host_atomic refs;
	struct bt_node by_tid;
	struct bl_list waiting_link; /* in proc->waiting_threads */
	u32 looper;
	bool need_return; /* the next read returns at once */
	bool is_dead;
	bool process_todo; /* todo holds something that ends a wait */
	struct bl_list todo;
	u32 nr_unread; /* completions in todo; only changed by the thread's own calls */
	/* memory for the next call; only used by own calls */
	struct binder_work *spare; /* a completion */
	struct binder_transaction *spare_transaction;
	struct binder_transaction *stack; /* innermost first */
	struct binder_error return_error; /* for what it sent itself */
	struct binder_error reply_error;  /* for a call that it waits for */
	struct binder_extended_error ee;
	/* how it is scheduled (priority.c); only used by the thread's own call */
	struct host_priority priority;
	bool priority_known;
	bool priority_lent;		   /* it may be real-time because of a call */
	struct host_priority own_priority; /* before that */
	/* what the home must wait for; only used by the thread's own call */
	enum binder_wait wait;
	u32 wait_timeout_ms; /* 0: for ever */
	s32 freeze_pid;
	struct bl_list freeze_link; /* in a frozen process's freeze_waiters */
	struct binder_proc *freeze_target;
};

/* The thread @tid of @proc, made if it was not known (@opener: the home's word
 * on it, for host_thread_init()).  Counted.  NULL: no memory, or
 * BINDER_MAX_THREADS reached.  May sleep. */
struct binder_thread *binder_thread_find_or_new(struct binder_proc *proc, s32 tid,
						const void *opener);

/* The same for a thread that is known already, else NULL; not counted: for its own
 * binder_write_read() in a home where nobody else can end the thread meanwhile. */
struct binder_thread *binder_thread_find(struct binder_proc *proc, s32 tid);

void binder_thread_get(struct binder_thread *thread);
/* Drops a count.  May sleep; no lock held. */
void binder_thread_put(struct binder_thread *thread);

/* May it take work of the process: has it nothing of its own to do or to wait
 * for?  Whether it has entered the loop makes no difference (stock behaviour). */
bool binder_thread_is_available_ilocked(const struct binder_thread *thread);
/* Would a read return now? */
bool binder_thread_has_work_ilocked(const struct binder_thread *thread, bool proc_work);

/* Queueing for one thread.  `deferred` work does not by itself end a wait: it
 * is read together with what does. */
void binder_thread_queue_ilocked(struct binder_thread *thread, struct binder_work *work);
void binder_thread_queue_deferred_ilocked(struct binder_thread *thread, struct binder_work *work);
/* A notice for the process, in the returns of this thread if it loops, else of
 * any that does. */
void binder_thread_queue_notice_ilocked(struct binder_thread *thread, struct binder_work *work);

/* Wakes @thread, or if NULL whoever polls for the process. */
void binder_wake_ilocked(struct binder_proc *proc, struct binder_thread *thread, bool sync);
/* Takes a waiting thread for new work of the process, NULL if none waits. */
struct binder_thread *binder_select_thread_ilocked(struct binder_proc *proc);
/* Work was put in proc->todo. */
void binder_wake_proc_ilocked(struct binder_proc *proc);

/* See core.h. */
u32 binder_list_threads(struct binder_proc *proc, s32 first, s32 *tids, u32 max, u32 *total);

/* The thread is no more: its calls are answered, its work is dropped.
 * Returns the number of transactions that it was part of.  May sleep. */
u32 binder_thread_release(struct binder_proc *proc, struct binder_thread *thread);

#endif
