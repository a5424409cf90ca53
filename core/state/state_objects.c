// SPDX-License-Identifier: GPL-2.0
/*
 * Objects by their numbers; how they are made from a record, and entered where they belong.
 */
#include "state/state_stream.h"

#include "state.h"

/*
 * Objects that were allocated one after the other have their numbers side by side, a place for each
 * 16 bytes of a page; where those of a page begin, a hash says.
 */
u32 *state_number_place(const struct state_objects *objects, enum state_kind kind,
			const void *object)
{
	u64 page = (u64)(size_t)object >> 12;
	u32 at = (u32)(page * 0x9e3779b97f4a7c15ull >> 32) + ((u32)(size_t)object & 0xfff) / 16;
	u32 *place;

	do {
		place = &objects->of[kind].numbers[at++ & (objects->of[kind].room - 1)];
	} while (*place && state_object_at(objects, kind, *place - 1) != object);
	return place;
}

static bool numbers_grow(struct state_objects *objects, enum state_kind kind)
{
	u32 room = objects->of[kind].room ? objects->of[kind].room * 2 : 64;
	u32 *bigger = host_alloc_large(NULL, room * sizeof(*bigger));
	u32 i;

	if (!bigger)
		return false;
	host_free(objects->of[kind].numbers);
	objects->of[kind].numbers = bigger;
	objects->of[kind].room = room;
	for (i = 0; i < objects->of[kind].nr; i++)
		*state_number_place(objects, kind, state_object_at(objects, kind, i)) = i + 1;
	return true;
}

bool state_objects_add(struct state_objects *objects, enum state_kind kind, void *object)
{
	if (objects->of[kind].nr >= objects->of[kind].room / 2 && !numbers_grow(objects, kind))
		return false;
	state_add(&objects->of[kind].objects, &object, sizeof(object));
	if (objects->of[kind].objects.failed)
		return false;
	*state_number_place(objects, kind, object) = ++objects->of[kind].nr;
	return true;
}

void state_objects_free(struct state_objects *objects)
{
	u32 kind;

	for (kind = 0; kind < STATE_KINDS; kind++) {
		state_bytes_free(&objects->of[kind].objects);
		host_free(objects->of[kind].numbers);
	}
}

/* ---- making -------------------------------------------------------------------------- */

/* The device of the stream, or if it was removed a new one of its name. */
static void *make_context(struct state_reader *r, struct state_cursor from)
{
	struct state_cursor part = state_take_part(&from);
	u64 id = state_take_number(&part);
	size_t size = (size_t)(part.end - part.at);
	struct binder_context *context;
	char name[BINDER_NAME_MAX + 1] = "";

	if (part.bad || size > BINDER_NAME_MAX) {
		state_fail(r, -EINVAL, "its name is too long");
		return NULL;
	}
	host_memcpy(name, part.at, size);
	context = id ? host_state_context_restore(id, name) : binder_context_new(name);
	if (!context && id)
		state_fail(r, -ENOENT, "there is no such device");
	return context;
}

static void *make_proc(struct state_reader *r, struct state_cursor from)
{
	struct binder_context *context = state_object(r, STATE_CONTEXT, state_take_number(&from));

	if (!context) {
		state_fail(r, -EINVAL, "it has no device");
		return NULL;
	}
	return binder_proc_new(context);
}

static void *make_transaction(struct state_reader *r, struct state_cursor from)
{
	struct state_cursor part = state_take_part(&from);
	struct binder_proc *owner = state_object(r, STATE_PROC, state_take_number(&part));
	struct binder_transaction *t;

	t = r->err ? NULL : host_alloc(owner ? &owner->host : NULL, sizeof(*t));
	if (t) {
		binder_work_init(&t->work, WORK_TRANSACTION);
		binder_lock_init(&t->lock, RANK_TRANSACTION);
	}
	return t;
}

static void *make_notice(struct state_reader *r, struct state_cursor from)
{
	(void)from;
	return binder_notice_new(r->proc, WORK_DEATH, 0);
}

static void *make_world(struct state_reader *r, struct state_cursor from)
{
	(void)r;
	(void)from;
	return &binder_world;
}

static void *make_log(struct state_reader *r, struct state_cursor from)
{
	(void)from;
	r->log = (struct state_log){ 0 };
	return &r->log;
}

static void init_thread(struct state_reader *r, void *object)
{
	binder_thread_init(object, r->proc);
}

/* The first nodes are those whose owner is gone. */
static void init_node(struct state_reader *r, void *object)
{
	binder_node_init(object, r->proc);
}

static void init_ref(struct state_reader *r, void *object)
{
	binder_ref_init(object, r->proc);
}

/* ---- entering ------------------------------------------------------------------------ */

static void enter_proc(struct state_reader *r, void *object)
{
	struct binder_proc *proc = object;
	size_t size = proc->alloc.size;
	int err;

	proc->alloc.size = 0; /* until it is attached */
	err = host_state_proc_restore(&proc->host, &proc->alloc.map, r->host_id, size);
	if (err) {
		state_fail(r, err, "the host does not know the open");
		return;
	}
	if (size)
		err = size % HOST_PAGE_SIZE ? -EINVAL :
					       binder_alloc_attach(&proc->alloc, &proc->host,
								   proc->alloc.base, size);
	if (err)
		state_fail(r, err, "its mapping");
	state_assert_private_world();
	bl_add_tail(&binder_world.procs, &proc->world_link);
	r->proc = proc;
}

static void enter_thread(struct state_reader *r, void *object)
{
	struct binder_thread *thread = object;
	struct binder_proc *proc = r->proc;
	int err = host_state_thread_restore(&thread->host, &proc->host, thread->tid);
	bool good;

	if (err) {
		state_fail(r, err, "the host does not know the thread");
		return;
	}
	host_atomic_set(&thread->refs, 1);
	binder_proc_get(proc);
	binder_lock(&proc->inner_lock);
	good = binder_thread_insert_ilocked(proc, thread);
	binder_unlock(&proc->inner_lock);
	if (!good)
		state_fail(r, -EINVAL, "there are too many, or two with one number");
}

static void enter_node(struct state_reader *r, void *object)
{
	struct binder_node *node = object;
	struct binder_proc *proc = r->proc;
	bool good;

	if (!proc) {
		state_assert_private_world();
		bl_add_tail(&binder_world.dead_nodes, &node->dead_link);
		return;
	}
	binder_lock(&proc->inner_lock);
	good = binder_node_insert_ilocked(proc, node) == node;
	binder_unlock(&proc->inner_lock);
	if (!good)
		state_fail(r, -EINVAL, "there are too many, or two with one address");
}

/* Is the place of the buffer in the space, and large enough for what is in it? */
static bool buffer_fits(const struct binder_alloc *alloc, const struct binder_buffer *b)
{
	const struct buffer_range *range = &b->range;

	binder_assert_private(&alloc->lock);
	return range->off <= alloc->size && range->size &&
	       range->size <= alloc->size - range->off &&
	       range->off % 8 == 0 && range->size % 8 == 0 &&
	       binder_buffer_align(b->data_size) + binder_buffer_align(b->offsets_size) +
		       binder_buffer_align(b->extra_size) <= range->size &&
	       alloc->nr_buffers < BINDER_MAX_BUFFERS &&
	       (!b->async || range->size <= alloc->async_free);
}

static void enter_buffer(struct state_reader *r, void *object)
{
	struct binder_alloc *alloc = &r->proc->alloc;
	struct binder_buffer *buffer = object;

	binder_assert_private(&alloc->lock);
	state_add(&r->procs, &r->proc, sizeof(r->proc));
	if (r->procs.failed)
		state_fail(r, -ENOMEM, "no memory");
	if (r->procs.failed || buffer->released)
		return;
	if (!buffer_fits(alloc, buffer) || !range_insert(&alloc->space, &buffer->range)) {
		state_fail(r, -EINVAL, "its place in the mapping");
		return;
	}
	alloc->nr_buffers++;
	if (buffer->async)
		alloc->async_free -= buffer->range.size;
}

static void enter_log(struct state_reader *r, void *object)
{
	const struct state_log *log = object;

	(void)r;
	binder_log_restore(log->ring, &log->entry, log->context, host_strlen(log->context) + 1);
}

/* ---- by kind ------------------------------------------------------------------------- */

#define SIZE_AND_INIT(thing) .size = sizeof(struct binder_##thing), .init = init_##thing

static const struct {
	void *(*make)(struct state_reader *r, struct state_cursor from);
	/* else memory of that size, charged to the last process */
	size_t size;
	void (*init)(struct state_reader *r, void *object);
	void (*enter)(struct state_reader *r, void *object);
	bool of_proc; /* it belongs to the last process */
	bool no_object; /* nothing refers to it */
} kinds[STATE_KINDS] = {
	[STATE_WORLD] = { .make = make_world, .no_object = true },
	[STATE_CONTEXT] = { .make = make_context },
	[STATE_PROC] = { .make = make_proc, .enter = enter_proc },
	[STATE_THREAD] = { SIZE_AND_INIT(thread), .enter = enter_thread, .of_proc = true },
	[STATE_NODE] = { SIZE_AND_INIT(node), .enter = enter_node },
	[STATE_REF] = { SIZE_AND_INIT(ref), .of_proc = true },
	[STATE_NOTICE] = { .make = make_notice, .of_proc = true },
	[STATE_BUFFER] = { .size = sizeof(struct binder_buffer), .enter = enter_buffer,
			   .of_proc = true },
	[STATE_TRANSACTION] = { .make = make_transaction },
	[STATE_LOG] = { .make = make_log, .enter = enter_log, .no_object = true },
};

void *state_make(struct state_reader *r, enum state_kind kind, struct state_cursor from)
{
	void *object = NULL;

	if (kinds[kind].of_proc && !r->proc)
		state_fail(r, -EINVAL, "it belongs to no process");
	else if (kinds[kind].make)
		object = kinds[kind].make(r, from);
	else
		object = host_alloc(r->proc ? &r->proc->host : NULL, kinds[kind].size);
	if (!object)
		state_fail(r, -ENOMEM, "no memory");
	else if (kinds[kind].init)
		kinds[kind].init(r, object);
	return object;
}

void state_enter(struct state_reader *r, enum state_kind kind, void *object)
{
	if (kinds[kind].enter)
		kinds[kind].enter(r, object);
	if (!kinds[kind].no_object && !state_objects_add(&r->objects, kind, object))
		state_fail(r, -ENOMEM, "no memory");
}

/* Makes room for @desc in the set of handles, as there was. 0 or -ENOMEM. */
static int grow_descs(struct binder_proc *proc, u32 desc)
{
	u32 bits = 64;
	u64 *words;

	binder_assert_private(&proc->outer_lock);
	while (bits <= desc)
		bits *= 2;
	if (bits <= proc->descs.nbits)
		return 0;
	words = host_alloc(&proc->host, bm_words(bits) * sizeof(*words));
	if (words)
		host_free(bm_grow(&proc->descs, words, bits));
	return words ? 0 : -ENOMEM;
}

/* Gives a reference its handle. -ENOMEM; -EINVAL: the handle is used or too large. */
static int link_ref(struct binder_ref *ref)
{
	struct binder_proc *proc = ref->proc;
	bool good;

	if (!ref->node || ref->desc > BINDER_MAX_REFS)
		return -EINVAL;
	if (grow_descs(proc, ref->desc))
		return -ENOMEM;
	binder_lock(&proc->outer_lock);
	good = proc->nr_refs < BINDER_MAX_REFS && !bm_test(&proc->descs, ref->desc) &&
	       binder_ref_insert_olocked(proc, ref);
	if (good)
		bm_take(&proc->descs, ref->desc);
	binder_unlock(&proc->outer_lock);
	return good ? 0 : -EINVAL;
}

void state_link(struct state_reader *r, enum state_kind kind, void *object)
{
	struct binder_thread *thread = object;
	int err = 0;

	if (kind == STATE_THREAD && thread->freeze_target)
		binder_proc_get(thread->freeze_target);
	if (kind == STATE_REF)
		err = link_ref(object);
	if (err)
		state_fail(r, err, "its number, or its node");
}
