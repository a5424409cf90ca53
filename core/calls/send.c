// SPDX-License-Identifier: GPL-2.0
/*
 * Sending, in four steps: find out who is meant, build the transaction in the
 * receiver's buffer, queue it, complete it.  Each step either succeeds or says
 * why not in one struct binder_result; whatever was taken by then is given back
 * in one place (undo), and the sender hears of it as a return code.
 */
#include "things/context.h"
#include "common/limits.h"
#include "common/cover.h"
#include "things/node.h"
#include "calls/inherit.h"
#include "things/proc.h"
#include "things/ref.h"
#include "reports/report.h"
#include "calls/security.h"
#include "things/stage.h"
#include "things/thread.h"
#include "calls/transaction.h"

#include "base/checked.h"
#include "base/inline.h"
#include "base/unset.h"

/* Everything that one send takes hold of. */
struct send {
	struct binder_thread *thread;
	struct binder_proc *proc;
	const struct binder_transaction_data *tr;
	u64 buffers_size;
	bool is_reply;
	bool oneway;
	u32 debug_id;
	struct binder_result why;
	u32 failure_notice; /* what the sender is told, if the system hears of it too; or BR_OK */
	/* whom it is for, all counted or pinned */
	struct binder_node *node; /* NULL for replies, and once the receiver has the call */
	u32 node_id;
	bool has_node_ref; /* strongly, for the buffer that there will be */
	struct binder_proc *target;
	struct binder_thread *target_thread;	/* reply, nested call; or NULL */
	struct binder_transaction *in_reply_to; /* popped from our stack */
	/* what it is made of */
	struct binder_transaction *t;
	struct binder_work *complete;
	struct binder_buffer *buffer;
	struct binder_secctx secctx;
};

/* ---- step 1: who is meant ----------------------------------------------- */

/* Finds the node's owner, and holds the object strongly for it.  False: it is dead. */
static bool aim_at_node(struct send *s)
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

/* The last call's error is no news any more. */
static void clear_error_ilocked(struct send *s)
{
	s->thread->ee.id = s->debug_id;
	s->thread->ee.command = BR_OK;
	s->thread->ee.param = 0;
}

/* If the owner of the target waits, somewhere up our stack, for an answer from
 * us, then this call is a callback, and the thread that waits must serve it. */
static void find_waiting_thread_ilocked(struct send *s) REQUIRES(&s->proc->inner_lock)
{
	struct binder_transaction *t;

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

/* A call may be made with nothing outstanding, or while serving a call; not
 * while a call of this thread's own waits for its answer or one is to be read. */
static int check_stack(struct send *s)
{
	struct binder_thread *thread = s->thread;
	struct binder_work *first;
	const char *wrong = NULL;

	binder_lock(&s->proc->inner_lock);
	clear_error_ilocked(s);
	first = bl_first_entry(&thread->todo, struct binder_work, link);
	if (first && first->type == WORK_TRANSACTION)
		wrong = "a call while one is waiting to be read by the thread";
	else if (thread->stack && !binder_transaction_is_for(thread->stack, thread))
		wrong = "a call while an earlier one of the thread is unanswered";
	else
		find_waiting_thread_ilocked(s);
	binder_unlock(&s->proc->inner_lock);
	return wrong ? binder_fail(&s->why, BR_FAILED_REPLY, -EPROTO, wrong) : 0;
}

static int find_target(struct send *s)
{
	u32 handle = s->tr->target.handle;
	int err;

	if (handle) {
		s->node = binder_ref_get_node(s->proc, handle, true);
		if (!s->node)
			return binder_fail(&s->why, BR_FAILED_REPLY, -EINVAL,
					   "no such handle, or only a weak one");
	} else {
		s->node = binder_context_get_manager(s->proc->context);
		if (!s->node)
			return binder_fail(&s->why, BR_DEAD_REPLY, -EINVAL, "no context manager");
	}
	if (!aim_at_node(s))
		return binder_fail(&s->why, BR_DEAD_REPLY, -EINVAL, "the owner is dead");
	if (s->target == s->proc || (!handle && s->target->pid == s->proc->pid))
		return binder_fail(&s->why, BR_FAILED_REPLY, -EINVAL, "a call to oneself");
	err = host_may_transact(&s->proc->host, &s->target->host);
	if (err)
		return binder_fail(&s->why, BR_FAILED_REPLY, -EPERM, "not allowed by policy");
	return s->oneway ? 0 : check_stack(s);
}

/* It waits until it is answered or dies, and that is seen again when the answer is queued. */
static bool waits_for_racy(const struct binder_thread *thread,
			   const struct binder_transaction *t) PEEKS;
static bool waits_for_racy(const struct binder_thread *thread, const struct binder_transaction *t)
{
	return thread->stack == t;
}

/* Takes the call that is being answered from our stack and finds its sender. */
static int find_caller(struct send *s)
{
	struct binder_thread *thread = s->thread;
	struct binder_transaction *t;

	binder_lock(&s->proc->inner_lock);
	clear_error_ilocked(s);
	t = thread->stack;
	if (t && binder_transaction_is_for(t, thread)) {
		thread->stack = t->to_parent;
		s->in_reply_to = t;
	}
	binder_unlock(&s->proc->inner_lock);
	if (!s->in_reply_to)
		return binder_fail(&s->why, BR_FAILED_REPLY, -EPROTO,
				   t ? "a reply while a call of the thread is unanswered" :
				       "a reply to no call");
	binder_priority_restore(thread, t);
	s->target_thread = binder_transaction_get_from(t);
	if (!s->target_thread) {
		BINDER_COVER(REPLY_TO_THE_DEAD);
		return binder_fail(&s->why, BR_DEAD_REPLY, -ESRCH, "the caller is dead");
	}
	s->target = s->target_thread->proc;
	binder_proc_get(s->target);
	if (!waits_for_racy(s->target_thread, t)) {
		/* Its stack is in disorder; it will hear of the failure. */
		return binder_fail(&s->why, BR_FAILED_REPLY, -EPROTO,
				   "the caller waits for something else");
	}
	return 0;
}

/* ---- step 2: build it in the receiver's buffer ---------------------------- */

static int reserve_buffer(struct send *s)
{
	const struct binder_transaction_data *tr = s->tr;
	u64 extra = s->buffers_size;
	int err = 0;

	if (s->node && s->node->txn_security_ctx) {
		err = binder_secctx_get(&s->secctx, s->proc);
		if (err)
			return binder_fail(&s->why, BR_FAILED_REPLY, err, "no security context");
	}
	if (!ck_add_u64(extra, s->secctx.room, &extra))
		return binder_fail(&s->why, BR_FAILED_REPLY, -EINVAL, "sizes overflow");
	s->buffer = binder_alloc_new_buffer(&s->target->alloc, &s->target->host, tr->data_size,
				      tr->offsets_size, extra, s->oneway && !s->is_reply,
				      s->proc->pid, &err);
	if (!s->buffer)
		return binder_fail(&s->why, binder_ret_of(err), err, "no buffer in the receiver");
	s->buffer->debug_id = s->debug_id;
	binder_trace_buffer(HOST_TRACE_BUFFER_ALLOCATED, s->buffer);
	s->buffer->clear_on_free = tr->flags & TF_CLEAR_BUF;
	s->buffer->transaction = s->t;
	s->t->buffer = s->buffer;
	if (s->node) {
		/* The buffer keeps the object alive until it is freed. */
		s->buffer->target_node = s->node;
		s->has_node_ref = false;
	}
	if (!s->secctx.room)
		return 0;
	s->t->has_secctx = true;
	err = binder_secctx_store(&s->secctx, &s->target->alloc, s->buffer, &s->t->secctx);
	return err ? binder_fail(&s->why, BR_FAILED_REPLY, err, "security context not stored") : 0;
}

static void trace(const struct send *s)
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

static void describe(struct send *s)
{
	struct binder_transaction *t = s->t;

	t->debug_id = s->debug_id;
	t->code = s->tr->code;
	t->flags = s->tr->flags;
	t->is_reply = s->is_reply;
	t->from_pid = s->proc->pid;
	t->from_tid = s->thread->tid;
	t->start_ns = host_now_ns();
	t->sender_euid = host_sender_euid(&s->proc->host, &s->thread->host, &s->target->host);
	if (!s->is_reply && !s->oneway)
		t->priority = binder_priority_of_sender(s->thread);
	else
		t->priority = s->target->default_priority;
}

/* The completion that this thread read last, or a new one. */
static struct binder_work *take_completion(struct binder_thread *thread)
{
	struct binder_work *work = thread->spare;

	thread->spare = NULL;
	return work ? work : host_alloc(sizeof(*work));
}

static int build(struct send *s)
{
	struct binder_translation x = {
		.thread = s->thread,
		.target = s->target,
		.tr = s->tr,
		.buffers_size = s->buffers_size,
	};
	bool full = s->thread->nr_unread >= BINDER_MAX_UNREAD;
	int err;

	s->t = full ? NULL : binder_transaction_new(s->thread);
	s->complete = full ? NULL : take_completion(s->thread);
	if (s->complete)
		binder_stats_created_by(&s->proc->stats, STAT_COMPLETE);
	if (!s->t || !s->complete)
		return binder_fail(&s->why, BR_FAILED_REPLY, -ENOMEM, "no memory");
	binder_work_init(s->complete, WORK_COMPLETE);
	describe(s);
	trace(s);
	err = reserve_buffer(s);
	if (err)
		return err;
	x.t = s->t;
	x.allow_fds = s->is_reply ? s->in_reply_to->flags & TF_ACCEPT_FDS : s->node->accept_fds;
	return binder_translate(&x, &s->why);
}

/* ---- step 3: queue it ------------------------------------------------------ */

static void complete_ilocked(struct send *s, bool deferred)
{
	s->thread->nr_unread++;
	if (deferred)
		binder_thread_queue_deferred_ilocked(s->thread, s->complete);
	else
		binder_thread_queue_ilocked(s->thread, s->complete);
}

static int queue_reply(struct send *s)
{
	struct binder_thread *to = s->target_thread;
	bool dead;

	binder_lock(&s->proc->inner_lock);
	complete_ilocked(s, false);
	binder_transaction_detach_buffer_ilocked(s->in_reply_to);
	binder_unlock(&s->proc->inner_lock);

	binder_lock(&s->target->inner_lock);
	dead = to->is_dead || to->stack != s->in_reply_to;
	if (!dead) {
		to->stack = s->in_reply_to->from_parent;
		binder_transaction_set_in(s->t, s->target);
		binder_transaction_set_for(s->t, to);
		s->t->counted = true;
		s->target->outstanding_txns++;
		binder_thread_queue_ilocked(to, &s->t->work);
		binder_wake_ilocked(s->target, to, true);
	}
	binder_unlock(&s->target->inner_lock);
	if (dead) {
		BINDER_COVER(REPLY_TOO_LATE);
		binder_lock(&s->proc->inner_lock);
		bl_del(&s->complete->link);
		s->thread->nr_unread--;
		binder_unlock(&s->proc->inner_lock);
		return binder_fail(&s->why, BR_DEAD_REPLY, -ESRCH, "the caller is dead");
	}
	binder_transaction_free_by(s->thread, s->in_reply_to);
	s->in_reply_to = NULL;
	return 0;
}

static int queue_call(struct send *s) NO_TSA /* t->from: nobody else knows t yet */
{
	struct binder_transaction *t = s->t;
	int err;

	binder_lock(&s->proc->inner_lock);
	complete_ilocked(s, true);
	t->from = s->thread;
	t->from_parent = s->thread->stack;
	s->thread->stack = t;
	binder_unlock(&s->proc->inner_lock);

	err = binder_transaction_queue(t, s->node, s->target, s->target_thread, &s->why);
	if (err >= 0) {
		s->node = NULL;
		return 0;
	}
	binder_lock(&s->proc->inner_lock);
	s->thread->stack = t->from_parent;
	bl_del(&s->complete->link);
	s->thread->nr_unread--;
	binder_unlock(&s->proc->inner_lock);
	return err;
}

static int queue_oneway(struct send *s)
{
	bool suspect = s->buffer->oneway_spam_suspect; /* not ours once it is queued */
	int err = binder_transaction_queue(s->t, s->node, s->target, NULL, &s->why);

	if (err < 0)
		return err;
	s->node = NULL;
	if (err > 0) {
		s->complete->type = WORK_COMPLETE_FROZEN;
		s->failure_notice = BR_TRANSACTION_PENDING_FROZEN;
	} else if (suspect) {
		s->complete->type = WORK_COMPLETE_SPAM;
		s->failure_notice = BR_ONEWAY_SPAM_SUSPECT;
	}
	binder_lock(&s->proc->inner_lock);
	clear_error_ilocked(s);
	complete_ilocked(s, false);
	binder_unlock(&s->proc->inner_lock);
	return 0;
}

static int queue(struct send *s)
{
	if (host_trace_stages_wanted())
		binder_stage(HOST_STAGE_ENQ, s->thread, s->debug_id,
			     s->in_reply_to ? s->in_reply_to->debug_id : 0);
	if (s->is_reply)
		return queue_reply(s);
	return s->oneway ? queue_oneway(s) : queue_call(s);
}

/* ---- step 4: the outcome ---------------------------------------------------- */

static void undo(struct send *s)
{
	if (s->buffer) {
		s->t->buffer = NULL;
		s->buffer->transaction = NULL;
		binder_trace_buffer(HOST_TRACE_BUFFER_FAILED, s->buffer);
		binder_buffer_release(s->target, NULL, s->buffer);
	}
	if (s->has_node_ref)
		binder_node_dec(s->node, true, false);
	if (s->complete) {
		host_free(s->complete);
		binder_stats_deleted_by(&s->proc->stats, STAT_COMPLETE);
	}
	if (s->t)
		binder_transaction_free(s->t);
}

/* A failed call is told to the thread itself.  A failed reply is told to the
 * caller, and the thread that replied hears that it is done. */
static void deliver_failure(struct send *s)
{
	struct binder_thread *thread = s->thread;
	u32 told = s->in_reply_to ? BR_TRANSACTION_COMPLETE : s->why.ret;

	host_log(HOST_LOG_USER_ERROR, "%d:%d %s to %d:%d failed: %s (%d at %s:%u)", s->proc->pid,
		 thread->tid, s->is_reply ? "reply" : "call", s->target ? s->target->pid : 0,
		 s->target_thread ? s->target_thread->tid : 0, s->why.why, s->why.err,
		 s->why.file, s->why.line);
	binder_lock(&s->proc->inner_lock);
	if (!s->in_reply_to) {
		thread->ee.id = s->debug_id;
		thread->ee.command = s->why.ret;
		/* Being frozen is told by the command alone. */
		thread->ee.param = s->why.ret == BR_FROZEN_REPLY ? 0 : s->why.err;
	}
	thread->return_error.cmd = told;
	binder_thread_queue_ilocked(thread, &thread->return_error.work);
	binder_unlock(&s->proc->inner_lock);
	/* It left our stack when it was found, and is nobody else's. */
	if (s->in_reply_to)
		binder_transaction_fail(s->in_reply_to, &s->why, true);
}

static inline void log_to(const struct send *s, bool failures)
{
	const struct binder_context *context = s->proc->context;
	struct binder_log_entry *e = binder_log_begin(failures);

	BINDER_KEEP(e); /* the compiler would rather compute where it is for each field */
	e->debug_id = s->debug_id;
	e->call_type = s->is_reply ? LOG_REPLY : s->oneway ? LOG_ONEWAY : LOG_CALL;
	e->from_proc = s->proc->pid;
	e->from_thread = s->thread->tid;
	e->target_handle = s->is_reply ? 0 : s->tr->target.handle;
	e->to_proc = s->target ? s->target->pid : 0;
	e->to_thread = s->target_thread ? s->target_thread->tid : 0;
	e->to_node = s->node_id;
	e->data_size = s->tr->data_size;
	e->offsets_size = s->tr->offsets_size;
	e->ret = s->why.ret;
	e->ret_param = s->why.err;
	e->ret_line = s->why.line;
	host_memcpy(e->context, context->name, context->name_size);
	binder_log_end(e);
}

static void report(const struct send *s)
{
	const struct host_txn_failure failure = {
		.error = s->failure_notice,
		.context = s->proc->context->name,
		.from_pid = s->proc->pid,
		.from_tid = s->thread->tid,
		.to_pid = s->target ? s->target->pid : 0,
		.to_tid = s->target_thread ? s->target_thread->tid : 0,
		.is_reply = s->is_reply,
		.code = s->tr->code,
		.flags = s->tr->flags,
		.data_size = s->tr->data_size,
	};

	host_notify_txn_failure(&failure);
}

/* Takes hold of nothing yet. */
static void begin(struct send *s, struct binder_thread *thread,
		  const struct binder_transaction_data *tr, u64 buffers_size, bool is_reply)
{
	s->thread = thread;
	s->proc = thread->proc;
	s->tr = tr;
	s->buffers_size = buffers_size;
	s->is_reply = is_reply;
	s->oneway = !is_reply && tr->flags & TF_ONE_WAY;
	s->debug_id = binder_next_id();
	s->why.ret = BR_OK;
	s->why.err = 0;
	s->why.line = 0;
	s->failure_notice = BR_OK;
	s->node = NULL;
	s->node_id = 0;
	s->has_node_ref = false;
	s->target = NULL;
	s->target_thread = NULL;
	s->in_reply_to = NULL;
	s->t = NULL;
	s->complete = NULL;
	s->buffer = NULL;
	s->secctx = (struct binder_secctx){ 0 };
}

void binder_transaction_send(struct binder_thread *thread,
			     const struct binder_transaction_data *tr, u64 buffers_size,
			     bool is_reply)
{
	struct send s BINDER_UNSET;
	int err;

	begin(&s, thread, tr, buffers_size, is_reply);
	binder_stage(HOST_STAGE_WR_IN, thread, s.debug_id, 0);
	err = is_reply ? find_caller(&s) : find_target(&s);
	if (!err)
		err = build(&s);
	if (!err)
		err = queue(&s);
	if (err) {
		undo(&s);
		s.failure_notice = s.why.ret;
		deliver_failure(&s);
	}
	if (s.failure_notice != BR_OK)
		report(&s);
	log_to(&s, false);
	if (s.why.ret != BR_OK)
		log_to(&s, true);

	binder_secctx_put(&s.secctx);
	if (s.node)
		binder_node_unpin(s.node);
	if (s.target_thread)
		binder_thread_put(s.target_thread);
	if (s.target)
		binder_proc_put(s.target);
}
