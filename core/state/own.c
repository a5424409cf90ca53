// SPDX-License-Identifier: GPL-2.0
/*
 * What the tables of fields cannot express: names, numbers of the host, counters, and arrays. One
 * function for each describes the part for the writer and for the reader.
 *
 * Tested in: core/state/state_test.c
 */
#include "state/state_stream.h"

#include "reports/report_stats.h"
#include "state.h"

/* Writes @value, or returns the number that is read instead. */
static u64 pass_number(struct state_part *part, u64 value)
{
	if (!part->w)
		return state_take_number(part->from);
	state_add_number(&part->w->record, value);
	return value;
}

/* The same for a pointer to an object of @kind. */
static void *pass_link(struct state_part *part, enum state_kind kind, void *object)
{
	u64 number = pass_number(part, part->w ? state_number_of(&part->w->objects, object) : 0);

	return part->w ? object : state_object(part->r, kind, number);
}

/* The same for the @nr elements of an array, which take at least @least bytes each. */
static u32 pass_count(struct state_part *part, u32 nr, u32 least)
{
	u64 count = pass_number(part, nr);

	if (part->w || count <= (size_t)(part->from->end - part->from->at) / least)
		return (u32)count;
	part->from->bad = true;
	return 0;
}

/* ---- contexts and processes ---------------------------------------------------------- */

static void pass_context(struct state_part *part, void *object)
{
	const struct binder_context *context = object;

	pass_number(part, host_state_context_id(context));
	state_add(&part->w->record, context->name, context->name_size - 1);
}

const struct state_own state_own_context = { pass_context, READ_BEFORE };

static void pass_proc_host(struct state_part *part, void *object)
{
	const struct binder_proc *proc = object;
	u64 id = pass_number(part, part->w ? host_state_proc_id(&proc->host) : 0);

	if (part->r)
		part->r->host_id = id;
}

const struct state_own state_own_proc_host = { pass_proc_host, READ_MAKING };

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

			value = pass_number(part, value);
			if (known)
				host_atomic_set(&counter[k], (s32)value);
		}
	}
}

static void pass_world_stats(struct state_part *part, void *object)
{
	(void)object;
	pass_stats(part, &binder_stats_world);
}

const struct state_own state_own_world_stats = { pass_world_stats, READ_MAKING };

static void pass_proc_stats(struct state_part *part, void *object)
{
	pass_stats(part, &((struct binder_proc *)object)->stats);
}

const struct state_own state_own_proc_stats = { pass_proc_stats, READ_MAKING };

/* ---- buffers ------------------------------------------------------------------------- */

static void pass_resource(struct state_part *part, struct binder_resource *resource)
{
	u64 kind = pass_number(part, (u64)resource->kind << 1 | resource->strong);
	u64 desc = pass_number(part, resource->desc);

	resource->kind = (u8)(kind >> 1);
	resource->strong = kind & 1;
	resource->desc = (u32)desc;
	resource->node = pass_link(part, STATE_NODE, resource->node);
	if (part->r && (kind >> 1 > RESOURCE_FD || desc > 0xffffffff ||
			(resource->kind == RESOURCE_NODE) != (resource->node != NULL)))
		state_fail(part->r, -EINVAL, "a resource");
}

/* Resources that are not dropped yet. */
static void pass_resources(struct state_part *part, void *object)
{
	struct binder_buffer *buffer = object;
	u32 nr = 0, i;

	for (i = 0; i < buffer->nr_resources; i++)
		nr += buffer->resources[i].kind != RESOURCE_DROPPED;
	nr = pass_count(part, nr, 3);
	if (part->r && nr) {
		buffer->resources = host_alloc(&part->r->proc->host,
					       nr * sizeof(*buffer->resources));
		buffer->nr_resources = buffer->resources ? nr : 0;
		if (!buffer->resources)
			state_fail(part->r, -ENOMEM, "no memory for its resources");
	}
	for (i = 0; i < buffer->nr_resources; i++) {
		if (buffer->resources[i].kind != RESOURCE_DROPPED)
			pass_resource(part, &buffer->resources[i]);
	}
}

const struct state_own state_own_resources = { pass_resources, READ_LINKING };

/* ---- transactions -------------------------------------------------------------------- */

/* The process that is charged for the transaction: its sender, if that is still known. */
static void pass_owner(struct state_part *part, void *object)
{
	const struct binder_transaction *t = object;

	pass_number(part, state_number_of(&part->w->objects, state_pid_key(t->from_pid)));
}

const struct state_own state_own_owner = { pass_owner, READ_BEFORE };

/* A to_parent is valid only while the call is on the stack of its receiver. */
static void pass_to_parent(struct state_part *part, void *object)
{
	struct binder_transaction *t = object;

	if (part->r)
		t->to_parent = pass_link(part, STATE_TRANSACTION, NULL);
	else if (state_number_of(&part->w->objects, state_served_key(t)))
		pass_link(part, STATE_TRANSACTION, t->to_parent);
	else
		pass_number(part, 0);
}

const struct state_own state_own_to_parent = { pass_to_parent, READ_LINKING };

/* False: the file is not restored. */
static bool pass_file(struct state_part *part, struct binder_file_slot *slot)
{
	u64 id = pass_number(part, part->w ? host_state_file_id(slot->file) : 0);

	slot->off = pass_number(part, slot->off);
	/* NO_RESOURCE is 0 */
	slot->resource = (u32)pass_number(part, (u32)(slot->resource + 1)) - 1;
	slot->fd = (u32)pass_number(part, slot->fd);
	if (part->w || part->from->bad)
		return part->w;
	slot->file = host_state_file_restore(id);
	if (!slot->file)
		state_fail(part->r, -ENOENT, "the host does not know its file");
	return slot->file;
}

static void pass_files(struct state_part *part, void *object)
{
	struct binder_transaction *t = object;
	u32 nr = pass_count(part, t->nr_files, 4), i;

	if (part->r && nr > BINDER_MAX_FILES) {
		part->from->bad = true;
	} else if (part->r && nr) {
		t->files = host_alloc(t->to_proc ? &t->to_proc->host : NULL,
				      nr * sizeof(*t->files));
		if (!t->files)
			state_fail(part->r, -ENOMEM, "no memory for its files");
	}
	for (i = 0; t->files && i < nr && pass_file(part, &t->files[i]); i++)
		t->nr_files += part->r != NULL;
}

const struct state_own state_own_files = { pass_files, READ_LINKING };

/* ---- logs ---------------------------------------------------------------------------- */

static void pass_log_context(struct state_part *part, void *object)
{
	struct state_log *log = object;
	size_t size = part->w ? host_strlen(log->context) :
				(size_t)(part->from->end - part->from->at);

	if (part->w)
		state_add(&part->w->record, log->context, size);
	else if (size <= BINDER_NAME_MAX && !part->from->bad)
		host_memcpy(log->context, state_take(part->from, size), size);
	else
		part->from->bad = true;
}

const struct state_own state_own_log = { pass_log_context, READ_MAKING };
