// SPDX-License-Identifier: GPL-2.0
/*
 * The stream is read twice. The first pass makes the objects and loads their numbers; the second
 * one, when every number of an object leads to it by an index, sets pointers and fills lists. Then
 * everything that the engine relies on is checked (state/state_check.c). Whatever fails, what was
 * made stays as it is: the process that could not take over ends.
 *
 * Tested in: core/state/state_test.c
 */
#include "state/state_stream.h"

static const char magic[8] = "anybindr";

/* ---- failures ------------------------------------------------------------------------ */

static void fail_at(struct state_reader *r, int err, enum state_kind kind, u32 number,
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
	fail_at(r, err, r->kind, r->met[r->kind], what);
}

void state_fail_at(struct state_reader *r, enum state_kind kind, u32 number, const char *what)
{
	fail_at(r, -EINVAL, kind, number, what);
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
	if (number > r->objects.nr[kind]) {
		state_fail(r, -EINVAL, "refers to an object that there is not");
		return NULL;
	}
	return number ? state_object_at(&r->objects, kind, (u32)number - 1) : NULL;
}

static void store_number(void *at, u8 size, u64 value)
{
	if (size == sizeof(u8))
		*(u8 *)at = (u8)value;
	else if (size == sizeof(u16))
		*(u16 *)at = (u16)value;
	else if (size == sizeof(u32))
		*(u32 *)at = (u32)value;
	else
		*(u64 *)at = value;
}

static void read_number(struct state_reader *r, const struct state_field *field,
			struct state_cursor *from, void *at)
{
	u64 value = state_take_number(from);

	if (value > field->max)
		state_fail(r, -EINVAL, field->name);
	else
		store_number(at, field->size, value);
}

static void read_atomic(struct state_reader *r, const struct state_field *field,
			struct state_cursor *from, void *at)
{
	u64 value = state_take_number(from);

	if (value > 0xffffffff)
		state_fail(r, -EINVAL, field->name);
	else
		host_atomic_set(at, (s32)value);
}

static void read_link(struct state_reader *r, const struct state_field *field,
		      struct state_cursor *from, void *at)
{
	u64 number = state_take_number(from);

	/* A context that an object is made for exists already. */
	if (r->linking || field->kind == STATE_CONTEXT)
		*(void **)at = state_object(r, field->kind, number);
}

static void read_list(struct state_reader *r, const struct state_field *field,
		      struct state_cursor *from, void *at)
{
	while (r->linking && from->at < from->end && !from->bad && !r->err) {
		void *object = state_object(r, field->kind, state_take_number(from));
		struct bl_list *link = (struct bl_list *)((char *)object + field->element);

		if (!object || bl_linked(link))
			state_fail(r, -EINVAL, field->name);
		else
			bl_add_tail(at, link);
	}
}

/* ---- todo lists ---------------------------------------------------------------------- */

static struct binder_work *new_completion(struct state_reader *r)
{
	struct binder_work *work = host_alloc(&r->proc->host, sizeof(*work));

	if (!work)
		state_fail(r, -ENOMEM, "no memory for a completion");
	return work;
}

/* The work that the stream names; NULL: refused. */
static struct binder_work *find_work(struct state_reader *r, u64 type, u64 number, void *owner)
{
	struct binder_thread *thread = owner;
	struct binder_notice *notice;
	struct binder_node *node;

	switch (type) {
	case WORK_TRANSACTION:
		return state_object(r, STATE_TRANSACTION, number);
	case WORK_COMPLETE:
	case WORK_COMPLETE_FROZEN:
	case WORK_COMPLETE_SPAM:
		return r->kind == STATE_THREAD ? new_completion(r) : NULL;
	case WORK_ERROR:
		if (r->kind != STATE_THREAD)
			return NULL;
		return number == 1 ? &thread->return_error.work : &thread->reply_error.work;
	case WORK_NODE:
		node = r->kind == STATE_NODE ? NULL : state_object(r, STATE_NODE, number);
		return node ? &node->work : NULL;
	default:
		notice = r->kind == STATE_NODE ? NULL : state_object(r, STATE_NOTICE, number);
		return notice && notice->work.type == type ? &notice->work : NULL;
	}
}

static void read_works(struct state_reader *r, const struct state_field *field,
		       struct state_cursor *from, void *at)
{
	while (r->linking && from->at < from->end && !from->bad && !r->err) {
		u64 type = state_take_number(from), number = state_take_number(from);
		void *owner = (char *)at - field->offset;
		struct binder_work *work = from->bad ? NULL : find_work(r, type, number, owner);

		if (work && type >= WORK_COMPLETE && type <= WORK_COMPLETE_SPAM)
			binder_work_init(work, (enum binder_work_type)type);
		if (!work || bl_linked(&work->link))
			state_fail(r, -EINVAL, field->name);
		else
			bl_add_tail(at, &work->link);
	}
}

static void read_own(struct state_reader *r, const struct state_field *field,
		     struct state_cursor *from, void *object)
{
	struct state_part part = { .r = r, .from = from };

	if (field->own->read != (r->linking ? READ_LINKING : READ_MAKING))
		return;
	field->own->pass(&part, object);
	if (from->bad || from->at != from->end)
		state_fail(r, -EINVAL, field->name);
}

typedef void (*read_function)(struct state_reader *r, const struct state_field *field,
			      struct state_cursor *from, void *at);
static const read_function read_types[FIELD_TYPES] = {
	[FIELD_NUMBER] = read_number, [FIELD_ATOMIC] = read_atomic, [FIELD_LINK] = read_link,
	[FIELD_LIST] = read_list,     [FIELD_WORKS] = read_works,   [FIELD_OWN] = read_own,
};

static void read_field(struct state_reader *r, const struct state_field *field,
		       struct state_cursor *from, void *object)
{
	void *at = (char *)object + field->offset;
	struct state_cursor part;
	bool lost = field == binder_state_lost;

	if (!state_is_part(field) && (lost || (r->linking && field->type <= FIELD_ATOMIC))) {
		state_take_number(from); /* it was loaded in the first pass */
	} else if (!state_is_part(field)) {
		read_types[field->type](r, field, from, at);
	} else {
		part = state_take_part(from);
		if (!lost)
			read_types[field->type](r, field, &part,
						field->type == FIELD_OWN ? object : at);
		from->bad |= part.bad;
	}
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

	if (object)
		read_fields(r, kind, from, object);
	if (!r->err)
		state_enter(r, kind, object);
}

static void link_record(struct state_reader *r, enum state_kind kind, struct state_cursor from)
{
	void *object;

	if (kind == STATE_WORLD || kind == STATE_LOG)
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
	const u8 *first = state_take(&from, sizeof(magic));
	u64 version = state_take_number(&from);

	if (!first || host_memcmp(first, magic, sizeof(magic)) || from.bad) {
		r->err = -EINVAL;
		if (r->why)
			host_out(r->why, "this is no state of an engine");
	} else if (version < BINDER_STATE_OLDEST || version > BINDER_STATE_VERSION) {
		fail_version(r, "the state", version);
	}
	r->version = (u32)version;
	return from;
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
		state_forget_contexts(&r.objects);
	state_objects_free(&r.objects);
	state_bytes_free(&r.procs);
	return r.err;
}
