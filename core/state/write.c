// SPDX-License-Identifier: GPL-2.0
/*
 * Writing takes two steps. All objects are visited, in the order of the stream, and get their
 * numbers; what has no list of its own (transactions, completions, notices that were cleared) is
 * found where it is queued. Then each is written by the table of its record.
 *
 * Nothing changes meanwhile, so no lock is taken. A call that was left behind is in an operation of
 * the host, which it called with no lock held.
 *
 * Tested in: core/state/state_test.c
 */
#include "state/fields.h"

#include "calls/transaction.h"
#include "common/translog.h"
#include "state/log.h"
#include "things/context.h"
#include "things/node.h"
#include "things/notice.h"
#include "things/proc.h"
#include "things/ref.h"
#include "things/thread.h"
#include "things/world.h"

static const char magic[8] = "anybindr";

/* ---- visiting ------------------------------------------------------------------------ */

static void add_visit(struct state_writer *w, enum state_kind kind, void *object)
{
	u32 room = w->room_visits ? w->room_visits * 2 : 64;
	struct state_visit *bigger = w->visits;

	if (w->nr_visits == w->room_visits) {
		bigger = host_alloc_large(NULL, room * sizeof(*bigger));
		if (!bigger) {
			w->err = -ENOMEM;
			return;
		}
		if (w->nr_visits)
			host_memcpy(bigger, w->visits, w->nr_visits * sizeof(*bigger));
		host_free(w->visits);
		w->visits = bigger;
		w->room_visits = room;
	}
	w->visits[w->nr_visits++] = (struct state_visit){ kind, object };
}

/* Gives an object its number, unless it has one. */
static void visit_object(struct state_writer *w, enum state_kind kind, void *object)
{
	if (w->err || state_number_of(&w->objects, kind, object))
		return;
	if (!state_objects_add(&w->objects, kind, object)) {
		w->err = -ENOMEM;
		return;
	}
	if (kind != STATE_TRANSACTION) /* they come last */
		add_visit(w, kind, object);
}

static void visit_works(struct state_writer *w, struct bl_list *todo)
{
	struct binder_work *work;

	bl_for_each(work, todo, link) {
		if (work->type == WORK_TRANSACTION)
			visit_object(w, STATE_TRANSACTION,
				     bl_entry(&work->link, struct binder_transaction, work.link));
		else if (work->type >= WORK_DEATH)
			visit_object(w, STATE_NOTICE,
				     bl_entry(&work->link, struct binder_notice, work.link));
	}
}

static void visit_stack(struct state_writer *w, struct binder_thread *thread)
{
	struct binder_transaction *t = thread->stack;

	while (t && !w->err) {
		visit_object(w, STATE_TRANSACTION, t);
		if (binder_transaction_is_for_racy(t, thread)) {
			if (!state_number_set(&w->served, t, 1))
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
	if (!state_number_set(&w->owners, (void *)((size_t)(u32)proc->pid + 1),
			      w->objects.nr[STATE_PROC]))
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

/* A call whose sender died while it waited keeps the call that the sender was serving. */
static void visit_transactions(struct state_writer *w)
{
	u32 i;

	for (i = 0; i < w->objects.nr[STATE_TRANSACTION] && !w->err; i++) {
		struct binder_transaction *t = w->objects.of[STATE_TRANSACTION][i];

		binder_assert_private(&t->lock);
		if (!t->from && t->from_parent)
			visit_object(w, STATE_TRANSACTION, t->from_parent);
		add_visit(w, STATE_TRANSACTION, t);
	}
}

int state_visit_all(struct state_writer *w)
{
	struct binder_context *context;
	struct binder_proc *proc;
	struct binder_node *node;

	binder_pi_mutex_lock(&binder_world.lock);
	add_visit(w, STATE_WORLD, &binder_world);
	bl_for_each(context, &binder_world.contexts, world_link)
		visit_object(w, STATE_CONTEXT, context);
	bl_for_each(node, &binder_world.dead_nodes, dead_link)
		visit_node(w, node);
	bl_for_each(proc, &binder_world.procs, world_link)
		visit_proc(w, proc);
	binder_pi_mutex_unlock(&binder_world.lock);
	visit_transactions(w);
	return w->err;
}

void state_writer_free(struct state_writer *w)
{
	state_objects_free(&w->objects);
	host_free(w->visits);
	state_numbers_free(&w->served);
	state_numbers_free(&w->owners);
	state_bytes_free(&w->out);
	state_bytes_free(&w->part);
	state_bytes_free(&w->chunk);
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
	state_add_number(&w->out, load_number(at, field->size));
}

static void write_atomic(struct state_writer *w, const struct state_field *field, const void *at)
{
	(void)field;
	state_add_number(&w->out, (u32)host_atomic_read(at));
}

static void write_link(struct state_writer *w, const struct state_field *field, const void *at)
{
	state_add_number(&w->out, state_number_of(&w->objects, field->kind, *(void *const *)at));
}

static void write_list(struct state_writer *w, const struct state_field *field, const void *at)
{
	const struct bl_list *list = at, *link;
	u32 number;

	for (link = list->next; link != list; link = link->next) {
		number = state_number_of(&w->objects, field->kind,
					 (const char *)link - field->element);
		/* A call that was left behind gave this handle to a process that has ended. */
		if (!number && field->kind == STATE_REF)
			continue;
		state_add_number(&w->out, number);
	}
}

/* Which of its owner's things a work is. */
static u32 work_number(const struct state_writer *w, const struct binder_work *work,
		       const struct bl_list *todo)
{
	const struct binder_thread *thread;

	switch (work->type) {
	case WORK_COMPLETE:
	case WORK_COMPLETE_FROZEN:
	case WORK_COMPLETE_SPAM:
		return 0;
	case WORK_ERROR:
		thread = base_container_of(todo, const struct binder_thread, todo);
		return work == &thread->return_error.work ? 1 : 2;
	case WORK_NODE:
		return state_number_of(&w->objects, STATE_NODE,
				       bl_entry(work, struct binder_node, work));
	case WORK_TRANSACTION:
		return state_number_of(&w->objects, STATE_TRANSACTION,
				       bl_entry(work, struct binder_transaction, work));
	default:
		return state_number_of(&w->objects, STATE_NOTICE,
				       bl_entry(work, struct binder_notice, work));
	}
}

static void write_works(struct state_writer *w, const struct state_field *field, const void *at)
{
	const struct bl_list *todo = at;
	const struct binder_work *work;

	(void)field;
	bl_for_each(work, todo, link) {
		state_add_number(&w->out, work->type);
		state_add_number(&w->out, work_number(w, work, todo));
	}
}

static void write_own(struct state_writer *w, const struct state_field *field, const void *object)
{
	field->own->write(w, object);
}

static const struct {
	void (*write)(struct state_writer *w, const struct state_field *field, const void *at);
	bool is_part; /* its size comes first */
} types[] = {
	[FIELD_NUMBER] = { write_number, false }, [FIELD_BOOL] = { write_number, false },
	[FIELD_ATOMIC] = { write_atomic, false }, [FIELD_LINK] = { write_link, false },
	[FIELD_LIST] = { write_list, true },	  [FIELD_WORKS] = { write_works, true },
	[FIELD_OWN] = { write_own, true },
};

static void write_field(struct state_writer *w, const struct state_field *field, const void *object)
{
	const void *at = (const char *)object + field->offset;
	struct state_bytes record = w->out;

	if (field->type == FIELD_OWN)
		at = object;
	if (!types[field->type].is_part) {
		types[field->type].write(w, field, at);
		return;
	}
	/* The part is collected apart, because its size comes first. */
	w->out = w->part;
	w->out.used = 0;
	types[field->type].write(w, field, at);
	w->part = w->out;
	w->out = record;
	state_add_number(&w->out, w->part.used);
	state_add(&w->out, w->part.bytes, w->part.used);
}

/* ---- records ------------------------------------------------------------------------- */

#define CHUNK 65536 /* bytes that the sink gets at once */

static void put_chunk(struct state_writer *w)
{
	if (w->chunk.failed)
		w->err = -ENOMEM;
	if (!w->err)
		w->err = w->sink->put(w->sink, w->chunk.bytes, w->chunk.used);
	w->chunk.used = 0;
}

static void put_bytes(struct state_writer *w, const void *bytes, size_t size)
{
	state_add(&w->chunk, bytes, size);
	if (w->chunk.used >= CHUNK)
		put_chunk(w);
}

int state_put_record(struct state_writer *w, enum state_kind kind, const void *object)
{
	const struct state_record *record = &state_records[kind];
	u32 version = 1, i;

	w->out.used = 0;
	for (i = 0; i < record->nr; i++) {
		const struct state_field *field = &record->fields[i];

		if (field->since > w->version)
			continue;
		if (field->since > version)
			version = field->since;
		write_field(w, field, object);
	}
	state_add_number(&w->chunk, kind);
	state_add_number(&w->chunk, version);
	state_add_number(&w->chunk, w->out.used);
	if (w->out.failed || w->part.failed)
		w->err = -ENOMEM;
	else
		put_bytes(w, w->out.bytes, w->out.used);
	return w->err;
}

static void write_logs(struct state_writer *w)
{
	struct state_log log = { 0 };
	u32 nr;

	for (log.ring = 0; log.ring <= BINDER_LOG_RINGS; log.ring++) {
		for (nr = 0; binder_log_get(log.ring, nr, &log.entry, log.context); nr++)
			state_put_record(w, STATE_LOG, &log);
	}
}

void state_begin(struct state_writer *w)
{
	state_add(&w->chunk, magic, sizeof(magic));
	state_add_number(&w->chunk, w->version);
}

/* The end says how many records there are of each kind. */
void state_end(struct state_writer *w)
{
	u32 kind;

	w->out.used = 0;
	for (kind = STATE_CONTEXT; kind <= STATE_TRANSACTION; kind++)
		state_add_number(&w->out, w->objects.nr[kind]);
	state_add_number(&w->chunk, STATE_END);
	state_add_number(&w->chunk, 1);
	state_add_number(&w->chunk, w->out.used);
	if (w->out.failed)
		w->err = -ENOMEM;
	else
		put_bytes(w, w->out.bytes, w->out.used);
	put_chunk(w);
}

int binder_state_write(struct binder_state_sink *sink, u32 version)
{
	struct state_writer w = { .sink = sink, .version = version };
	u32 i;

	binder_assert_unlocked();
	if (version < BINDER_STATE_OLDEST || version > BINDER_STATE_VERSION)
		return -EINVAL;
	state_visit_all(&w);
	state_begin(&w);
	for (i = 0; i < w.nr_visits && !w.err; i++)
		state_put_record(&w, w.visits[i].kind, w.visits[i].object);
	write_logs(&w);
	state_end(&w);
	state_writer_free(&w);
	return w.err;
}
