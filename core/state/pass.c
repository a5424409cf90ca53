// SPDX-License-Identifier: GPL-2.0
/*
 * How fields pass to the stream, and from it: one function for each type of field, and for each
 * part that no type describes (names, numbers of the host, counters, arrays), says it for the
 * writer and for the reader.
 */
#include "state/state_stream.h"

#include "reports/report_stats.h"
#include "state.h"

/* ---- fields -------------------------------------------------------------------------- */

/* Writes the number of @object of @kind, or returns the one whose number is read. */
static void *pass_link(struct state_part *part, enum state_kind kind, void *object)
{
	u32 known = part->w ? state_number_of(&part->w->objects, kind, object) : 0;
	u64 number = state_pass_number(part, known);

	return part->w ? object : state_object(part->r, kind, number);
}

void state_pass_link(struct state_part *part, const struct state_field *field, void *at)
{
	*(void **)at = pass_link(part, field->kind, *(void **)at);
}

/* Is there more to read of the list that @part is? */
static bool has_more(const struct state_part *part)
{
	return part->from->at < part->from->end && !part->from->bad && !part->r->err;
}

static void write_list(struct state_writer *w, const struct state_field *field,
		       const struct bl_list *list)
{
	const struct bl_list *link;
	u32 number;

	for (link = list->next; link != list; link = link->next) {
		number = state_number_of(&w->objects, field->kind,
					 (const char *)link - field->element);
		/* A call that was left behind gave this handle to a process that has ended. */
		if (!number && field->kind == STATE_REF)
			continue;
		state_add_number(&w->stream, number);
	}
}

void state_pass_list(struct state_part *part, const struct state_field *field, void *at)
{
	if (part->w)
		write_list(part->w, field, at);
	while (part->r && has_more(part)) {
		char *object = pass_link(part, field->kind, NULL);
		struct bl_list *link = object ? (struct bl_list *)(object + field->element) : NULL;

		if (!link || bl_linked(link))
			state_fail(part->r, -EINVAL, field->name);
		else
			bl_add_tail(at, link);
	}
}

/* The same for the @nr elements of an array, which take at least @least bytes each. */
static u32 pass_count(struct state_part *part, u32 nr, u32 least)
{
	u64 count = state_pass_number(part, nr);

	if (part->w || count <= (size_t)(part->from->end - part->from->at) / least)
		return (u32)count;
	part->from->bad = true;
	return 0;
}

/* Memory for a part of an object; NULL: failed. */
static void *new_part(struct state_reader *r, const struct host_proc *owner, size_t size)
{
	void *memory = host_alloc(owner, size);

	if (!memory)
		state_fail(r, -ENOMEM, "no memory for its parts");
	return memory;
}

/* ---- todo lists ---------------------------------------------------------------------- */

#define WORK_OF(kind, thing) { kind, offsetof(struct binder_##thing, work) }

const struct state_work state_works[WORK_TYPES] = {
	[WORK_TRANSACTION] = WORK_OF(STATE_TRANSACTION, transaction),
	[WORK_NODE] = WORK_OF(STATE_NODE, node),
	[WORK_DEATH] = WORK_OF(STATE_NOTICE, notice),
	[WORK_DEATH_AND_CLEAR] = WORK_OF(STATE_NOTICE, notice),
	[WORK_DEATH_CLEARED] = WORK_OF(STATE_NOTICE, notice),
	[WORK_FREEZE] = WORK_OF(STATE_NOTICE, notice),
	[WORK_FREEZE_CLEARED] = WORK_OF(STATE_NOTICE, notice),
};

/* The thread whose todo list is @todo. */
static struct binder_thread *thread_of(const struct bl_list *todo)
{
	return base_container_of(todo, struct binder_thread, todo);
}

/* The number by which the reader finds @work again, which is in @todo. */
static u32 work_number(const struct state_writer *w, const struct binder_work *work,
		       const struct bl_list *todo)
{
	if (work->type == WORK_ERROR)
		return work == &thread_of(todo)->return_error.work ? 1 : 2;
	if (!state_works[work->type].kind)
		return 0; /* a completion */
	return state_number_of(&w->objects, state_works[work->type].kind,
			       state_object_of_work(work));
}

static struct binder_work *new_completion(struct state_reader *r, u64 type)
{
	struct binder_work *work = new_part(r, &r->proc->host, sizeof(*work));

	if (work)
		binder_work_init(work, (enum binder_work_type)type);
	return work;
}

/* The work that the stream names, for @todo; NULL: refused. */
static struct binder_work *find_work(struct state_reader *r, u64 type, u64 number,
				     struct bl_list *todo)
{
	enum state_kind kind = type < WORK_TYPES ? state_works[type].kind : STATE_END;
	struct binder_thread *thread = r->kind == STATE_THREAD ? thread_of(todo) : NULL;
	struct binder_work *work;
	char *object;

	if (thread && type == WORK_ERROR)
		return number == 1 ? &thread->return_error.work : &thread->reply_error.work;
	if (thread && type >= WORK_COMPLETE && type <= WORK_COMPLETE_SPAM)
		return new_completion(r, type);
	if (!kind || (r->kind == STATE_NODE && kind != STATE_TRANSACTION))
		return NULL;
	object = state_object(r, kind, number);
	work = object ? (struct binder_work *)(object + state_works[type].offset) : NULL;
	return work && work->type == type ? work : NULL;
}

static void write_works(struct state_writer *w, const struct bl_list *todo)
{
	const struct binder_work *work;

	bl_for_each(work, todo, link) {
		state_add_number(&w->stream, work->type);
		state_add_number(&w->stream, work_number(w, work, todo));
	}
}

void state_pass_works(struct state_part *part, const struct state_field *field, void *at)
{
	struct bl_list *todo = at;
	struct binder_work *work;

	if (part->w)
		write_works(part->w, todo);
	while (part->r && has_more(part)) {
		u64 type = state_take_number(part->from), number = state_take_number(part->from);

		work = part->from->bad ? NULL : find_work(part->r, type, number, todo);
		if (!work || bl_linked(&work->link))
			state_fail(part->r, -EINVAL, field->name);
		else
			bl_add_tail(todo, &work->link);
	}
}

/* ---- contexts and processes ---------------------------------------------------------- */

void state_pass_context(struct state_part *part, void *object)
{
	const struct binder_context *context = object;

	state_pass_number(part, host_state_context_id(context));
	state_add(&part->w->stream, context->name, context->name_size - 1);
}

void state_pass_proc_host(struct state_part *part, void *object)
{
	const struct binder_proc *proc = object;
	u64 id = state_pass_number(part, part->w ? host_state_proc_id(&proc->host) : 0);

	if (part->r)
		part->r->host_id = id;
}

/* ---- counters ------------------------------------------------------------------------ */

/* The four arrays of struct binder_stats. */
static const struct {
	size_t offset;
	u32 nr;
} counters[] = {
	{ offsetof(struct binder_stats, bc), BINDER_NR_COMMANDS },
	{ offsetof(struct binder_stats, br), BINDER_NR_RETURNS },
	{ offsetof(struct binder_stats, created), STAT_COUNT },
	{ offsetof(struct binder_stats, deleted), STAT_COUNT },
};
#define NR_COUNTERS (sizeof(counters) / sizeof(counters[0]))

/* Another version may know more or fewer counters. */
static void pass_stats(struct state_part *part, struct binder_stats *stats)
{
	u32 i, k;

	for (i = 0; i < NR_COUNTERS; i++) {
		struct host_atomic *counter = (void *)((char *)stats + counters[i].offset);
		u32 nr = pass_count(part, counters[i].nr, 1);

		for (k = 0; k < nr; k++) {
			bool known = k < counters[i].nr;
			u64 value = known ? (u32)host_atomic_read(&counter[k]) : 0;

			value = state_pass_number(part, value);
			if (known)
				host_atomic_set(&counter[k], (s32)value);
		}
	}
}

void state_pass_world_stats(struct state_part *part, void *object)
{
	(void)object;
	pass_stats(part, &binder_stats_world);
}

void state_pass_proc_stats(struct state_part *part, void *object)
{
	pass_stats(part, &((struct binder_proc *)object)->stats);
}

/* ---- buffers ------------------------------------------------------------------------- */

static void pass_resource(struct state_part *part, struct binder_resource *resource)
{
	u64 kind = state_pass_number(part, (u64)resource->kind << 1 | resource->strong);
	u64 desc = state_pass_number(part, resource->desc);

	resource->kind = (u8)(kind >> 1);
	resource->strong = kind & 1;
	resource->desc = (u32)desc;
	resource->node = pass_link(part, STATE_NODE, resource->node);
	if (part->r && (kind >> 1 > RESOURCE_FD || desc > 0xffffffff ||
			(resource->kind == RESOURCE_NODE) != (resource->node != NULL)))
		state_fail(part->r, -EINVAL, "a resource");
}

/* Resources that are not dropped yet. */
void state_pass_resources(struct state_part *part, void *object)
{
	struct binder_buffer *buffer = object;
	u32 nr = 0, i;

	for (i = 0; i < buffer->nr_resources; i++)
		nr += buffer->resources[i].kind != RESOURCE_DROPPED;
	nr = pass_count(part, nr, 3);
	if (part->r && nr) {
		buffer->resources = new_part(part->r, &part->r->proc->host,
					     nr * sizeof(*buffer->resources));
		buffer->nr_resources = buffer->resources ? nr : 0;
	}
	for (i = 0; i < buffer->nr_resources; i++) {
		if (buffer->resources[i].kind != RESOURCE_DROPPED)
			pass_resource(part, &buffer->resources[i]);
	}
}

/* ---- transactions -------------------------------------------------------------------- */

/* The process that is charged for the transaction: its sender, if that is still known. */
void state_pass_owner(struct state_part *part, void *object)
{
	const struct binder_transaction *t = object;

	state_pass_number(part, state_number_of(&part->w->objects, STATE_PIDS,
					      state_pid_key(t->from_pid)));
}

/* A to_parent is valid only while the call is on the stack of its receiver. */
void state_pass_to_parent(struct state_part *part, void *object)
{
	struct binder_transaction *t = object;

	if (part->r)
		t->to_parent = pass_link(part, STATE_TRANSACTION, NULL);
	else if (state_number_of(&part->w->objects, STATE_SERVED, t))
		pass_link(part, STATE_TRANSACTION, t->to_parent);
	else
		state_pass_number(part, 0);
}

/* False: the file is not restored. */
static bool pass_file(struct state_part *part, struct binder_file_slot *slot)
{
	u64 id = state_pass_number(part, part->w ? host_state_file_id(slot->file) : 0);

	slot->off = state_pass_number(part, slot->off);
	/* NO_RESOURCE is 0 */
	slot->resource = (u32)state_pass_number(part, (u32)(slot->resource + 1)) - 1;
	slot->fd = (u32)state_pass_number(part, slot->fd);
	if (part->w || part->from->bad)
		return part->w;
	slot->file = host_state_file_restore(id);
	if (!slot->file)
		state_fail(part->r, -ENOENT, "the host does not know its file");
	return slot->file;
}

void state_pass_files(struct state_part *part, void *object)
{
	struct binder_transaction *t = object;
	u32 nr = pass_count(part, t->nr_files, 4), i;

	if (part->r && nr && nr <= BINDER_MAX_FILES) /* else they are not read */
		t->files = new_part(part->r, t->to_proc ? &t->to_proc->host : NULL,
				    nr * sizeof(*t->files));
	for (i = 0; t->files && i < nr && pass_file(part, &t->files[i]); i++)
		t->nr_files += part->r != NULL;
}

/* ---- logs ---------------------------------------------------------------------------- */

void state_pass_log_context(struct state_part *part, void *object)
{
	struct state_log *log = object;
	size_t size = part->w ? host_strlen(log->context) :
				(size_t)(part->from->end - part->from->at);

	if (part->w)
		state_add(&part->w->stream, log->context, size);
	else if (size <= BINDER_NAME_MAX) /* else it is refused, as it is not read */
		host_memcpy(log->context, state_take(part->from, size), size);
}
