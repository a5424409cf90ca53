// SPDX-License-Identifier: GPL-2.0
/*
 * What the tables of fields cannot express: names, numbers of the host, counters, and arrays.
 *
 * Tested in: core/state/state_test.c
 */
#include "state/state_fields.h"

#include "calls/transaction.h"
#include "state.h"
#include "state/log.h"
#include "entities/context.h"
#include "entities/proc.h"
#include "entities/world.h"

/* ---- contexts and processes ---------------------------------------------------------- */

/* Read when the context is made. */
static void write_context(struct state_writer *w, const void *object)
{
	const struct binder_context *context = object;

	state_add_number(&w->out, host_state_context_id(context));
	state_add(&w->out, context->name, context->name_size - 1);
}

const struct state_own state_own_context = { write_context, NULL, NULL };

static void write_proc_host(struct state_writer *w, const void *object)
{
	const struct binder_proc *proc = object;

	state_add_number(&w->out, host_state_proc_id(&proc->host));
}

static void make_proc_host(struct state_reader *r, struct state_cursor *from, void *object)
{
	(void)object;
	r->host_id = state_take_number(from);
}

const struct state_own state_own_proc_host = { write_proc_host, make_proc_host, NULL };

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

static void write_stats(struct state_writer *w, const struct binder_stats *stats)
{
	const char *base = (const char *)stats;
	u32 i, k;

	for (i = 0; i < NR_COUNTERS; i++) {
		const struct host_atomic *counter = (const void *)(base + counters[i].offset);

		state_add_number(&w->out, counters[i].nr);
		for (k = 0; k < counters[i].nr; k++)
			state_add_number(&w->out, (u32)host_atomic_read(&counter[k]));
	}
}

/* Another version may know more or fewer counters. */
static void read_stats(struct state_cursor *from, struct binder_stats *stats)
{
	char *base = (char *)stats;
	u32 i, k;

	for (i = 0; i < NR_COUNTERS; i++) {
		struct host_atomic *counter = (void *)(base + counters[i].offset);
		u64 nr = state_take_number(from);

		for (k = 0; k < nr && !from->bad; k++) {
			u32 value = (u32)state_take_number(from);

			if (k < counters[i].nr)
				host_atomic_set(&counter[k], (s32)value);
		}
	}
}

static void write_world_stats(struct state_writer *w, const void *object)
{
	(void)object;
	write_stats(w, &binder_stats_world);
}

static void make_world_stats(struct state_reader *r, struct state_cursor *from, void *object)
{
	(void)r;
	(void)object;
	read_stats(from, &binder_stats_world);
}

const struct state_own state_own_world_stats = { write_world_stats, make_world_stats, NULL };

static void write_proc_stats(struct state_writer *w, const void *object)
{
	write_stats(w, &((const struct binder_proc *)object)->stats);
}

static void make_proc_stats(struct state_reader *r, struct state_cursor *from, void *object)
{
	(void)r;
	read_stats(from, &((struct binder_proc *)object)->stats);
}

const struct state_own state_own_proc_stats = { write_proc_stats, make_proc_stats, NULL };

/* ---- buffers ------------------------------------------------------------------------- */

/* Resources that are not dropped yet. */
static void write_resources(struct state_writer *w, const void *object)
{
	const struct binder_buffer *buffer = object;
	u32 i;

	state_add_number(&w->out, buffer->nr_resources - buffer->nr_dropped);
	for (i = buffer->nr_dropped; i < buffer->nr_resources; i++) {
		const struct binder_resource *resource = &buffer->resources[i];

		state_add_number(&w->out, (u64)resource->kind << 1 | resource->strong);
		state_add_number(&w->out, resource->desc);
		state_add_number(&w->out, state_number_of(&w->objects, resource->node));
	}
}

static void read_resource(struct state_reader *r, struct state_cursor *from,
			  struct binder_resource *resource)
{
	u64 kind = state_take_number(from), desc = state_take_number(from);

	resource->kind = (u8)(kind >> 1);
	resource->strong = kind & 1;
	resource->desc = (u32)desc;
	resource->node = state_object(r, STATE_NODE, state_take_number(from));
	if (kind >> 1 > RESOURCE_FD || desc > 0xffffffff ||
	    (resource->kind == RESOURCE_NODE) != (resource->node != NULL))
		state_fail(r, -EINVAL, "a resource");
}

static void link_resources(struct state_reader *r, struct state_cursor *from, void *object)
{
	struct binder_buffer *buffer = object;
	u64 nr = state_take_number(from);
	u32 i;

	/* A resource takes at least three bytes. */
	if (nr > (size_t)(from->end - from->at) / 3)
		from->bad = true;
	if (!nr || from->bad)
		return;
	buffer->resources = host_alloc(&r->proc->host, nr * sizeof(*buffer->resources));
	if (!buffer->resources) {
		state_fail(r, -ENOMEM, "no memory for its resources");
		return;
	}
	for (i = 0; i < nr && !from->bad && !r->err; i++)
		read_resource(r, from, &buffer->resources[i]);
	buffer->nr_resources = (u32)nr;
}

const struct state_own state_own_resources = { write_resources, NULL, link_resources };

/* ---- transactions -------------------------------------------------------------------- */

/* The process that is charged for the transaction: its sender, if that is still known. */
static void write_owner(struct state_writer *w, const void *object)
{
	const struct binder_transaction *t = object;

	state_add_number(&w->out, state_number_of(&w->objects, state_pid_key(t->from_pid)));
}

const struct state_own state_own_owner = { write_owner, NULL, NULL };

/* A to_parent is valid only while the call is on the stack of its receiver. */
static void write_to_parent(struct state_writer *w, const void *object)
{
	const struct binder_transaction *t = object;
	bool served = state_number_of(&w->objects, state_served_key(t));

	state_add_number(&w->out, served ? state_number_of(&w->objects, t->to_parent) : 0);
}

static void link_to_parent(struct state_reader *r, struct state_cursor *from, void *object)
{
	struct binder_transaction *t = object;

	t->to_parent = state_object(r, STATE_TRANSACTION, state_take_number(from));
}

const struct state_own state_own_to_parent = { write_to_parent, NULL, link_to_parent };

static void write_files(struct state_writer *w, const void *object)
{
	const struct binder_transaction *t = object;
	u32 i;

	state_add_number(&w->out, t->nr_files);
	for (i = 0; i < t->nr_files; i++) {
		const struct binder_file_slot *slot = &t->files[i];

		state_add_number(&w->out, host_state_file_id(slot->file));
		state_add_number(&w->out, slot->off);
		state_add_number(&w->out, slot->resource + 1); /* NO_RESOURCE is 0 */
		state_add_number(&w->out, slot->fd);
	}
}

static bool read_file(struct state_reader *r, struct state_cursor *from,
		      struct binder_file_slot *slot)
{
	u64 id = state_take_number(from);

	slot->off = state_take_number(from);
	slot->resource = (u32)state_take_number(from) - 1;
	slot->fd = (u32)state_take_number(from);
	if (from->bad)
		return false;
	slot->file = host_state_file_restore(id);
	if (!slot->file)
		state_fail(r, -ENOENT, "the host does not know its file");
	return slot->file;
}

static void link_files(struct state_reader *r, struct state_cursor *from, void *object)
{
	struct binder_transaction *t = object;
	u64 nr = state_take_number(from);

	/* A file takes at least four bytes. */
	if (nr > BINDER_MAX_FILES || nr > (size_t)(from->end - from->at) / 4)
		from->bad = true;
	if (!nr || from->bad)
		return;
	t->files = host_alloc(t->to_proc ? &t->to_proc->host : NULL, nr * sizeof(*t->files));
	if (!t->files)
		state_fail(r, -ENOMEM, "no memory for its files");
	while (t->files && t->nr_files < nr && read_file(r, from, &t->files[t->nr_files]))
		t->nr_files++;
}

const struct state_own state_own_files = { write_files, NULL, link_files };

/* ---- logs ---------------------------------------------------------------------------- */

static void write_log(struct state_writer *w, const void *object)
{
	const struct state_log *log = object;

	state_add(&w->out, log->context, host_strlen(log->context));
}

static void make_log_context(struct state_reader *r, struct state_cursor *from, void *object)
{
	struct state_log *log = object;
	size_t size = (size_t)(from->end - from->at);
	const u8 *name = state_take(from, size);

	(void)r;
	if (name && size <= BINDER_NAME_MAX)
		host_memcpy(log->context, name, size);
	else
		from->bad = true;
}

const struct state_own state_own_log = { write_log, make_log_context, NULL };
