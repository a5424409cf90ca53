// SPDX-License-Identifier: GPL-2.0
/*
 * The stream is read twice. The first pass makes the objects and loads their numbers; the second
 * one, when every number of an object leads to it by an index, sets pointers and fills lists. Then
 * everything that the engine relies on is checked (state/state_check.c). Whatever fails, what was
 * made stays as it is: the process that could not take over ends.
 */
#include "state/state_stream.h"

#include "state.h"

/* ---- failures ------------------------------------------------------------------------ */

void state_fail_at(struct state_reader *r, int err, enum state_kind kind, u32 number,
		   const char *what)
{
	if (r->err)
		return;
	r->err = err;
	if (r->why)
		host_out(r->why, "the state cannot be restored: %s %u: %s",
			 state_records[kind].name, number, what);
}

void state_fail(struct state_reader *r, int err, const char *what)
{
	state_fail_at(r, err, r->kind, r->met[r->kind], what);
}

static void fail_version(struct state_reader *r, const char *what, u64 version)
{
	if (r->err)
		return;
	r->err = -EINVAL;
	if (r->why)
		host_out(r->why, "%s has version %llu, and this program reads versions %u to %u",
			 what, (unsigned long long)version, BINDER_STATE_OLDEST,
			 BINDER_STATE_VERSION);
}

/* ---- fields -------------------------------------------------------------------------- */

void *state_object(struct state_reader *r, enum state_kind kind, u64 number)
{
	if (number > r->objects.of[kind].nr) {
		state_fail(r, -EINVAL, "refers to an object that there is not");
		return NULL;
	}
	return number ? state_object_at(&r->objects, kind, (u32)number - 1) : NULL;
}

static void read_field(struct state_reader *r, const struct state_field *field,
		       struct state_cursor *from, void *object)
{
	bool now = field->read == (r->linking ? READ_LINKING : READ_MAKING) &&
		   field != binder_state_lost;
	struct state_part part = { .r = r, .from = from };
	struct state_cursor bytes;

	if (!field->is_part) {
		if (now)
			state_pass_field(&part, field, object);
		else
			r->links |= state_take_number(from) != 0;
		return;
	}
	bytes = state_take_part(from);
	part.from = &bytes;
	if (!now)
		r->links |= bytes.at != bytes.end;
	if (!now || bytes.bad)
		return;
	state_pass_field(&part, field, object);
	if (bytes.bad || bytes.at != bytes.end)
		state_fail(r, -EINVAL, field->name);
}

/* Reads the fields of a record, as far as this is done in the present pass. */
static void read_fields(struct state_reader *r, enum state_kind kind, struct state_cursor from,
			void *object)
{
	const struct state_record *record = &state_records[kind];
	u32 i;

	for (i = 0; i < record->nr && !r->err; i++) {
		if (record->fields[i].since <= r->version)
			read_field(r, &record->fields[i], &from, object);
	}
	if (from.bad)
		state_fail(r, -EINVAL, "the record ends too early");
	else if (from.at != from.end)
		state_fail(r, -EINVAL, "the record is too long");
}

/* ---- records ------------------------------------------------------------------------- */

static void make_record(struct state_reader *r, enum state_kind kind, struct state_cursor from)
{
	void *object = state_make(r, kind, from);

	r->links = kind == STATE_PROC || kind == STATE_REF;
	if (object)
		read_fields(r, kind, from, object);
	if (!r->err)
		state_enter(r, kind, object);
	state_add(&r->linked, &r->links, sizeof(r->links));
	if (r->linked.failed)
		state_fail(r, -ENOMEM, "no memory");
}

static void link_record(struct state_reader *r, enum state_kind kind, struct state_cursor from)
{
	void *object;

	/* Most have no pointers, and are not read again: there may be millions. */
	if (!r->linked.bytes[r->record++] || kind == STATE_WORLD || kind == STATE_LOG)
		return;
	object = state_object(r, kind, r->met[kind]);
	if (!object)
		return;
	if (kind == STATE_PROC)
		r->proc = object;
	read_fields(r, kind, from, object);
	if (!r->err)
		state_link(r, kind, object);
}

static void check_counts(struct state_reader *r, struct state_cursor from)
{
	u32 kind;

	for (kind = STATE_CONTEXT; kind <= STATE_TRANSACTION; kind++) {
		if (state_take_number(&from) != r->met[kind])
			state_fail(r, -EINVAL, "records are missing");
	}
	if (from.bad || from.at != from.end)
		state_fail(r, -EINVAL, "the last record is damaged");
}

/* Reads one record. False: it is the last one, or refused. */
static bool read_record(struct state_reader *r, struct state_cursor *from)
{
	u64 kind = state_take_number(from), version = state_take_number(from);
	struct state_cursor record = state_take_part(from);

	if (from->bad) {
		state_fail(r, -EINVAL, "the stream ends too early");
	} else if (kind >= STATE_KINDS) {
		fail_version(r, "an unknown record of the state", version);
	} else if (version < 1 || version > r->version) {
		fail_version(r, state_records[kind].name, version);
	} else if (kind == STATE_END) {
		check_counts(r, record);
		if (from->at != from->end)
			state_fail(r, -EINVAL, "bytes follow the last record");
	} else {
		r->kind = (enum state_kind)kind;
		r->met[kind]++;
		if (r->linking)
			link_record(r, r->kind, record);
		else
			make_record(r, r->kind, record);
	}
	return !r->err && kind != STATE_END;
}

static void read_pass(struct state_reader *r, struct state_cursor from, bool linking)
{
	r->linking = linking;
	r->proc = NULL;
	host_memset(r->met, 0, sizeof(r->met));
	while (!r->err && read_record(r, &from))
		;
}

/* Reads how the stream begins. */
static struct state_cursor begin_stream(struct state_reader *r, const void *bytes, size_t size)
{
	struct state_cursor from = { bytes, (const u8 *)bytes + size, false };
	const u8 *first = state_take(&from, STATE_MAGIC_SIZE);
	u64 version = state_take_number(&from);

	if (!first || host_memcmp(first, STATE_MAGIC, STATE_MAGIC_SIZE) || from.bad) {
		r->err = -EINVAL;
		if (r->why)
			host_out(r->why, "this is no state of an engine");
	} else if (version < BINDER_STATE_OLDEST || version > BINDER_STATE_VERSION) {
		fail_version(r, "the state", version);
	}
	r->version = (u32)version;
	return from;
}

/* Ends the references that only the making of contexts took. */
static void forget_contexts(struct state_objects *objects)
{
	u32 i;

	for (i = 0; i < objects->of[STATE_CONTEXT].nr; i++) {
		struct binder_context *context = state_object_at(objects, STATE_CONTEXT, i);

		/* A context that the host does not have ends with its last open. */
		if (!host_state_context_id(context))
			binder_context_put(context);
	}
}

int binder_state_restore(const void *bytes, size_t size, struct host_out *why)
{
	struct state_reader r = { .why = why };
	struct state_cursor from = begin_stream(&r, bytes, size);

	binder_assert_unlocked();
	if (!r.err)
		read_pass(&r, from, false);
	if (!r.err)
		read_pass(&r, from, true);
	if (!r.err)
		state_check(&r);
	if (r.err)
		state_left_free();
	else
		forget_contexts(&r.objects);
	state_objects_free(&r.objects);
	state_bytes_free(&r.procs);
	state_bytes_free(&r.linked);
	return r.err;
}
