// SPDX-License-Identifier: GPL-2.0
/*
 * Reading is a loop over todo lists: the thread's own, and the process's if the
 * thread may serve it.  Each piece of work becomes one or two return codes, by a
 * function of its type.  What is written is gathered and stored with few
 * copies; a transaction is only handed over once its code has reached the
 * caller's memory, so that a reader with a bad buffer loses nothing for others.
 */
#include "entry/returns.h"

#include "base/inline.h"
#include "base/unset.h"
#include "core.h"
#include "notices/death.h"
#include "notices/freeze.h"
#include "common/cover.h"
#include "things/node.h"
#include "calls/inherit.h"
#include "things/proc.h"
#include "things/stage.h"
#include "things/thread.h"
#include "calls/transaction.h"

/* The most that one round of the loop may write and what it wants to find free
 * before it takes a piece of work (stock: a transaction with context). */
#define ROOM_WANTED (sizeof(u32) + sizeof(struct binder_transaction_data_secctx))
#define GATHER 256

struct reader {
	struct binder_thread *thread;
	struct binder_proc *proc;
	struct binder_write_read *bwr;
	u64 pos; /* address behind what is gathered */
	u64 end;
	bool proc_work; /* the thread may take work of the process */
	bool spawned;
	bool told; /* something other than the BR_NOOP */
	u32 used;
	_Alignas(8) u8 gather[GATHER];
};

/* What a handler of work says.  DONE: and all is stored. */
enum { GO_ON = 0, STOP = 1, RESTART = 2, DONE = 3 };

/* ---- the one writer ----------------------------------------------------------- */

static inline int flush(struct reader *r)
{
	int err = 0;

	if (r->used)
		err = host_write_caller(&r->thread->host, r->pos - r->used, r->gather, r->used);
	if (!err)
		r->bwr->read_consumed = r->pos - r->bwr->read_buffer;
	r->used = 0;
	return err;
}

/* Before all is told, which happens seldom. */
static BINDER_ASIDE int flush_early(struct reader *r)
{
	return flush(r);
}

/* @ret, for which there is room, and the place of its payload, which is returned.  Counts it. */
static inline void *place_code(struct reader *r, u32 ret)
{
	u32 size = sizeof(ret) + ABI_IOC_SIZE(ret);
	u8 *place = r->gather + r->used;

	*(u32 *)place = ret;
	r->used += size;
	r->pos += size;
	r->told = true;
	binder_stats_return(&r->proc->stats, ret);
	return place + sizeof(ret);
}

/* A place for @ret and its payload; *payload is written by the caller. */
static inline int make_room(struct reader *r, u32 ret, void **payload)
{
	int err = 0;

	if (r->used + sizeof(ret) + ABI_IOC_SIZE(ret) > GATHER)
		err = flush_early(r);
	if (!err)
		*payload = place_code(r, ret);
	return err;
}

static int put(struct reader *r, u32 ret, const void *payload)
{
	void *place;
	int err = make_room(r, ret, &place);

	if (!err && ABI_IOC_SIZE(ret))
		host_memcpy(place, payload, ABI_IOC_SIZE(ret));
	return err;
}

/* What every read begins with is no news, and not counted. */
static void put_noop(struct reader *r)
{
	*(u32 *)r->gather = BR_NOOP;
	r->used = sizeof(u32);
	r->pos += sizeof(u32);
}

/* A thread that the process was asked for, or the last that it allows, says no
 * without the lock: a moment late only means asking with the next return. */
static bool may_spawn_racy(const struct binder_proc *proc) PEEKS;
static bool may_spawn_racy(const struct binder_proc *proc)
{
	return !proc->requested_threads && proc->requested_threads_started < proc->max_threads;
}

/* Should the process start another thread?  Then this is the moment to say so:
 * none waits, none was asked for, and there may be more. */
static bool wants_looper(struct reader *r)
{
	struct binder_proc *proc = r->proc;
	bool wanted;

	if (!may_spawn_racy(proc))
		return false;
	binder_lock(&proc->inner_lock);
	wanted = !proc->requested_threads && bl_empty(&proc->waiting_threads) &&
		 proc->requested_threads_started < proc->max_threads &&
		 r->thread->looper & (LOOPER_REGISTERED | LOOPER_ENTERED);
	if (wanted)
		proc->requested_threads++;
	binder_unlock(&proc->inner_lock);
	return wanted;
}

/* The last flush of a read: the request for a thread takes the place of the
 * first code in the buffer. */
static int finish(struct reader *r)
{
	static const u32 spawn = BR_SPAWN_LOOPER;
	u64 first = r->bwr->read_buffer;
	int err = 0;

	if (!r->spawned && wants_looper(r)) {
		r->spawned = true;
		binder_stats_return(&r->proc->stats, BR_SPAWN_LOOPER);
		if (r->used && r->pos - r->used == first) {
			host_memcpy(r->gather, &spawn, sizeof(spawn));
		} else {
			BINDER_COVER(SPAWN_WRITTEN_APART);
			err = host_write_caller(&r->thread->host, first, &spawn, sizeof(spawn));
		}
	}
	return err ? err : flush(r);
}

/* ---- one function per kind of work ---------------------------------------------- *
 * Called with the inner lock held and the work dequeued; return without it. */

static int deliver_error(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->proc->inner_lock)
{
	struct binder_error *e = bl_entry(&work->link, struct binder_error, work.link);
	const s32 no_memory = -ENOMEM; /* for BR_ERROR, the only one with a payload */
	u32 ret = e->cmd;

	e->cmd = BR_OK;
	binder_unlock(&r->proc->inner_lock);
	return put(r, ret, &no_memory);
}

static u32 code_of_completion(const struct reader *r, const struct binder_work *work)
	REQUIRES(&r->proc->inner_lock)
{
	if (work->type == WORK_COMPLETE_FROZEN)
		return BR_TRANSACTION_PENDING_FROZEN;
	if (work->type == WORK_COMPLETE_SPAM && r->proc->oneway_spam_detection)
		return BR_ONEWAY_SPAM_SUSPECT;
	return BR_TRANSACTION_COMPLETE;
}

static int deliver_complete(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->proc->inner_lock)
{
	u32 ret = code_of_completion(r, work);

	r->thread->nr_unread--;
	binder_unlock(&r->proc->inner_lock);
	host_free(work);
	binder_stats_deleted_by(&r->proc->stats, STAT_COMPLETE);
	return put(r, ret, NULL);
}

/* The same for the first completion of a read, which is nearly always its first work: the
 * lock is kept for what follows.  False: it is another work, or not that simple. */
static bool deliver_complete_ilocked(struct reader *r, struct binder_work *work)
	REQUIRES(&r->proc->inner_lock)
{
	if (work->type != WORK_COMPLETE || r->thread->spare || r->used + sizeof(u32) > GATHER)
		return false;
	r->thread->nr_unread--;
	r->thread->spare = work;
	binder_stats_deleted_by(&r->proc->stats, STAT_COMPLETE);
	place_code(r, BR_TRANSACTION_COMPLETE);
	return true;
}

static int deliver_node(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->proc->inner_lock)
{
	static const struct {
		u32 tell, ret;
	} order[] = {
		{ NODE_NOTIFY_INCREFS, BR_INCREFS },
		{ NODE_NOTIFY_ACQUIRE, BR_ACQUIRE },
		{ NODE_NOTIFY_RELEASE, BR_RELEASE },
		{ NODE_NOTIFY_DECREFS, BR_DECREFS },
	};
	struct binder_node *node = bl_entry(&work->link, struct binder_node, work.link);
	struct binder_ptr_cookie name = { .ptr = node->ptr, .cookie = node->cookie };
	int err = 0;
	u32 tell, i;

	binder_node_begin_notify_ilocked(node);
	binder_unlock(&r->proc->inner_lock);
	tell = binder_node_reconcile(node);
	for (i = 0; i < sizeof(order) / sizeof(order[0]) && !err; i++) {
		if (tell & order[i].tell)
			err = put(r, order[i].ret, &name);
	}
	return err;
}

static int deliver_death(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->proc->inner_lock)
{
	struct binder_death *death = bl_entry(&work->link, struct binder_death, work.link);
	bool ended;
	u64 cookie;
	u32 ret;
	int err;

	ended = binder_death_deliver_ilocked(r->proc, death, &ret, &cookie);
	binder_unlock(&r->proc->inner_lock);
	if (ended)
		binder_death_free(death);
	err = put(r, ret, &cookie);
	/* What a death makes the client do may well be calls: it should come
	 * back for more only afterwards. */
	return err || ended ? err : STOP;
}

static int deliver_freeze(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->proc->inner_lock)
{
	struct binder_freeze *freeze = bl_entry(&work->link, struct binder_freeze, work.link);
	struct binder_frozen_state_info state;
	bool ended;
	u32 ret;
	int err;

	ended = binder_freeze_deliver_ilocked(r->proc, freeze, &ret, &state);
	binder_unlock(&r->proc->inner_lock);
	if (ended)
		binder_freeze_free(freeze);
	err = put(r, ret, &state); /* the cookie comes first in it */
	return err || ended ? err : STOP;
}

/* ---- handing over a transaction --------------------------------------------------- */

/* The transaction cannot be handed over: its sender hears why. */
static int give_up(struct reader *r, struct binder_transaction *t, int err, const char *why)
{
	struct binder_result result = { 0 };
	struct binder_buffer *buffer = binder_transaction_detach_buffer(t);
	bool is_reply = t->is_reply;

	binder_fail(&result, binder_ret_of(err), err, why);
	host_log(HOST_LOG_USER_ERROR, "%d:%d delivery of transaction %u failed: %s (%d)",
		 r->proc->pid, r->thread->tid, t->debug_id, why, err);
	if (buffer && buffer->async && buffer->target_node)
		binder_oneway_next(buffer->target_node);
	if (buffer) {
		binder_trace_buffer(HOST_TRACE_BUFFER_FAILED, buffer);
		binder_buffer_release(r->proc, NULL, buffer);
	}
	binder_transaction_drop(t, &result);
	/* Who waited for this reply is the reader itself. */
	return is_reply ? put(r, BR_FAILED_REPLY, NULL) : 0;
}

/* The sender's process as the receiver knows it; 0 if nobody waits for an answer. */
static s32 sender_pid(struct reader *r, struct binder_transaction *t)
{
	struct binder_thread *from;
	s32 pid = 0;

	if (t->is_reply || t->flags & TF_ONE_WAY)
		return 0;
	from = binder_transaction_get_from(t);
	if (from) {
		pid = host_proc_pid_seen_by(&from->proc->host, &r->proc->host);
		binder_thread_put(from);
	}
	return pid;
}

static void describe_to_reader(struct reader *r, struct binder_transaction *t,
		     struct binder_transaction_data *tr)
{
	const struct binder_buffer *buffer = t->buffer;
	const struct binder_node *node = buffer->target_node;
	u64 address = binder_buffer_address(&r->proc->alloc, buffer);

	*tr = (struct binder_transaction_data){
		.target.ptr = node ? node->ptr : 0,
		.cookie = node ? node->cookie : 0,
		.code = t->code,
		.flags = t->flags,
		.sender_pid = sender_pid(r, t),
		.sender_euid = t->sender_euid,
		.data_size = buffer->data_size,
		.offsets_size = buffer->offsets_size,
		.data.ptr.buffer = address,
		.data.ptr.offsets = address + binder_buffer_offsets_off(buffer) - buffer->range.off,
	};
}

/* From here on it is the receiver's. */
static void hand_over(struct reader *r, struct binder_transaction *t)
{
	bool call = !t->is_reply && !(t->flags & TF_ONE_WAY);

	binder_buffer_allow_user_free(t->buffer);
	if (!call) {
		binder_transaction_free_by(r->thread, t);
		return;
	}
	binder_lock(&r->proc->inner_lock);
	t->to_parent = r->thread->stack;
	binder_transaction_set_for(t, r->thread);
	r->thread->stack = t;
	binder_unlock(&r->proc->inner_lock);
}

/* It stays first in line for this thread. */
static void postpone(struct reader *r, struct binder_transaction *t)
{
	binder_lock(&r->proc->inner_lock);
	bl_add_head(&r->thread->todo, &t->work.link);
	r->thread->process_todo = true;
	binder_unlock(&r->proc->inner_lock);
}

/* The transaction could not be stored.  If not even the first code of the read
 * could, then the caller's buffer is none at all: the stock driver would not have
 * touched the work, so it stays for a better read.  Else it is lost. */
static void refuse(struct reader *r, struct binder_transaction *t, int err)
{
	static const u32 noop = BR_NOOP;

	BINDER_COVER(DELIVERY_FAILED);
	if (t->is_reply)
		BINDER_COVER(REPLY_NOT_READ);
	if (host_write_caller(&r->thread->host, r->bwr->read_buffer, &noop, sizeof(noop))) {
		BINDER_COVER(DELIVERY_POSTPONED);
		postpone(r, t);
	} else {
		give_up(r, t, err, "the reader's buffer cannot be written");
	}
}

static int deliver_transaction(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->proc->inner_lock)
{
	struct binder_transaction *t = bl_entry(&work->link, struct binder_transaction, work.link);
	struct binder_node *node = t->buffer->target_node;
	struct binder_transaction_data_secctx *tr;
	u32 ret = BR_REPLY;
	void *place;
	u32 *fds = NULL;
	int err = 0;

	binder_unlock(&r->proc->inner_lock);
	binder_stage(HOST_STAGE_DEQ, r->thread, t->debug_id, 0);
	if (t->nr_files)
		err = binder_transaction_install_files(t, r->thread, &fds);
	if (err) {
		host_free(fds);
		if (err == HOST_FDS_LATER) {
			BINDER_COVER(FILES_LATER);
			postpone(r, t);
			return RESTART;
		}
		BINDER_COVER(FILES_REFUSED);
		return give_up(r, t, err, "files could not be installed");
	}
	if (node) {
		ret = t->has_secctx ? BR_TRANSACTION_SEC_CTX : BR_TRANSACTION;
		binder_priority_inherit(r->thread, t, node);
	}
	host_map_publish(&r->proc->alloc.map, t->buffer->range.off, t->buffer->range.size);
	host_trace_txn_received(t->debug_id);
	err = make_room(r, ret, &place);
	if (!err) {
		tr = place;
		describe_to_reader(r, t, &tr->transaction_data);
		if (ret == BR_TRANSACTION_SEC_CTX)
			tr->secctx = t->secctx;
		err = finish(r);
	}
	if (err) {
		host_fds_close(&r->thread->host, fds, fds ? t->nr_files : 0);
		host_free(fds);
		refuse(r, t, err);
		return err;
	}
	host_free(fds);
	binder_stage(HOST_STAGE_COPY, r->thread, t->debug_id, 0);
	hand_over(r, t);
	return DONE;
}

static int (*const tell[WORK_TYPES])(struct reader *r, struct binder_work *work) = {
	[WORK_TRANSACTION] = deliver_transaction,
	[WORK_COMPLETE] = deliver_complete,
	[WORK_COMPLETE_FROZEN] = deliver_complete,
	[WORK_COMPLETE_SPAM] = deliver_complete,
	[WORK_ERROR] = deliver_error,
	[WORK_NODE] = deliver_node,
	[WORK_DEATH] = deliver_death,
	[WORK_DEATH_AND_CLEAR] = deliver_death,
	[WORK_DEATH_CLEARED] = deliver_death,
	[WORK_FREEZE] = deliver_freeze,
	[WORK_FREEZE_CLEARED] = deliver_freeze,
};

static int deliver_one(struct reader *r, struct binder_work *work)
	RELEASE_LOCK(&r->proc->inner_lock) NO_TSA /* whichever it is, it lets the lock go */
{
	int err;

	/* Most works are, and the compiler then sees both. */
	if (work->type == WORK_TRANSACTION)
		return deliver_transaction(r, work);
	err = tell[work->type](r, work);
	RELEASED(&r->proc->inner_lock);
	return err;
}

/* ---- the loop ------------------------------------------------------------------------ */

/* Takes the next piece of work; NULL: none that this read may take, and
 * *full tells whether for want of room. */
static struct binder_work *next_work_ilocked(struct reader *r, bool *full) NO_TSA
{
	struct bl_list *todo = &r->thread->todo;
	struct bl_list *link;

	if (bl_empty(todo)) {
		/* Whatever ended the wait may have been taken back meanwhile. */
		r->thread->process_todo = false;
		if (r->proc_work)
			todo = &r->proc->todo;
	}
	if (bl_empty(todo))
		return NULL;
	*full = r->end - r->pos < ROOM_WANTED || r->pos > r->end;
	if (*full)
		return NULL;
	link = bl_pop(todo);
	if (bl_empty(&r->thread->todo))
		r->thread->process_todo = false;
	return bl_entry(link, struct binder_work, link);
}

/* Is there something to read?  If not, the thread is known to wait from here
 * on, so that whoever brings work wakes it. */
static int wait_or_go_ilocked(struct reader *r, bool nonblock, bool interrupted)
	REQUIRES(&r->proc->inner_lock)
{
	struct binder_thread *thread = r->thread;
	struct binder_proc *proc = r->proc;
	bool fresh = thread->wait != WAIT_READ;
	int err;

	r->proc_work = binder_thread_is_available_ilocked(thread);
	if (!fresh) {
		bl_del(&thread->waiting_link);
		thread->looper &= ~(u32)LOOPER_WAITING;
		thread->wait = WAIT_NONE;
	} else {
		host_trace_wait(r->proc_work, thread->stack, !bl_empty(&thread->todo));
	}
	if (binder_thread_has_work_ilocked(thread, r->proc_work))
		return 0;
	err = nonblock ? -EAGAIN : interrupted ? -EINTR : BINDER_WOULD_BLOCK;
	if (err == BINDER_WOULD_BLOCK) {
		thread->wait = WAIT_READ;
		thread->wait_timeout_ms = 0;
		thread->looper |= LOOPER_WAITING;
		if (r->proc_work)
			bl_add_head(&proc->waiting_threads, &thread->waiting_link);
	}
	return err;
}

/* Tells what there is.  GO_ON: nothing came of it, wait again. */
static int deliver_all(struct reader *r) RELEASE_LOCK(&r->proc->inner_lock)
{
	for (;;) {
		struct binder_work *work;
		bool full = false, leave;
		int err;

		work = next_work_ilocked(r, &full);
		if (!work) {
			leave = r->told || full || r->thread->need_return ||
				r->bwr->read_consumed;
			binder_unlock(&r->proc->inner_lock);
			return leave ? STOP : GO_ON;
		}
		if (deliver_complete_ilocked(r, work))
			continue;
		err = deliver_one(r, work);
		if (err)
			return err;
		binder_lock(&r->proc->inner_lock);
	}
}

int binder_read(struct binder_thread *thread, struct binder_write_read *bwr, bool nonblock,
		bool interrupted)
{
	bool resumed = thread->wait == WAIT_READ, comes;
	struct reader r BINDER_UNSET;
	int err;

	r.thread = thread;
	r.proc = thread->proc;
	r.bwr = bwr;
	r.pos = bwr->read_buffer + bwr->read_consumed;
	r.end = bwr->read_buffer + bwr->read_size;
	r.spawned = false;
	r.told = false;
	r.used = 0;
	do {
		binder_lock(&r.proc->inner_lock);
		err = wait_or_go_ilocked(&r, nonblock, interrupted);
		comes = !resumed && r.proc_work;
		if (err || comes) {
			binder_unlock(&r.proc->inner_lock);
			/* A one-way call may have changed its priority. */
			if (comes)
				binder_priority_default(thread);
			if (err)
				return err;
			binder_lock(&r.proc->inner_lock);
		}
		if (!r.used && !bwr->read_consumed)
			put_noop(&r);
		err = deliver_all(&r);
	} while (err == GO_ON);
	if (err == RESTART) {
		err = flush_early(&r);
		return err ? err : BINDER_RESTART;
	}
	if (err == STOP)
		err = finish(&r);
	return err == DONE ? 0 : err;
}
