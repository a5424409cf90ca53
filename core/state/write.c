// SPDX-License-Identifier: GPL-2.0
/*
 * All objects are visited in the order of the stream, so that each gets its number; then each is
 * written by the table of its record, transactions behind all that they refer to. What has no list
 * of its own (transactions, completions, notices that were cleared) is found where it is queued.
 *
 * Nothing changes meanwhile, so no lock is taken. A call that was left behind is in an operation of
 * the host, which it called with no lock held.
 *
 * Tested in: core/state/state_test.c
 */
#include "state/state_stream.h"

static const char magic[8] = "anybindr";

/* ---- visiting ------------------------------------------------------------------------ */

/* Gives @object the next number of its kind, unless it has one. */
static void visit_object(struct state_writer *w, enum state_kind kind, void *object)
{
	u8 byte = (u8)kind;

	if (w->err || state_number_of(&w->objects, object))
		return;
	state_add(&w->order, &byte, sizeof(byte));
	if (w->order.failed || !state_objects_add(&w->objects, kind, object))
		w->err = -ENOMEM;
}

static void visit_transaction(struct state_writer *w, struct binder_transaction *t)
{
	visit_object(w, STATE_TRANSACTION, t);
}

/* Gives a number to something that is no object of a record. */
static void set_number(struct state_writer *w, const void *key, u32 number)
{
	if (!state_number_set(&w->objects.numbers, key, number))
		w->err = -ENOMEM;
}

static void visit_works(struct state_writer *w, struct bl_list *todo)
{
	struct binder_work *work;

	bl_for_each(work, todo, link) {
		if (work->type == WORK_TRANSACTION)
			visit_transaction(w, bl_entry(&work->link, struct binder_transaction,
						      work.link));
		else if (work->type >= WORK_DEATH)
			visit_object(w, STATE_NOTICE,
				     bl_entry(&work->link, struct binder_notice, work.link));
	}
}

static void visit_stack(struct state_writer *w, struct binder_thread *thread)
{
	struct binder_transaction *t = thread->stack;

	while (t && !w->err) {
		visit_transaction(w, t);
		if (binder_transaction_is_for_racy(t, thread)) {
			set_number(w, state_served_key(t), 1);
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
		visit_transaction(w, buffer->transaction);
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
	set_number(w, state_pid_key(proc->pid), w->objects.nr[STATE_PROC]);
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
	for (i = 0; i < w->objects.nr[STATE_TRANSACTION] && !w->err; i++) {
		struct binder_transaction *t = state_object_at(&w->objects, STATE_TRANSACTION, i);

		binder_assert_private(&t->lock);
		if (!t->from && t->from_parent)
			visit_transaction(w, t->from_parent);
	}
}

/* ---- fields -------------------------------------------------------------------------- */

static u64 load_number(const void *at, u8 size)
{
	if (size == sizeof(u8))
		return *(const u8 *)at;
	if (size == sizeof(u16))
		return *(const u16 *)at;
	if (size == sizeof(u32))
		return *(const u32 *)at;
	return *(const u64 *)at;
}

static void write_number(struct state_writer *w, const struct state_field *field, const void *at)
{
	state_add_number(&w->record, load_number(at, field->size));
}

static void write_atomic(struct state_writer *w, const struct state_field *field, const void *at)
{
	(void)field;
	state_add_number(&w->record, (u32)host_atomic_read(at));
}

static void write_link(struct state_writer *w, const struct state_field *field, const void *at)
{
	(void)field;
	state_add_number(&w->record, state_number_of(&w->objects, *(void *const *)at));
}

static void write_list(struct state_writer *w, const struct state_field *field, const void *at)
{
	const struct bl_list *list = at, *link;
	u32 number;

	for (link = list->next; link != list; link = link->next) {
		number = state_number_of(&w->objects, (const char *)link - field->element);
		/* A call that was left behind gave this handle to a process that has ended. */
		if (!number && field->kind == STATE_REF)
			continue;
		state_add_number(&w->record, number);
	}
}

/* The number by which the reader finds @work again, which is in @todo. */
static u32 work_number(const struct state_writer *w, const struct binder_work *work,
		       const struct bl_list *todo)
{
	const struct binder_thread *thread;
	const void *object;

	switch (work->type) {
	case WORK_COMPLETE:
	case WORK_COMPLETE_FROZEN:
	case WORK_COMPLETE_SPAM:
		return 0;
	case WORK_ERROR:
		thread = base_container_of(todo, const struct binder_thread, todo);
		return work == &thread->return_error.work ? 1 : 2;
	case WORK_NODE:
		object = bl_entry(work, struct binder_node, work);
		break;
	case WORK_TRANSACTION:
		object = bl_entry(work, struct binder_transaction, work);
		break;
	default:
		object = bl_entry(work, struct binder_notice, work);
	}
	return state_number_of(&w->objects, object);
}

static void write_works(struct state_writer *w, const struct state_field *field, const void *at)
{
	const struct bl_list *todo = at;
	const struct binder_work *work;

	(void)field;
	bl_for_each(work, todo, link) {
		state_add_number(&w->record, work->type);
		state_add_number(&w->record, work_number(w, work, todo));
	}
}

static void write_own(struct state_writer *w, const struct state_field *field, const void *object)
{
	struct state_part part = { .w = w };

	field->own->pass(&part, (void *)object);
}

typedef void (*write_function)(struct state_writer *w, const struct state_field *field,
			       const void *at);
static const write_function write_types[FIELD_TYPES] = {
	[FIELD_NUMBER] = write_number, [FIELD_ATOMIC] = write_atomic, [FIELD_LINK] = write_link,
	[FIELD_LIST] = write_list,     [FIELD_WORKS] = write_works,   [FIELD_OWN] = write_own,
};

static void write_field(struct state_writer *w, const struct state_field *field, const void *object)
{
	const void *at = (const char *)object + field->offset;
	struct state_bytes record = w->record;

	if (field == binder_state_lost) {
		state_add_number(&w->record, 0); /* as a number, or as the size of a part */
		return;
	}
	if (!state_is_part(field)) {
		write_types[field->type](w, field, at);
		return;
	}
	/* The part is collected apart, because its size comes first. */
	w->record = w->part;
	w->record.used = 0;
	write_types[field->type](w, field, field->type == FIELD_OWN ? object : at);
	w->part = w->record;
	w->record = record;
	state_add_number(&w->record, w->part.used);
	state_add(&w->record, w->part.bytes, w->part.used);
}

/* ---- records ------------------------------------------------------------------------- */

static void put_record(struct state_writer *w, enum state_kind kind, const void *object)
{
	const struct state_record *record = &state_records[kind];
	u32 version = 1, i;

	w->record.used = 0;
	for (i = 0; i < record->nr && !w->err; i++) {
		const struct state_field *field = &record->fields[i];

		if (field->since > w->version)
			continue;
		if (field->since > version)
			version = field->since;
		write_field(w, field, object);
	}
	/* The end says how many records there are of each kind. */
	for (i = STATE_CONTEXT; kind == STATE_END && i <= STATE_TRANSACTION; i++)
		state_add_number(&w->record, w->objects.nr[i]);
	state_add_number(&w->stream, kind);
	state_add_number(&w->stream, version);
	state_add_number(&w->stream, w->record.used);
	state_add(&w->stream, w->record.bytes, w->record.used);
	if (w->record.failed || w->part.failed || w->stream.failed)
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
	for (i = 0; i < w->objects.nr[STATE_TRANSACTION]; i++)
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
	state_add(&w.stream, magic, sizeof(magic));
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
	state_bytes_free(&w.record);
	state_bytes_free(&w.part);
	if (w.err)
		state_bytes_free(&w.stream);
	/* The stream becomes the caller's, unless there was not enough memory for it. */
	*state = (struct binder_state){ w.stream.bytes, w.stream.used };
	return w.err;
}
