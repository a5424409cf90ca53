// SPDX-License-Identifier: GPL-2.0
/*
 * All objects are visited in the order of the stream, so that each gets its number; then each is
 * written by the table of its record, transactions behind all that they refer to. What has no list
 * of its own (transactions, completions, notices that were cleared) is found where it is queued.
 *
 * Nothing changes meanwhile, so no lock is taken. A call that was left behind is in an operation of
 * the host, which it called with no lock held.
 */
#include "state/state_stream.h"

/* ---- visiting ------------------------------------------------------------------------ */

/* Gives @object the next number of its kind, unless it has one. */
static void visit_object(struct state_writer *w, enum state_kind kind, void *object)
{
	u8 byte = (u8)kind;

	if (w->err || state_number_of(&w->objects, kind, object))
		return;
	state_add(&w->order, &byte, sizeof(byte));
	if (w->order.failed || !state_objects_add(&w->objects, kind, object))
		w->err = -ENOMEM;
}

static void visit_works(struct state_writer *w, struct bl_list *todo)
{
	struct binder_work *work;

	bl_for_each(work, todo, link) {
		enum state_kind kind = state_works[work->type].kind;

		if (kind == STATE_TRANSACTION || kind == STATE_NOTICE)
			visit_object(w, kind, state_object_of_work(work));
	}
}

static void visit_stack(struct state_writer *w, struct binder_thread *thread)
{
	struct binder_transaction *t = thread->stack;

	while (t && !w->err) {
		visit_object(w, STATE_TRANSACTION, t);
		if (binder_transaction_is_for_racy(t, thread)) {
			if (!w->err && !state_objects_add(&w->objects, STATE_SERVED, t))
				w->err = -ENOMEM;
			t = t->to_parent;
		} else {
			t = t->from_parent;
		}
	}
}

static void visit_buffer(struct state_writer *w, struct binder_buffer *buffer)
{
	visit_object(w, STATE_BUFFER, buffer);
	if (buffer->transaction)
		visit_object(w, STATE_TRANSACTION, buffer->transaction);
}

static void visit_thread(struct state_writer *w, struct binder_thread *thread)
{
	visit_object(w, STATE_THREAD, thread);
	if (thread->freeing)
		visit_buffer(w, thread->freeing);
	visit_works(w, &thread->todo);
	visit_stack(w, thread);
}

static void visit_node(struct state_writer *w, struct binder_node *node)
{
	binder_assert_private(&node->lock);
	visit_object(w, STATE_NODE, node);
	visit_works(w, &node->async_todo);
}

static void visit_ref(struct state_writer *w, struct binder_ref *ref)
{
	visit_object(w, STATE_REF, ref);
	if (ref->death)
		visit_object(w, STATE_NOTICE, ref->death);
	if (ref->freeze)
		visit_object(w, STATE_NOTICE, ref->freeze);
}

static void visit_proc(struct state_writer *w, struct binder_proc *proc)
{
	struct buffer_range *range;
	struct bt_node *n;

	binder_assert_private(&proc->outer_lock);
	binder_assert_private(&proc->inner_lock);
	binder_assert_private(&proc->alloc.lock);
	visit_object(w, STATE_PROC, proc);
	if (!w->err && !state_objects_add(&w->objects, STATE_PIDS, state_pid_key(proc->pid)))
		w->err = -ENOMEM;
	for (range = range_first(&proc->alloc.space); range; range = range_next(range))
		visit_buffer(w, base_container_of(range, struct binder_buffer, range));
	bt_for_each(n, &proc->threads)
		visit_thread(w, bt_entry(n, struct binder_thread, by_tid));
	bt_for_each(n, &proc->nodes)
		visit_node(w, bt_entry(n, struct binder_node, by_ptr));
	bt_for_each(n, &proc->refs_by_desc)
		visit_ref(w, bt_entry(n, struct binder_ref, by_desc));
	visit_works(w, &proc->todo);
	visit_works(w, &proc->delivered_death);
	visit_works(w, &proc->delivered_freeze);
}

static void visit_all(struct state_writer *w)
{
	struct binder_context *context;
	struct binder_proc *proc;
	struct binder_node *node;
	u32 i;

	state_assert_private_world();
	bl_for_each(context, &binder_world.contexts, world_link)
		visit_object(w, STATE_CONTEXT, context);
	bl_for_each(node, &binder_world.dead_nodes, dead_link)
		visit_node(w, node);
	bl_for_each(proc, &binder_world.procs, world_link)
		visit_proc(w, proc);
	/* A call whose sender died while it waited keeps the call that the sender was serving. */
	for (i = 0; i < w->objects.of[STATE_TRANSACTION].nr && !w->err; i++) {
		struct binder_transaction *t = state_object_at(&w->objects, STATE_TRANSACTION, i);

		binder_assert_private(&t->lock);
		if (!t->from && t->from_parent)
			visit_object(w, STATE_TRANSACTION, t->from_parent);
	}
}

/* ---- fields -------------------------------------------------------------------------- */

static void write_field(struct state_writer *w, const struct state_field *field, void *object)
{
	struct state_part part = { .w = w };
	size_t begin;

	if (field == binder_state_lost) {
		state_add_number(&w->stream, 0); /* as a number, or as the size of a part */
	} else if (!field->is_part) {
		state_pass_field(&part, field, object);
	} else {
		begin = state_part_begin(&w->stream);
		state_pass_field(&part, field, object);
		state_part_end(&w->stream, begin);
	}
}

/* ---- records ------------------------------------------------------------------------- */

static void put_record(struct state_writer *w, enum state_kind kind, void *object)
{
	const struct state_record *record = &state_records[kind];
	u32 version = 1, i;
	size_t begin;

	for (i = 0; i < record->nr; i++) {
		u32 since = record->fields[i].since;

		if (since > version && since <= w->version)
			version = since;
	}
	state_add_number(&w->stream, kind);
	state_add_number(&w->stream, version);
	begin = state_part_begin(&w->stream);
	for (i = 0; i < record->nr && !w->err; i++) {
		if (record->fields[i].since <= w->version)
			write_field(w, &record->fields[i], object);
	}
	/* The end says how many records there are of each kind. */
	for (i = STATE_CONTEXT; kind == STATE_END && i <= STATE_TRANSACTION; i++)
		state_add_number(&w->stream, w->objects.of[i].nr);
	state_part_end(&w->stream, begin);
	if (w->stream.failed)
		w->err = -ENOMEM;
}

static void put_objects(struct state_writer *w)
{
	u32 put[STATE_KINDS] = { 0 }, i;

	for (i = 0; i < w->order.used; i++) {
		enum state_kind kind = (enum state_kind)w->order.bytes[i];

		if (kind != STATE_TRANSACTION)
			put_record(w, kind, state_object_at(&w->objects, kind, put[kind]++));
	}
	for (i = 0; i < w->objects.of[STATE_TRANSACTION].nr; i++)
		put_record(w, STATE_TRANSACTION,
			   state_object_at(&w->objects, STATE_TRANSACTION, i));
}

static void put_logs(struct state_writer *w)
{
	struct state_log log = { 0 };
	u32 nr;

	for (log.ring = 0; log.ring <= BINDER_LOG_RINGS; log.ring++) {
		for (nr = 0; binder_log_get(log.ring, nr, &log.entry, log.context); nr++)
			put_record(w, STATE_LOG, &log);
	}
}

/* ---- streams ------------------------------------------------------------------------- */

int binder_state_write(u32 version, struct binder_state *state)
{
	struct state_writer w = { .version = version };

	binder_assert_unlocked();
	if (version < BINDER_STATE_OLDEST || version > BINDER_STATE_VERSION)
		w.err = -EINVAL;
	state_add(&w.stream, STATE_MAGIC, STATE_MAGIC_SIZE);
	state_add_number(&w.stream, version);
	if (!w.err)
		visit_all(&w);
	if (!w.err) {
		put_record(&w, STATE_WORLD, &binder_world);
		put_objects(&w);
		put_logs(&w);
	}
	if (!w.err)
		put_record(&w, STATE_END, NULL);
	state_objects_free(&w.objects);
	state_bytes_free(&w.order);
	if (w.err)
		state_bytes_free(&w.stream);
	/* The stream becomes the caller's, unless there was not enough memory for it. */
	*state = (struct binder_state){ w.stream.bytes, w.stream.used };
	return w.err;
}
