// SPDX-License-Identifier: GPL-2.0
/*
 * A read is a loop over todo lists: the thread's own, and the process's if the thread may
 * serve it. Each piece of work becomes one or more return codes, by a function of its type.
 * They are collected and stored with few copies (entry/reader.h). A transaction is handed over
 * only when its return code has reached the caller's memory, so that a reader with a bad
 * buffer loses nothing.
 */
#include "entry/returns.h"

#include "calls/buffer.h"
#include "calls/file_transfer.h"
#include "calls/inherit.h"
#include "calls/oneway.h"
#include "calls/transaction.h"
#include "common/cover.h"
#include "common/limits.h"
#include "common/result.h"
#include "entry/reader.h"
#include "notices/death.h"
#include "notices/freeze.h"
#include "entities/looper.h"
#include "entities/node.h"
#include "entities/notice.h"
#include "entities/stage.h"

/*
 * Free bytes of the read buffer without which no work is dequeued (as the C driver: a
 * transaction with security context).
 */
#define ROOM_WANTED (sizeof(u32) + sizeof(struct binder_transaction_data_secctx))

/*
 * What the handler of a piece of work returns, or a negative errno. DONE: and everything
 * is stored.
 */
enum { CONTINUE = 0, STOP = 1, RESTART = 2, DONE = 3 };

/* The last flush of a read. BR_SPAWN_LOOPER replaces the first code in the buffer. */
static int returns_finish(struct reader *r)
{
	static const u32 spawn = BR_SPAWN_LOOPER;
	struct binder_thread *thread = r->thread;
	u64 first = r->bwr->read_buffer;
	int err = 0;

	if (!r->spawned && binder_looper_may_request_racy(thread->proc) &&
	    binder_looper_request_spawn(thread)) {
		r->spawned = true;
		binder_stats_return(&thread->proc->stats, BR_SPAWN_LOOPER);
		if (r->used && r->pos - r->used == first) {
			host_memcpy(r->collected, &spawn, sizeof(spawn));
		} else {
			BINDER_COVER(SPAWN_AFTER_WRITE);
			err = host_write_caller(&thread->host, first, &spawn, sizeof(spawn));
		}
	}
	return err ? err : returns_flush(r);
}

/*
 * ---- one function per type of work ---------------------------------------------- *
 * Called with the inner lock held and the work dequeued; they return without the lock.
 */

static int deliver_error(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->thread->proc->inner_lock)
{
	struct binder_error *e = bl_entry(&work->link, struct binder_error, work.link);
	const s32 no_memory = -ENOMEM; /* the payload of BR_ERROR */
	u32 ret = e->cmd;

	e->cmd = BR_OK;
	binder_unlock(&r->thread->proc->inner_lock);
	return ret == BR_ERROR ? append_copy(r, ret, &no_memory) : append_code(r, ret);
}

static u32 completion_code_ilocked(const struct binder_thread *thread,
				   const struct binder_work *work)
	REQUIRES(&thread->proc->inner_lock)
{
	binder_assert_held(&thread->proc->inner_lock);
	if (work->type == WORK_COMPLETE_FROZEN)
		return BR_TRANSACTION_PENDING_FROZEN;
	if (work->type == WORK_COMPLETE_SPAM && thread->proc->oneway_spam_detection)
		return BR_ONEWAY_SPAM_SUSPECT;
	return BR_TRANSACTION_COMPLETE;
}

/* Delivers a completion without releasing the lock, if that needs no flush and no free. */
static bool deliver_completion_ilocked(struct reader *r, struct binder_work *work)
	REQUIRES(&r->thread->proc->inner_lock)
{
	struct binder_thread *thread = r->thread;

	binder_assert_held(&r->thread->proc->inner_lock);
	if (work->type != WORK_COMPLETE || thread->spare || !has_room(r, BR_TRANSACTION_COMPLETE))
		return false;
	thread->nr_unread--;
	thread->spare = work;
	r->completion = work;
	binder_stats_deleted_by(&thread->proc->stats, STAT_COMPLETE);
	returns_append(r, BR_TRANSACTION_COMPLETE);
	return true;
}

static int deliver_completion(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->thread->proc->inner_lock)
{
	struct binder_thread *thread = r->thread;
	u32 ret;

	binder_assert_held(&thread->proc->inner_lock);
	ret = completion_code_ilocked(thread, work);
	binder_unlock(&r->thread->proc->inner_lock);
	thread->nr_unread--;
	binder_stats_deleted_by(&thread->proc->stats, STAT_COMPLETE);
	if (thread->spare)
		host_free(work);
	else
		thread->spare = work;
	return append_code(r, ret);
}

static int deliver_node(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->thread->proc->inner_lock)
{
	static const struct {
		u32 notify, ret;
	} order[] = {
		{ NODE_NOTIFY_INCREFS, BR_INCREFS },
		{ NODE_NOTIFY_ACQUIRE, BR_ACQUIRE },
		{ NODE_NOTIFY_RELEASE, BR_RELEASE },
		{ NODE_NOTIFY_DECREFS, BR_DECREFS },
	};
	struct binder_node *node = bl_entry(&work->link, struct binder_node, work.link);
	struct binder_ptr_cookie name = { .ptr = node->ptr, .cookie = node->cookie };
	int err = 0;
	u32 notify, i;

	binder_node_begin_notify_ilocked(node, r->thread->proc);
	binder_unlock(&r->thread->proc->inner_lock);
	notify = binder_node_reconcile(node);
	for (i = 0; i < sizeof(order) / sizeof(order[0]) && !err; i++) {
		if (notify & order[i].notify)
			err = append_copy(r, order[i].ret, &name);
	}
	return err;
}

static int deliver_death(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->thread->proc->inner_lock)
{
	struct binder_notice *notice = bl_entry(&work->link, struct binder_notice, work.link);
	u64 cookie = notice->cookie;
	bool ended;
	u32 ret;
	int err;

	ended = binder_death_deliver_ilocked(r->thread->proc, notice, &ret);
	binder_unlock(&r->thread->proc->inner_lock);
	if (ended)
		binder_notice_free(notice);
	err = append_copy(r, ret, &cookie);
	/* The client may well make calls because of it: it should read more only then. */
	return err || ended ? err : STOP;
}

static int deliver_freeze(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->thread->proc->inner_lock)
{
	struct binder_notice *notice = bl_entry(&work->link, struct binder_notice, work.link);
	struct binder_frozen_state_info state;
	bool ended;
	u32 ret;
	int err;

	ended = binder_freeze_deliver_ilocked(r->thread->proc, notice, &ret, &state);
	binder_unlock(&r->thread->proc->inner_lock);
	if (ended)
		binder_notice_free(notice);
	err = append_copy(r, ret, &state); /* its first member is the cookie */
	return err || ended ? err : STOP;
}

/* ---- delivering a transaction ------------------------------------------------------ */

/* The transaction cannot be delivered: its sender gets the error. */
static int returns_fail(struct reader *r, struct binder_transaction *t, int err, const char *why)
{
	struct binder_proc *proc = r->thread->proc;
	struct binder_result result = { 0 };
	struct binder_buffer *buffer = binder_transaction_detach(t);
	bool is_reply = t->is_reply;

	binder_fail(&result, binder_ret_of(err), err, why);
	host_log(HOST_LOG_USER_ERROR, "%d:%d delivery of transaction %u failed: %s (%d)",
		 proc->pid, r->thread->tid, t->debug_id, why, err);
	if (buffer && buffer->async && buffer->target_node)
		binder_oneway_next(buffer->target_node);
	if (buffer) {
		binder_trace_buffer(HOST_TRACE_BUFFER_FAILED, buffer);
		binder_buffer_release(proc, NULL, buffer);
	}
	binder_transaction_drop(t, &result);
	/* The caller that waited for a reply is the reader itself. */
	return is_reply ? append_code(r, BR_FAILED_REPLY) : 0;
}

/* The sender's process in the receiver's pid namespace; 0 if no thread waits for a reply. */
static s32 sender_pid(struct binder_proc *proc, struct binder_transaction *t)
{
	struct binder_thread *from;
	s32 pid = 0;

	if (t->is_reply || t->flags & TF_ONE_WAY)
		return 0;
	from = binder_transaction_get_from(t);
	if (from) {
		pid = host_proc_pid_seen_by(&from->proc->host, &proc->host);
		binder_thread_put(from);
	}
	return pid;
}

static void returns_describe(struct binder_proc *proc, struct binder_transaction *t,
			     struct binder_transaction_data *tr)
{
	const struct binder_buffer *buffer = t->buffer;
	const struct binder_node *node = buffer->target_node;
	u64 address = binder_buffer_address(&proc->alloc, buffer);
	s32 pid = sender_pid(proc, t);

	*tr = (struct binder_transaction_data){
		.target.ptr = node ? node->ptr : 0,
		.cookie = node ? node->cookie : 0,
		.code = t->code,
		.flags = t->flags,
		.sender_pid = pid,
		.sender_euid = t->sender_euid,
		.data_size = buffer->data_size,
		.offsets_size = buffer->offsets_size,
		.data.ptr.buffer = address,
		.data.ptr.offsets = address + binder_buffer_offsets_off(buffer) - buffer->range.off,
	};
}

/* The transaction and its buffer belong to the receiver from here on. */
static void hand_over(struct binder_thread *thread, struct binder_transaction *t)
{
	binder_buffer_allow_user_free(t->buffer);
	if (t->is_reply || t->flags & TF_ONE_WAY) {
		binder_transaction_free_by(thread, t);
		return;
	}
	binder_lock(&thread->proc->inner_lock);
	t->to_parent = thread->stack;
	binder_transaction_set_for(t, thread);
	BINDER_WRITE_ONCE(thread->stack, t);
	binder_unlock(&thread->proc->inner_lock);
}

/* Puts it back to the head of the thread's list. */
static void returns_requeue(struct binder_thread *thread, struct binder_transaction *t)
{
	binder_lock(&thread->proc->inner_lock);
	bl_add_head(&thread->todo, &t->work.link);
	binder_thread_set_process_todo_ilocked(thread, true);
	binder_unlock(&thread->proc->inner_lock);
}

/*
 * The transaction could not be stored. If the start of the read buffer is not writable
 * either, the C driver would not have dequeued the work, so it stays for the next read.
 * Otherwise it is lost.
 */
static void handle_store_error(struct reader *r, struct binder_transaction *t, int err)
{
	BINDER_COVER(DELIVERY_FAILED);
	if (t->is_reply)
		BINDER_COVER(REPLY_NOT_READ);
	if (reader_write_start(r)) {
		BINDER_COVER(DELIVERY_POSTPONED);
		reader_put_back(r, &t->work);
	} else {
		returns_fail(r, t, err, "read buffer not writable");
	}
}

/* Stores the return code and everything before it. */
static int returns_store(struct reader *r, struct binder_transaction *t)
{
	struct binder_proc *proc = r->thread->proc;
	struct binder_transaction_data_secctx *tr;
	u32 ret = BR_REPLY;
	int err;

	if (!t->is_reply)
		ret = t->has_secctx ? BR_TRANSACTION_SEC_CTX : BR_TRANSACTION;
	err = has_room(r, ret) ? 0 : returns_flush(r);
	if (err)
		return err;
	tr = returns_append(r, ret);
	returns_describe(proc, t, &tr->transaction_data);
	if (ret == BR_TRANSACTION_SEC_CTX)
		tr->secctx = t->secctx;
	return returns_finish(r);
}

/* The files could not be installed: now, or at all. */
static int handle_files_error(struct reader *r, struct binder_transaction *t, int err)
{
	if (err == HOST_FDS_LATER) {
		BINDER_COVER(FILES_LATER);
		returns_requeue(r->thread, t);
		return RESTART;
	}
	BINDER_COVER(FILES_REFUSED);
	return returns_fail(r, t, err, "files could not be installed");
}

static int deliver_transaction(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->thread->proc->inner_lock)
{
	struct binder_transaction *t = bl_entry(&work->link, struct binder_transaction, work.link);
	struct binder_thread *thread = r->thread;
	int err = 0;

	binder_unlock(&r->thread->proc->inner_lock);
	binder_stage(HOST_STAGE_DEQ, thread, t->debug_id, 0);
	if (t->nr_files)
		err = reader_write_start(r);
	if (err) {
		reader_put_back(r, &t->work);
		return err;
	}
	if (t->nr_files)
		err = binder_files_install(t, thread);
	if (err)
		return handle_files_error(r, t, err);
	if (!t->is_reply)
		binder_inherit_priority(thread, t, t->buffer->target_node);
	host_map_publish(&thread->proc->alloc.map, t->buffer->range.off,
			 binder_buffer_end(t->buffer) - t->buffer->range.off);
	host_trace_txn_received(t->debug_id);
	if (!t->is_reply)
		binder_inherit_trace(thread, t);
	err = returns_store(r, t);
	if (err) {
		binder_files_close(t, thread);
		handle_store_error(r, t, err);
		return err;
	}
	binder_stage(HOST_STAGE_COPY, thread, t->debug_id, 0);
	hand_over(thread, t);
	return DONE;
}

static int (*const deliver[WORK_TYPES])(struct reader *r, struct binder_work *work) = {
	[WORK_TRANSACTION] = deliver_transaction,
	[WORK_COMPLETE] = deliver_completion,
	[WORK_COMPLETE_FROZEN] = deliver_completion,
	[WORK_COMPLETE_SPAM] = deliver_completion,
	[WORK_ERROR] = deliver_error,
	[WORK_NODE] = deliver_node,
	[WORK_DEATH] = deliver_death,
	[WORK_DEATH_AND_CLEAR] = deliver_death,
	[WORK_DEATH_CLEARED] = deliver_death,
	[WORK_FREEZE] = deliver_freeze,
	[WORK_FREEZE_CLEARED] = deliver_freeze,
};

/* Not analysed: clang does not see that every function of the table releases the lock. */
static int deliver_one(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->thread->proc->inner_lock) NO_TSA
{
	int err = deliver[work->type](r, work);

	RELEASED(&r->thread->proc->inner_lock);
	return err;
}

/* ---- the loop ------------------------------------------------------------------------ */

/* Could the work not be put back if the read buffer turns out not to be writable? */
static bool is_final_ilocked(const struct reader *r, const struct binder_work *work)
	REQUIRES(&r->thread->proc->inner_lock)
{
	binder_assert_held(&r->thread->proc->inner_lock);
	if (work->type == WORK_COMPLETE)
		return r->thread->spare;
	return work->type != WORK_TRANSACTION;
}

/* Why next_work_ilocked() returns none. NOT_STARTED: reader_write_start() is to be called first. */
enum none { NO_WORK, NO_ROOM, NOT_STARTED };

/* Dequeues the next piece of work. NULL: there is none that this read may take (*@why). */
static struct binder_work *next_work_ilocked(struct reader *r, enum none *why)
	REQUIRES(&r->thread->proc->inner_lock)
{
	struct binder_thread *thread = r->thread;
	struct bl_list *todo = &thread->todo;
	struct binder_work *work;

	binder_assert_held(&r->thread->proc->inner_lock);
	if (bl_empty(todo)) {
		/* The work that ended the wait may have been removed again. */
		binder_thread_set_process_todo_ilocked(r->thread, false);
		if (r->proc_work)
			todo = &r->thread->proc->todo;
	}
	*why = NO_WORK;
	work = bl_first_entry(todo, struct binder_work, link);
	if (!work)
		return NULL;
	*why = NO_ROOM;
	if (r->end - r->pos < ROOM_WANTED || r->pos > r->end)
		return NULL;
	*why = NOT_STARTED;
	if (!r->writable && is_final_ilocked(r, work))
		return NULL;
	bl_del(&work->link);
	r->from_proc = todo != &thread->todo;
	if (bl_empty(&thread->todo))
		binder_thread_set_process_todo_ilocked(r->thread, false);
	return work;
}

/*
 * Returns 0 if there is something to read. If not, the thread is waiting from here on, and
 * new work wakes it.
 */
static int check_work_ilocked(struct binder_thread *thread, bool nonblock, bool interrupted,
			      bool *proc_work)
	REQUIRES(&thread->proc->inner_lock)
{
	binder_assert_held(&thread->proc->inner_lock);
	*proc_work = binder_thread_is_available_ilocked(thread);
	if (thread->wait == WAIT_READ) {
		bl_del(&thread->waiting_link);
		thread->looper &= ~(u32)LOOPER_WAITING;
		thread->wait = WAIT_NONE;
	} else {
		host_trace_wait(*proc_work, thread->stack, !bl_empty(&thread->todo));
	}
	if (binder_thread_has_work_ilocked(thread, *proc_work))
		return 0;
	/* What was deferred ends no wait, but comes where none begins or one is ended. */
	if (nonblock || interrupted) {
		if (*proc_work && !bl_empty(&thread->todo))
			return 0;
		return nonblock ? -EAGAIN : -EINTR;
	}
	thread->wait = WAIT_READ;
	thread->wait_timeout_ms = 0;
	thread->looper |= LOOPER_WAITING;
	if (*proc_work)
		bl_add_head(&thread->proc->waiting_threads, &thread->waiting_link);
	return BINDER_WOULD_BLOCK;
}

/* Is the read where only BR_NOOP is before it? The C driver looks at nothing but the place. */
static bool is_behind_noop(const struct reader *r)
{
	return r->pos - r->bwr->read_buffer == sizeof(u32);
}

/* Delivers what there is. CONTINUE: that came to nothing, so the thread waits again. */
static int deliver_all(struct reader *r) RELEASE_LOCK(&r->thread->proc->inner_lock)
{
	for (;;) {
		struct binder_work *work;
		enum none why;
		bool leave;
		int err;

		work = next_work_ilocked(r, &why);
		if (!work && why != NOT_STARTED) {
			leave = r->delivered || why == NO_ROOM || r->thread->need_return ||
				!is_behind_noop(r);
			binder_unlock(&r->thread->proc->inner_lock);
			return leave ? STOP : CONTINUE;
		}
		if (work && deliver_completion_ilocked(r, work))
			continue;
		if (work) {
			err = deliver_one(r, work);
		} else {
			binder_unlock(&r->thread->proc->inner_lock);
			err = reader_write_start(r);
		}
		if (err)
			return err;
		binder_lock(&r->thread->proc->inner_lock);
	}
}

/*
 * A reader of its own: a read that has to wait needs none, and hosts may clear it. Not analysed:
 * the compiler does not see that deliver_all() releases the lock of this thread.
 */
static int returns_read_once(struct binder_thread *thread, struct binder_write_read *bwr,
			     bool proc_work)
	RELEASE_LOCK(&thread->proc->inner_lock) NO_TSA
{
	u64 most = bwr->read_consumed + BINDER_READ_MAX;
	struct reader r __uninitialized; /* no more is stored than was appended */
	int err;

	r.thread = thread;
	r.bwr = bwr;
	r.pos = bwr->read_buffer + bwr->read_consumed;
	r.end = bwr->read_buffer + (bwr->read_size < most ? bwr->read_size : most);
	r.used = 0;
	r.proc_work = proc_work;
	r.from_proc = false;
	r.process_todo = thread->process_todo;
	r.writable = bwr->read_consumed;
	r.completion = NULL;
	r.spawned = false;
	r.delivered = false;
	if (!bwr->read_consumed)
		append_noop(&r);
	err = deliver_all(&r);
	if (err == RESTART) {
		err = returns_flush(&r);
		if (!err)
			return BINDER_RESTART;
	} else if (err == STOP) {
		err = returns_finish(&r);
		if (!err)
			return DONE;
	}
	if (err < 0)
		reader_undo(&r);
	return err;
}

/* If a call for this thread arrives after the load, its delivery sets the priority. */
static bool is_available_racy(const struct binder_thread *thread)
{
	return !BINDER_READ_ONCE(thread->stack) && !BINDER_READ_ONCE(thread->process_todo);
}

static int read_or_wait(struct binder_thread *thread, struct binder_write_read *bwr, bool nonblock,
			bool interrupted)
{
	bool proc_work;
	int err;

	/* A one-way call may have changed the priority. */
	if (thread->wait != WAIT_READ && is_available_racy(thread))
		binder_inherit_default(thread);
	do {
		binder_lock(&thread->proc->inner_lock);
		err = check_work_ilocked(thread, nonblock, interrupted, &proc_work);
		if (err) {
			binder_unlock(&thread->proc->inner_lock);
			return err;
		}
		err = returns_read_once(thread, bwr, proc_work);
	} while (err == CONTINUE);
	return err == DONE ? 0 : err;
}

/* Work that is queued later wakes a thread by itself. */
static bool has_todo_racy(const struct binder_proc *proc)
{
	return !bl_empty_racy(&proc->todo);
}

int binder_read(struct binder_thread *thread, struct binder_write_read *bwr, bool nonblock,
		bool interrupted)
{
	struct binder_proc *proc = thread->proc;
	int err;

	err = read_or_wait(thread, bwr, nonblock, interrupted);
	if (err == BINDER_WOULD_BLOCK)
		return err;
	if (err == BINDER_RESTART && bwr->write_consumed < bwr->write_size)
		thread->write_stopped = bwr->write_buffer + bwr->write_consumed;
	host_trace_read_done(err);
	/* Another thread may take the work that is left. */
	if (has_todo_racy(proc))
		binder_wake_for_todo(proc);
	return err;
}
