// SPDX-License-Identifier: GPL-2.0
/*
 * Sending takes four steps: find the target, build the transaction in the receiver's buffer,
 * queue it, complete it. Each step succeeds or describes its failure in one struct
 * binder_result. What was taken until then is released in one place (send_undo()), and the
 * sender gets the failure as a return code.
 */
#include "calls/send.h"

#include "calls/buffer.h"
#include "calls/inherit.h"
#include "calls/queue.h"
#include "calls/security.h"
#include "calls/transaction.h"
#include "calls/translate.h"
#include "common/cover.h"
#include "common/limits.h"
#include "common/translog.h"
#include "memory/oneway_spam.h"
#include "entities/context.h"
#include "entities/node.h"
#include "entities/ref.h"
#include "entities/stage.h"
#include "entities/thread.h"
#include "entities/world.h"

#include "base/checked.h"

/* Everything that one send takes. */
struct send {
	struct binder_thread *thread;
	struct binder_proc *proc;
	const struct binder_transaction_data *tr;
	u64 buffers_size;
	bool is_reply;
	bool oneway;
	u32 debug_id;
	u64 start_ns;
	struct binder_result why;
	/* the target, all referenced or pinned */
	struct binder_node *node; /* NULL for replies, and once the call is queued */
	u32 node_id;
	bool has_node_ref; /* a strong local reference, until the buffer has it */
	struct binder_proc *target;		/* of a reply: referenced by target_thread */
	struct binder_thread *target_thread;	/* reply, call back; or NULL */
	struct binder_transaction *in_reply_to; /* popped from the thread's stack */
	/* the transaction */
	struct binder_transaction *t;
	struct binder_work *complete;
	struct binder_buffer *buffer;
	struct binder_secctx secctx;
};

/* ---- step 1: find the target ------------------------------------------------- */

/* Finds the node's owner, and references the node for it. False: the owner is dead. */
static bool get_owner(struct send *s)
{
	struct binder_node *node = s->node;

	binder_lock(&node->lock);
	s->target = node->proc;
	if (s->target) {
		binder_proc_get(s->target);
		binder_node_inc_local_nlocked(node);
		s->has_node_ref = true;
	}
	binder_unlock(&node->lock);
	s->node_id = node->debug_id;
	return s->target;
}

/* Forgets the extended error of the last call. */
static void clear_error_ilocked(struct send *s) REQUIRES(&s->thread->proc->inner_lock)
{
	binder_assert_held(&s->thread->proc->inner_lock);
	s->thread->ee.id = s->debug_id;
	s->thread->ee.command = BR_OK;
	s->thread->ee.param = 0;
}

/*
 * If the owner of the target waits, somewhere up the thread's stack, for a reply of this
 * thread, then this is a call back, and the waiting thread must serve it.
 */
static void find_waiting_thread_ilocked(struct send *s) REQUIRES(&s->thread->proc->inner_lock)
{
	struct binder_transaction *t;

	binder_assert_held(&s->thread->proc->inner_lock);
	for (t = s->thread->stack; t && !s->target_thread; t = t->from_parent) {
		binder_lock(&t->lock);
		if (t->from && t->from->proc == s->target) {
			BINDER_COVER(SEND_TO_WAITER);
			s->target_thread = t->from;
			binder_thread_get(t->from);
		}
		binder_unlock(&t->lock);
	}
}

/*
 * Is a call the first work of the thread? Without a call outstanding, deferred completions of
 * replies may stand before it.
 */
static bool has_unread_call_ilocked(const struct binder_thread *thread)
	REQUIRES(&thread->proc->inner_lock)
{
	const struct binder_work *work;

	binder_assert_held(&thread->proc->inner_lock);
	bl_for_each(work, &thread->todo, link) {
		if (thread->stack || work->type != WORK_COMPLETE)
			return work->type == WORK_TRANSACTION;
	}
	return false;
}

/*
 * A thread may call when it has no call outstanding, or while it serves one; not while it
 * waits for a reply, nor with a call in its todo list.
 */
static int check_stack(struct send *s)
{
	struct binder_thread *thread = s->thread;
	int err = 0;

	binder_lock(&s->thread->proc->inner_lock);
	clear_error_ilocked(s);
	if (has_unread_call_ilocked(s->thread))
		err = binder_fail(&s->why, BR_FAILED_REPLY, -EPROTO,
				  "call with a transaction to be read by the thread");
	else if (thread->stack && !binder_transaction_is_for_racy(thread->stack, thread))
		err = binder_fail(&s->why, BR_FAILED_REPLY, -EPROTO,
				  "call while the thread waits for a reply");
	else
		find_waiting_thread_ilocked(s);
	binder_unlock(&s->thread->proc->inner_lock);
	return err;
}

static int find_target(struct send *s)
{
	u32 handle = s->tr->target.handle;
	int err;

	if (handle) {
		s->node = binder_ref_get_node(s->proc, handle, true);
		if (!s->node)
			return binder_fail(&s->why, BR_FAILED_REPLY, -EINVAL,
					   "no such handle, or a weak one");
	} else {
		s->node = binder_context_get_manager(s->proc->context);
		if (!s->node)
			return binder_fail(&s->why, BR_DEAD_REPLY, -EINVAL, "no context manager");
	}
	if (!get_owner(s))
		return binder_fail(&s->why, BR_DEAD_REPLY, -EINVAL, "the target is dead");
	if (s->target == s->proc || (!handle && s->target->pid == s->proc->pid))
		return binder_fail(&s->why, BR_FAILED_REPLY, -EINVAL, "call to the own process");
	err = host_may_transact(&s->proc->host, &s->target->host);
	if (err)
		return binder_fail(&s->why, BR_FAILED_REPLY, -EPERM, "call denied by policy");
	return s->oneway ? 0 : check_stack(s);
}

/*
 * The caller waits until it gets the reply or dies, which queue_reply() checks again under
 * its lock.
 */
static bool waits_for_racy(const struct binder_thread *caller, const struct binder_transaction *t)
{
	return BINDER_READ_ONCE(caller->stack) == t;
}

/* Pops the call that is replied to from the thread's stack and finds its sender. */
static int find_caller(struct send *s)
{
	struct binder_thread *thread = s->thread;
	struct binder_transaction *t;

	binder_lock(&s->thread->proc->inner_lock);
	clear_error_ilocked(s);
	t = thread->stack;
	if (t && binder_transaction_is_for_racy(t, thread)) {
		BINDER_WRITE_ONCE(thread->stack, t->to_parent);
		s->in_reply_to = t;
	}
	binder_unlock(&s->thread->proc->inner_lock);
	if (!t)
		return binder_fail(&s->why, BR_FAILED_REPLY, -EPROTO, "reply without a call");
	if (!s->in_reply_to)
		return binder_fail(&s->why, BR_FAILED_REPLY, -EPROTO,
				   "reply while the thread waits for a reply");
	binder_inherit_restore(thread, t);
	s->target_thread = binder_transaction_get_from(t);
	if (!s->target_thread) {
		BINDER_COVER(REPLY_CALLER_DEAD);
		return binder_fail(&s->why, BR_DEAD_REPLY, -ESRCH, "the caller is dead");
	}
	s->target = s->target_thread->proc; /* which the thread keeps */
	if (!waits_for_racy(s->target_thread, t))
		return binder_fail(&s->why, BR_FAILED_REPLY, -EPROTO,
				   "the caller waits for another transaction");
	return 0;
}

/* ---- step 2: build the transaction in the receiver's buffer -------------------- */

static int reserve_buffer(struct send *s)
{
	const struct binder_transaction_data *tr = s->tr;
	struct binder_buffer_request request = {
		.data_size = tr->data_size,
		.offsets_size = tr->offsets_size,
		.async = s->oneway,
		.pid = s->proc->pid,
		.debug_id = s->debug_id,
	};
	u64 extra = s->buffers_size;
	int err = 0;

	if (s->node && s->node->txn_security_ctx) {
		err = binder_secctx_get(&s->secctx, s->proc);
		if (err)
			return binder_fail(&s->why, BR_FAILED_REPLY, err, "no security context");
	}
	if (!ck_add_u64(extra, s->secctx.room, &extra))
		return binder_fail(&s->why, BR_FAILED_REPLY, -EINVAL, "sizes overflow");
	request.extra_size = extra;
	s->buffer = binder_alloc_new_buffer(&s->target->alloc, &s->target->host, &request, &err);
	if (!s->buffer)
		return binder_fail(&s->why, binder_ret_of(err), err,
				   "no buffer available in the receiver");
	if (s->oneway)
		binder_oneway_spam_check(&s->target->alloc, s->buffer);
	binder_trace_buffer(HOST_TRACE_BUFFER_ALLOCATED, s->buffer);
	s->buffer->clear_on_free = tr->flags & TF_CLEAR_BUF;
	BINDER_WRITE_ONCE(s->buffer->transaction, s->t);
	BINDER_WRITE_ONCE(s->t->buffer, s->buffer);
	s->buffer->target_node = s->node;
	s->has_node_ref = false; /* the buffer has it */
	if (!s->secctx.room)
		return 0;
	s->t->has_secctx = true;
	err = binder_secctx_store(&s->secctx, &s->target->alloc, s->buffer, &s->t->secctx);
	return err ? binder_fail(&s->why, BR_FAILED_REPLY, err, "security context not stored") : 0;
}

static void send_trace(const struct send *s)
{
	const struct host_trace_txn txn = {
		.id = s->debug_id,
		.node = s->node_id,
		.from_proc = s->proc->pid,
		.from_thread = s->thread->tid,
		.to_proc = s->target->pid,
		.to_thread = s->target_thread ? s->target_thread->tid : 0,
		.reply = s->is_reply,
		.code = s->tr->code,
		.flags = s->tr->flags,
	};

	host_trace_txn_sent(&txn);
}

static void send_describe(struct send *s)
{
	struct binder_transaction *t = s->t;

	t->debug_id = s->debug_id;
	t->code = s->tr->code;
	t->flags = s->tr->flags;
	t->is_reply = s->is_reply;
	t->from_pid = s->proc->pid;
	t->from_tid = s->thread->tid;
	t->start_ns = s->start_ns;
	t->sender_euid = host_sender_euid(&s->proc->host, &s->thread->host, &s->target->host);
	if (!s->is_reply && !s->oneway)
		t->priority = binder_inherit_from(s->thread);
	else
		t->priority = s->target->default_priority;
}

/* The struct of the completion that the thread read last, or a new one. */
static struct binder_work *new_completion(struct binder_thread *thread)
{
	struct binder_work *work = thread->spare;

	thread->spare = NULL;
	if (!work)
		work = host_alloc(&thread->proc->host, sizeof(*work));
	if (work) {
		binder_work_init(work, WORK_COMPLETE);
		binder_stats_created_by(&thread->proc->stats, STAT_COMPLETE);
	}
	return work;
}

static int send_translate(struct send *s)
{
	struct binder_translation x = {
		.thread = s->thread,
		.target = s->target,
		.t = s->t,
		.tr = s->tr,
		.buffers_size = s->buffers_size,
		.allow_fds = s->is_reply ? s->in_reply_to->flags & TF_ACCEPT_FDS :
					   s->node->accept_fds,
	};

	return binder_translate(&x, &s->why);
}

static int send_build(struct send *s)
{
	bool full = s->thread->nr_unread >= BINDER_MAX_UNREAD;
	int err;

	s->t = full ? NULL : binder_transaction_new(s->thread);
	s->complete = full ? NULL : new_completion(s->thread);
	if (!s->t || !s->complete)
		return binder_fail(&s->why, BR_FAILED_REPLY, -ENOMEM, "no memory");
	send_describe(s);
	send_trace(s);
	err = reserve_buffer(s);
	return err ? err : send_translate(s);
}

/* ---- step 3: queue it ---------------------------------------------------------- */

static void queue_completion_ilocked(struct send *s, bool deferred)
	REQUIRES(&s->thread->proc->inner_lock)
{
	binder_assert_held(&s->thread->proc->inner_lock);
	s->thread->nr_unread++;
	if (deferred)
		binder_thread_queue_deferred_ilocked(s->thread, s->complete);
	else
		binder_thread_queue_ilocked(s->thread, s->complete);
}

static void unqueue_completion_ilocked(struct send *s) REQUIRES(&s->thread->proc->inner_lock)
{
	binder_assert_held(&s->thread->proc->inner_lock);
	bl_del(&s->complete->link);
	s->thread->nr_unread--;
}

/* Pops the call from the caller's stack and queues the reply for it. False: it is dead. */
static bool deliver_reply(struct send *s, struct binder_thread *to)
{
	bool alive;

	binder_lock(&to->proc->inner_lock);
	alive = !to->is_dead && to->stack == s->in_reply_to;
	if (alive) {
		BINDER_WRITE_ONCE(to->stack, s->in_reply_to->from_parent);
		binder_transaction_set_in(s->t, to->proc);
		binder_transaction_set_for(s->t, to);
		binder_transaction_count_ilocked(s->t, to->proc);
		binder_thread_queue_ilocked(to, &s->t->work);
		binder_wake_ilocked(to->proc, to, true);
	}
	binder_unlock(&to->proc->inner_lock);
	return alive;
}

static int queue_reply(struct send *s)
{
	binder_lock(&s->thread->proc->inner_lock);
	queue_completion_ilocked(s, s->tr->flags & TF_DEFER_COMPLETE);
	binder_transaction_detach_ilocked(s->in_reply_to, s->thread->proc);
	binder_unlock(&s->thread->proc->inner_lock);
	if (!deliver_reply(s, s->target_thread)) {
		BINDER_COVER(REPLY_CALLER_DIED);
		binder_lock(&s->thread->proc->inner_lock);
		unqueue_completion_ilocked(s);
		binder_unlock(&s->thread->proc->inner_lock);
		return binder_fail(&s->why, BR_DEAD_REPLY, -ESRCH, "the caller is dead");
	}
	binder_transaction_free_by(s->thread, s->in_reply_to);
	s->in_reply_to = NULL;
	return 0;
}

static int queue_call(struct send *s)
{
	struct binder_transaction *t = s->t;
	int err;

	binder_lock(&s->thread->proc->inner_lock);
	queue_completion_ilocked(s, true);
	binder_assert_private(&t->lock);
	t->from = s->thread;
	t->from_parent = s->thread->stack;
	BINDER_WRITE_ONCE(s->thread->stack, t);
	binder_unlock(&s->thread->proc->inner_lock);

	err = binder_queue_call(t, s->node, s->target, s->target_thread, NULL, &s->why);
	if (!err) {
		s->node = NULL;
		return 0;
	}
	binder_lock(&s->thread->proc->inner_lock);
	BINDER_WRITE_ONCE(s->thread->stack, t->from_parent);
	unqueue_completion_ilocked(s);
	binder_unlock(&s->thread->proc->inner_lock);
	return err;
}

static void notify_system(const struct send *s, u32 error)
{
	const struct host_txn_failure failure = {
		.error = error,
		.context = s->proc->context->name,
		.from_pid = s->proc->pid,
		.from_tid = s->thread->tid,
		.to_pid = s->target ? s->target->pid : 0,
		.to_tid = s->target_thread ? s->target_thread->tid : 0,
		.is_reply = s->is_reply,
		.code = s->tr->code,
		.flags = s->tr->flags,
		.data_size = s->tr->data_size,
		.id = s->debug_id,
		.reason = s->why.err,
		.node = s->node_id,
	};

	host_notify_txn_failure(&failure);
}

static int queue_oneway(struct send *s)
{
	/* Once queued, the buffer belongs to the receiver. */
	bool suspect = s->buffer->oneway_spam_suspect, frozen;
	int err;

	/* A suspect's call that fails, or waits at a frozen receiver, has two notices. */
	if (suspect)
		notify_system(s, BR_ONEWAY_SPAM_SUSPECT);
	err = binder_queue_call(s->t, s->node, s->target, NULL, &frozen, &s->why);
	if (err)
		return err;
	s->node = NULL;
	if (frozen) {
		s->complete->type = WORK_COMPLETE_FROZEN;
		notify_system(s, BR_TRANSACTION_PENDING_FROZEN);
	} else if (suspect) {
		s->complete->type = WORK_COMPLETE_SPAM;
	}
	binder_lock(&s->thread->proc->inner_lock);
	clear_error_ilocked(s);
	queue_completion_ilocked(s, false);
	binder_unlock(&s->thread->proc->inner_lock);
	return 0;
}

static int send_queue(struct send *s)
{
	binder_stage(HOST_STAGE_ENQ, s->thread, s->debug_id,
		     s->in_reply_to ? s->in_reply_to->debug_id : 0);
	if (s->is_reply)
		return queue_reply(s);
	return s->oneway ? queue_oneway(s) : queue_call(s);
}

/* ---- step 4: the outcome --------------------------------------------------------- */

static void send_undo(struct send *s)
{
	if (s->buffer) {
		BINDER_WRITE_ONCE(s->t->buffer, NULL);
		BINDER_WRITE_ONCE(s->buffer->transaction, NULL);
		binder_trace_buffer(HOST_TRACE_BUFFER_FAILED, s->buffer);
		binder_buffer_release(s->target, NULL, s->buffer);
	}
	if (s->has_node_ref)
		binder_node_dec(s->node, NODE_LOCAL_STRONG);
	if (s->complete) {
		host_free(s->complete);
		binder_stats_deleted_by(&s->proc->stats, STAT_COMPLETE);
	}
	if (s->t)
		binder_transaction_free(s->t);
}

/*
 * The thread gets the error of a failed call. The error of a failed reply goes to the
 * caller, and the thread that replied gets BR_TRANSACTION_COMPLETE.
 */
static void return_failure(struct send *s)
{
	struct binder_thread *thread = s->thread;

	host_log(HOST_LOG_USER_ERROR, "%d:%d %s to %d:%d failed: %s (%d at %s:%u), code %x",
		 s->proc->pid, thread->tid, s->is_reply ? "reply" : "call",
		 s->target ? s->target->pid : 0, s->target_thread ? s->target_thread->tid : 0,
		 s->why.why, s->why.err, s->why.file, s->why.line, s->tr->code);
	binder_lock(&thread->proc->inner_lock);
	if (!s->in_reply_to) {
		thread->ee.id = s->debug_id;
		thread->ee.command = s->why.ret;
		/* BR_FROZEN_REPLY has no further error. */
		thread->ee.param = s->why.ret == BR_FROZEN_REPLY ? 0 : s->why.err;
	}
	thread->return_error.cmd = s->in_reply_to ? BR_TRANSACTION_COMPLETE : s->why.ret;
	binder_thread_queue_ilocked(thread, &thread->return_error.work);
	binder_unlock(&thread->proc->inner_lock);
	/* It was popped from the stack, so only this thread has it. */
	if (s->in_reply_to)
		binder_transaction_fail(s->in_reply_to, &s->why, true);
}

static void log_transaction(const struct send *s)
{
	const struct binder_context *context = s->proc->context;
	const struct binder_log_entry e = {
		.start_ns = s->start_ns,
		.debug_id = s->debug_id,
		.call_type = s->is_reply ? LOG_REPLY : s->oneway ? LOG_ONEWAY : LOG_CALL,
		.from_proc = s->proc->pid,
		.from_thread = s->thread->tid,
		.target_handle = s->is_reply ? 0 : s->tr->target.handle,
		.to_proc = s->target ? s->target->pid : 0,
		.to_thread = s->target_thread ? s->target_thread->tid : 0,
		.to_node = s->node_id,
		.data_size = s->tr->data_size,
		.offsets_size = s->tr->offsets_size,
		.ret = s->why.ret,
		.ret_param = s->why.err,
		.ret_line = s->why.line,
	};

	binder_log_add(false, &e, context->name, context->name_size);
	if (s->why.ret != BR_OK)
		binder_log_add(true, &e, context->name, context->name_size);
}

static void put_target(struct send *s)
{
	if (s->secctx.room)
		binder_secctx_put(&s->secctx);
	if (s->node)
		binder_node_unpin(s->node);
	if (s->target_thread)
		binder_thread_put(s->target_thread);
	if (s->target && !s->is_reply)
		binder_proc_put(s->target);
}

void binder_send(struct binder_thread *thread, const struct binder_transaction_data *tr,
		 u64 buffers_size, bool is_reply)
{
	struct send s = {
		.thread = thread,
		.proc = thread->proc,
		.tr = tr,
		.buffers_size = buffers_size,
		.is_reply = is_reply,
		.oneway = !is_reply && tr->flags & TF_ONE_WAY,
		.debug_id = binder_thread_next_id(thread),
		.start_ns = host_now_ns(),
		.why.ret = BR_OK,
	};
	int err;

	binder_stage(HOST_STAGE_WR_IN, thread, s.debug_id, 0);
	err = is_reply ? find_caller(&s) : find_target(&s);
	if (!err)
		err = send_build(&s);
	if (!err)
		err = send_queue(&s);
	if (err) {
		send_undo(&s);
		return_failure(&s);
		notify_system(&s, s.why.ret);
	}
	log_transaction(&s);
	put_target(&s);
}
