// SPDX-License-Identifier: GPL-2.0
/*
 * A stream may be damaged, and the engine trusts its own structures. So everything that it relies
 * on is checked here, in one pass over each kind of object: who owns a transaction, what lists may
 * contain, which counts there must be. Counts are made anew from what there is, and are never
 * smaller in a sound stream. What counts have beyond that, and transactions that nobody has, are
 * what calls that were left behind held; they stay as they are until binder_state_settle().
 */
#include "state/state_stream.h"

/* Who has a transaction. */
enum {
	MARK_QUEUED = 0x01, /* it is in a todo list */
	MARK_BEHIND = 0x02, /* ... behind another one-way call of the node */
	MARK_SENT = 0x04,   /* it is on the stack of its sender */
	MARK_SERVED = 0x08, /* it is on the stack of its receiver */
	MARK_KEPT = 0x10,   /* by a call that was made for it, whose sender died */
	MARK_TOP = 0x20,    /* it is the innermost one of a stack */
};

/* What was found of an object. */
struct found {
	u8 marks; /* a transaction's; a notice's is 1: a reference has it */
	/* what explains the counts of a node, and of a process */
	u32 refs, strong_refs;
	u32 local_strong, local_weak;
	u32 pins, held_pins;
	bool busy;
	s32 outstanding;
};

struct tally {
	struct state_reader *r;
	struct found *found[STATE_KINDS]; /* by number */
	u32 unread; /* completions of the present list */
	u32 most;   /* transactions */
	u32 refs;   /* in the lists of their nodes */
	u64 serial, last_serial;
};

static struct found *found_of(struct tally *c, enum state_kind kind, const void *object)
{
	return &c->found[kind][state_number_of(&c->r->objects, kind, object)];
}

static struct found *tally_of(struct tally *c, const struct binder_node *node)
{
	return found_of(c, STATE_NODE, node);
}

static u8 *marks_of(struct tally *c, const struct binder_transaction *t)
{
	return &found_of(c, STATE_TRANSACTION, t)->marks;
}

static struct binder_proc *tally_owner(const struct binder_node *node)
{
	binder_assert_private(&node->lock);
	return node->proc;
}

static struct binder_thread *tally_sender(const struct binder_transaction *t)
{
	binder_assert_private(&t->lock);
	return t->from;
}

struct state_left state_left;

void state_left_free(void)
{
	state_bytes_free(&state_left.excess);
	state_bytes_free(&state_left.loose);
	state_left = (struct state_left){ { NULL } };
}

static void refuse_object(struct tally *c, enum state_kind kind, const void *object,
			  const char *what)
{
	state_fail_at(c->r, -EINVAL, kind, state_number_of(&c->r->objects, kind, object), what);
}

static void add_left(struct tally *c, struct state_bytes *to, const void *left, size_t size)
{
	state_add(to, left, size);
	if (to->failed)
		state_fail(c->r, -ENOMEM, "no memory");
}

static void add_loose(struct tally *c, const struct state_loose *loose)
{
	add_left(c, &state_left.loose, loose, sizeof(*loose));
}

static struct binder_proc *proc_of_buffer(struct tally *c, const struct binder_buffer *buffer)
{
	return state_proc_of(c->r, state_number_of(&c->r->objects, STATE_BUFFER, buffer));
}

static bool is_oneway(const struct binder_transaction *t)
{
	return !t->is_reply && t->flags & TF_ONE_WAY;
}

/* ---- todo lists ---------------------------------------------------------------------- */

/* A transaction that is to be delivered in @proc, whose buffer it has. */
static bool is_deliverable(struct tally *c, const struct binder_transaction *t,
			   const struct binder_proc *proc)
{
	const struct binder_buffer *b = t->buffer;

	return t->to_proc == proc && b && b->transaction == t && proc_of_buffer(c, b) == proc &&
	       !b->user_free && !b->claimed && !b->released && b->async == is_oneway(t) &&
	       (t->is_reply || (!t->to_thread && b->target_node));
}

/* @thread: whose list it is, or NULL; @node: of its one-way calls, or NULL. */
static void check_queued(struct tally *c, const struct binder_transaction *t,
			 const struct binder_proc *proc, const struct binder_thread *thread,
			 const struct binder_node *node)
{
	bool good = is_deliverable(c, t, proc);

	if (t->is_reply)
		good &= thread && t->to_thread == thread;
	if (good && node)
		good = is_oneway(t) && t->buffer->target_node == node;
	if (!good)
		refuse_object(c, STATE_TRANSACTION, t, "it is queued where it cannot be");
	*marks_of(c, t) |= node ? MARK_QUEUED | MARK_BEHIND : MARK_QUEUED;
}

static void check_todo(struct tally *c, const struct bl_list *todo,
		       const struct binder_proc *proc, const struct binder_thread *thread)
{
	const struct binder_work *work;
	bool good = true;

	bl_for_each(work, todo, link) {
		if (work->type == WORK_TRANSACTION)
			check_queued(c, bl_entry(work, struct binder_transaction, work), proc,
				     thread, NULL);
		else if (work->type >= WORK_DEATH)
			good &= bl_entry(work, struct binder_notice, work)->proc == proc;
		else if (work->type == WORK_NODE)
			good &= tally_owner(bl_entry(work, struct binder_node, work)) == proc;
		else if (work->type <= WORK_COMPLETE_SPAM)
			c->unread++;
	}
	if (!good)
		refuse_object(c, STATE_PROC, proc, "work of another process is queued");
}

static void check_delivered(struct tally *c, const struct binder_proc *proc,
			    const struct bl_list *list, u8 type, u8 cleared)
{
	const struct binder_work *work;

	bl_for_each(work, list, link) {
		const struct binder_notice *notice = bl_entry(work, struct binder_notice, work);

		if ((work->type != type && work->type != cleared) || notice->proc != proc)
			refuse_object(c, STATE_PROC, proc, "the list of delivered notices");
	}
}

/* ---- threads ------------------------------------------------------------------------- */

static bool is_error(const struct binder_error *error)
{
	static const u32 codes[] = { BR_ERROR, BR_DEAD_REPLY, BR_FAILED_REPLY, BR_FROZEN_REPLY,
				     BR_TRANSACTION_COMPLETE };
	u32 i;

	if (error->cmd == BR_OK)
		return !bl_linked(&error->work.link);
	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (error->cmd == codes[i])
			return bl_linked(&error->work.link);
	}
	return false;
}

bool state_is_made_for(const struct binder_transaction *inner, const struct binder_transaction *t,
		       u32 most)
{
	while (inner && inner != t && most--)
		inner = inner->from_parent;
	return inner == t;
}

/*
 * A thread waits for one call at a time; what it serves meanwhile was made for that call, so that
 * the call cannot end before.
 */
static void check_stack(struct tally *c, const struct binder_thread *thread)
{
	const struct binder_transaction *t = thread->stack, *above = NULL;
	bool above_is_sent = false, good = true;

	while (t && good) {
		bool served = binder_transaction_is_for_racy(t, thread);
		u8 mark = served ? MARK_SERVED : MARK_SENT;

		good = !(*marks_of(c, t) & mark) && !t->is_reply && !is_oneway(t);
		if (served)
			good &= t->to_proc == thread->proc && !bl_linked(&t->work.link);
		else
			good &= tally_sender(t) == thread && !above_is_sent &&
				(!above || state_is_made_for(above, t, c->most));
		*marks_of(c, t) |= mark;
		if (!above)
			*marks_of(c, t) |= MARK_TOP;
		above = t;
		above_is_sent = !served;
		t = served ? t->to_parent : t->from_parent;
	}
	if (!good)
		refuse_object(c, STATE_THREAD, thread, "its stack of calls");
}

static void check_thread(struct tally *c, struct binder_thread *thread)
{
	const struct binder_buffer *freeing = thread->freeing;
	const struct state_loose loose = { .thread = thread };
	bool good = is_error(&thread->return_error) && is_error(&thread->reply_error);

	if (bl_linked(&thread->waiting_link))
		good &= thread->wait == WAIT_READ;
	if (thread->freeze_target)
		good &= thread->wait == WAIT_FREEZE;
	good &= bl_linked(&thread->freeze_link) == (thread->freeze_target != NULL);
	if (freeing) {
		good &= proc_of_buffer(c, freeing) == thread->proc && freeing->claimed;
		add_loose(c, &loose);
	}
	if (!good)
		refuse_object(c, STATE_THREAD, thread, "what it waits for");
	c->unread = 0;
	check_todo(c, &thread->todo, thread->proc, thread);
	thread->nr_unread = c->unread;
	state_left.completions += c->unread;
	check_stack(c, thread);
}

static void check_waiters(struct tally *c, const struct binder_proc *proc)
{
	const struct binder_thread *thread;
	bool good = true;

	binder_assert_private(&proc->inner_lock);
	bl_for_each(thread, &proc->waiting_threads, waiting_link)
		good &= thread->proc == proc;
	bl_for_each(thread, &proc->freeze_waiters, freeze_link)
		good &= thread->freeze_target == proc;
	if (!good)
		refuse_object(c, STATE_PROC, proc, "threads that wait");
}

/* ---- processes, contexts ------------------------------------------------------------- */

static void check_proc(struct tally *c, struct binder_proc *proc)
{
	binder_assert_private(&proc->inner_lock);
	if (proc->serial <= c->serial || proc->serial > c->last_serial)
		refuse_object(c, STATE_PROC, proc, "the order of the processes");
	c->serial = proc->serial;
	check_todo(c, &proc->todo, proc, NULL);
	check_delivered(c, proc, &proc->delivered_death, WORK_DEATH, WORK_DEATH_AND_CLEAR);
	check_delivered(c, proc, &proc->delivered_freeze, WORK_FREEZE, WORK_FREEZE_CLEARED);
	check_waiters(c, proc);
}

static void check_context(struct tally *c, struct binder_context *context)
{
	struct binder_node *node;

	binder_assert_private(&context->lock);
	node = context->manager;
	if (!node)
		return;
	binder_assert_private(&node->lock);
	if (!node->proc || !node->is_manager || node->proc->context != context)
		refuse_object(c, STATE_CONTEXT, context, "its manager");
	tally_of(c, node)->pins++;
}

/* ---- references ---------------------------------------------------------------------- */

/* Each notice belongs to one reference, or is in a list until its last return is read. */
static bool take_notice(struct tally *c, const struct binder_ref *ref,
			const struct binder_notice *notice, u8 type)
{
	u8 *mark;

	if (!notice)
		return true;
	mark = &found_of(c, STATE_NOTICE, notice)->marks;
	if (*mark || notice->work.type != type || notice->proc != ref->proc)
		return false;
	*mark = 1;
	return true;
}

static void check_ref(struct tally *c, const struct binder_ref *ref)
{
	if ((!ref->strong && !ref->weak) || !bl_linked(&ref->node_link) ||
	    !take_notice(c, ref, ref->death, WORK_DEATH) ||
	    !take_notice(c, ref, ref->freeze, WORK_FREEZE))
		refuse_object(c, STATE_REF, ref, "its counts, or its notices");
}

static void check_notice(struct tally *c, const struct binder_notice *notice)
{
	u8 type = notice->work.type;
	bool cleared = type == WORK_DEATH_AND_CLEAR || type == WORK_DEATH_CLEARED ||
		       type == WORK_FREEZE_CLEARED;

	if (!found_of(c, STATE_NOTICE, notice)->marks &&
	    (!cleared || !bl_linked(&notice->work.link)))
		refuse_object(c, STATE_NOTICE, notice, "nothing refers to it");
}

/* ---- buffers ------------------------------------------------------------------------- */

static void check_resources(struct tally *c, const struct binder_buffer *b,
			    const struct binder_proc *proc)
{
	u32 i;

	for (i = 0; i < b->nr_resources; i++) {
		struct binder_node *node = b->resources[i].node;

		if (!node)
			continue;
		if (tally_owner(node) != proc)
			refuse_object(c, STATE_BUFFER, b, "an object of another process");
		tally_of(c, node)->held_pins++;
		tally_of(c, node)->pins++;
		if (b->resources[i].strong)
			tally_of(c, node)->local_strong++;
		else
			tally_of(c, node)->local_weak++;
	}
}

static void check_buffer(struct tally *c, struct binder_buffer *b)
{
	struct binder_proc *proc = proc_of_buffer(c, b);
	const struct binder_transaction *t = b->transaction;
	struct state_loose loose = { .buffer = b, .proc = proc };

	if ((t && (t->buffer != b || b->claimed || (t->to_proc && t->to_proc != proc))) ||
	    (b->target_node && tally_owner(b->target_node) != proc) || (b->released && !b->claimed))
		refuse_object(c, STATE_BUFFER, b, "its transaction, or its node");
	check_resources(c, b, proc);
	if (b->claimed || (!t && !b->user_free))
		add_loose(c, &loose);
	if (!b->target_node)
		return;
	tally_of(c, b->target_node)->local_strong++;
	/* Behind another one, or not queued yet, it does not make the node busy. */
	if (b->async && !b->claimed &&
	    (t ? t->to_proc && !(*marks_of(c, t) & MARK_BEHIND) : b->user_free))
		tally_of(c, b->target_node)->busy = true;
}

/* ---- transactions -------------------------------------------------------------------- */

static bool check_files(const struct binder_transaction *t)
{
	const struct binder_buffer *b = t->buffer;
	u32 i;

	for (i = 0; b && i < t->nr_files; i++) {
		const struct binder_file_slot *slot = &t->files[i];

		if (slot->off < b->range.off || b->range.size < sizeof(u32) ||
		    slot->off - b->range.off > b->range.size - sizeof(u32))
			return false;
		if (slot->resource != NO_RESOURCE &&
		    (slot->resource >= b->nr_resources ||
		     b->resources[slot->resource].kind != RESOURCE_FD))
			return false;
	}
	return true;
}

/* A call whose sender died keeps the one that the sender was serving. */
static void check_kept(struct tally *c, const struct binder_transaction *t)
{
	const struct binder_transaction *kept = tally_sender(t) ? NULL : t->from_parent;
	u8 *marks = kept ? marks_of(c, kept) : NULL;

	if (!kept)
		return;
	if (t->is_reply || is_oneway(t) || kept->is_reply || is_oneway(kept) || kept == t ||
	    *marks & (MARK_QUEUED | MARK_SERVED | MARK_KEPT) || kept->to_proc || kept->to_thread ||
	    kept->buffer)
		refuse_object(c, STATE_TRANSACTION, t, "the call that it was made for");
	/* What the sender of the kept call serves meanwhile was made for it by way of @t. */
	if (*marks & MARK_SENT && !(*marks & MARK_TOP) && !(*marks_of(c, t) & MARK_SERVED))
		refuse_object(c, STATE_TRANSACTION, t, "the call that it was made for");
	*marks |= MARK_KEPT;
}

/* Is @t, which nobody has, what a call that was left behind would leave? */
static bool check_loose(struct tally *c, const struct binder_transaction *t)
{
	const struct binder_thread *thread = t->to_thread;

	if (thread && !t->is_reply)
		return t->to_proc == thread->proc && !is_oneway(t); /* it was being replied to */
	if (t->to_proc) /* it was being delivered */
		return is_deliverable(c, t, t->to_proc) &&
		       (!t->is_reply || (thread && thread->proc == t->to_proc));
	if (t->buffer) /* it was being sent */
		return !tally_sender(t) && !t->from_parent && !thread && !t->buffer->user_free;
	return tally_sender(t);
}

static void check_transaction(struct tally *c, struct binder_transaction *t)
{
	struct state_loose loose = { .t = t, .buffer = t->buffer };
	u8 marks = *marks_of(c, t);
	bool delivered = marks & MARK_SERVED || (t->to_thread && !t->is_reply);
	bool good = check_files(t) && (!t->counted || t->to_proc) &&
		    (!t->buffer || (t->buffer->transaction == t &&
				    t->buffer->user_free == delivered));

	if (tally_sender(t))
		good &= (marks & MARK_SENT) != 0;
	if (t->to_proc && t->counted)
		found_of(c, STATE_PROC, t->to_proc)->outstanding++;
	if (!(marks & (MARK_QUEUED | MARK_SERVED | MARK_KEPT))) {
		good &= check_loose(c, t);
		loose.proc = t->buffer ? proc_of_buffer(c, t->buffer) : NULL;
		add_loose(c, &loose);
	}
	if (!good)
		refuse_object(c, STATE_TRANSACTION, t, "nothing refers to it as it should");
}

/* ---- counts ------------------------------------------------------------------------- */

static void count_refs(struct tally *c, const struct binder_node *node)
{
	struct found *tally = tally_of(c, node);
	const struct binder_ref *ref;

	binder_assert_private(&node->lock);
	bl_for_each(ref, &node->refs, node_link) {
		if (ref->node != node)
			refuse_object(c, STATE_NODE, node, "a handle of another node");
		tally->refs++;
		c->refs++;
		tally->strong_refs += ref->strong > 0;
	}
}

/* @count less what explains it; refuses the node if that is more. */
static u32 excess_of(struct tally *c, const struct binder_node *node, u32 count,
		     u32 explained)
{
	if (count < explained)
		refuse_object(c, STATE_NODE, node, "a count is too small");
	return count - explained;
}

static void check_node(struct tally *c, struct binder_node *node)
{
	struct found *tally = tally_of(c, node);
	s32 pins = host_atomic_read(&node->pins);
	struct state_excess excess = { .node = node };

	binder_assert_private(&node->lock);
	count_refs(c, node);
	tally->local_strong += node->pending_strong;
	tally->local_weak += node->pending_weak;
	if (node->proc) {
		tally->local_strong += node->is_manager;
		tally->local_weak += node->is_manager;
	} else {
		/* Its counts ended with its owner. */
		tally->local_strong = 0;
		tally->local_weak = 0;
	}
	if (pins < 0 || node->local_pins < 0)
		refuse_object(c, STATE_NODE, node, "a count is wrong");
	excess.internal_strong = excess_of(c, node, node->internal_strong, tally->strong_refs);
	excess.local_strong = excess_of(c, node, node->local_strong, tally->local_strong);
	excess.local_weak = excess_of(c, node, node->local_weak, tally->local_weak);
	excess.pins = excess_of(c, node, (u32)pins, tally->pins);
	excess.local_pins = excess_of(c, node, (u32)node->local_pins, tally->held_pins);
	excess.busy = node->proc && node->async_busy && !tally->busy;
	if (excess.local_pins > excess.pins)
		refuse_object(c, STATE_NODE, node, "a count is wrong");
	/* Settling ends its last weak reference: the node is freed, or its owner is notified. */
	excess.unused = !tally->refs && !pins && !node->local_strong && !node->local_weak &&
			!bl_linked(&node->work.link);
	if (excess.busy || state_has_excess_counts(&excess))
		add_left(c, &state_left.excess, &excess, sizeof(excess));
}

static void check_outstanding(struct tally *c, struct binder_proc *proc)
{
	struct state_excess excess = { .proc = proc };
	s32 explained = found_of(c, STATE_PROC, proc)->outstanding;

	binder_assert_private(&proc->inner_lock);
	if (proc->outstanding_txns < explained) {
		refuse_object(c, STATE_PROC, proc, "more calls are outstanding than it counts");
		return;
	}
	excess.outstanding = proc->outstanding_txns - explained;
	if (excess.outstanding)
		add_left(c, &state_left.excess, &excess, sizeof(excess));
}

/* ---- all of them --------------------------------------------------------------------- */

static void check_node_todo(struct tally *c, struct binder_node *node)
{
	const struct binder_work *work;

	binder_assert_private(&node->lock);
	bl_for_each(work, &node->async_todo, link)
		check_queued(c, bl_entry(work, struct binder_transaction, work), node->proc, NULL,
			     node);
}

#define CHECK_EACH(c, kind, check) \
	do { \
		u32 at; \
		for (at = 0; at < (c)->r->objects.of[kind].nr; at++) \
			check(c, state_object_at(&(c)->r->objects, kind, at)); \
	} while (0)

static void check_all(struct tally *c)
{
	CHECK_EACH(c, STATE_CONTEXT, check_context);
	CHECK_EACH(c, STATE_PROC, check_proc);
	CHECK_EACH(c, STATE_THREAD, check_thread);
	CHECK_EACH(c, STATE_NODE, check_node_todo);
	CHECK_EACH(c, STATE_REF, check_ref);
	CHECK_EACH(c, STATE_NOTICE, check_notice);
	CHECK_EACH(c, STATE_BUFFER, check_buffer);
	CHECK_EACH(c, STATE_TRANSACTION, check_kept);
	CHECK_EACH(c, STATE_TRANSACTION, check_transaction);
	CHECK_EACH(c, STATE_NODE, check_node);
	CHECK_EACH(c, STATE_PROC, check_outstanding);
	/* Each is in one list at most, so all are in that of their node. */
	if (c->refs != c->r->objects.of[STATE_REF].nr)
		state_fail_at(c->r, -EINVAL, STATE_REF, c->refs, "a handle is in no list");
	state_left.refs = c->refs;
	state_left.transactions = c->most;
}

void state_check(struct state_reader *r)
{
	struct tally c = { .r = r, .most = r->objects.of[STATE_TRANSACTION].nr };
	u32 kind;

	state_left_free();
	binder_pi_mutex_lock(&binder_world.lock);
	c.last_serial = binder_world.last_serial;
	binder_pi_mutex_unlock(&binder_world.lock);
	for (kind = STATE_CONTEXT; kind <= STATE_TRANSACTION && !r->err; kind++) {
		c.found[kind] = host_alloc_large(NULL,
						 (r->objects.of[kind].nr + 1) * sizeof(**c.found));
		if (!c.found[kind])
			state_fail(r, -ENOMEM, "no memory");
	}
	if (!r->err)
		check_all(&c);
	for (kind = STATE_CONTEXT; kind <= STATE_TRANSACTION; kind++)
		host_free(c.found[kind]);
}
