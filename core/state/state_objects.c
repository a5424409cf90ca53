// SPDX-License-Identifier: GPL-2.0
/*
 * Objects by their numbers; how they are made from a record, entered where they belong, and ended
 * without any of the effects that the end of a process or a call has.
 *
 * Tested in: core/state/state_test.c
 */
#include "state/state_fields.h"

#include "calls/transaction.h"
#include "common/translog.h"
#include "state.h"
#include "state/log.h"
#include "entities/context.h"
#include "entities/node.h"
#include "entities/notice.h"
#include "entities/proc.h"
#include "entities/ref.h"
#include "entities/thread.h"
#include "entities/world.h"

bool state_objects_add(struct state_objects *objects, enum state_kind kind, void *object)
{
	if (!state_number_set(&objects->numbers, object, objects->nr[kind] + 1))
		return false;
	state_add(&objects->of[kind], &object, sizeof(object));
	objects->nr[kind] += !objects->of[kind].failed;
	return !objects->of[kind].failed;
}

void state_objects_free(struct state_objects *objects)
{
	u32 kind;

	for (kind = 0; kind < STATE_KINDS; kind++)
		state_bytes_free(&objects->of[kind]);
	state_numbers_free(&objects->numbers);
	*objects = (struct state_objects){ { { NULL } } };
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
	r->host_id = id;
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

static void *make_thread(struct state_reader *r, struct state_cursor from)
{
	struct binder_thread *thread = host_alloc(&r->proc->host, sizeof(*thread));

	(void)from;
	if (thread)
		binder_thread_init(thread, r->proc);
	return thread;
}

static void *make_node(struct state_reader *r, struct state_cursor from)
{
	/* The first nodes are those whose owner is gone. */
	const struct host_proc *owner = r->proc ? &r->proc->host : NULL;
	struct binder_node *node = host_alloc(owner, sizeof(*node));

	(void)from;
	if (node)
		binder_node_init(node, r->proc);
	return node;
}

static void *make_ref(struct state_reader *r, struct state_cursor from)
{
	struct binder_ref *ref = host_alloc(&r->proc->host, sizeof(*ref));

	(void)from;
	if (ref)
		binder_ref_init(ref, r->proc);
	return ref;
}

static void *make_notice(struct state_reader *r, struct state_cursor from)
{
	struct binder_notice *notice = host_alloc(&r->proc->host, sizeof(*notice));

	(void)from;
	if (notice) {
		binder_work_init(&notice->work, WORK_DEATH);
		notice->proc = r->proc;
	}
	return notice;
}

static void *make_buffer(struct state_reader *r, struct state_cursor from)
{
	struct binder_buffer *buffer = host_alloc(&r->proc->host, sizeof(*buffer));

	(void)from;
	if (buffer) {
		bt_init(&buffer->range.by_off);
		bt_init(&buffer->range.by_gap);
	}
	return buffer;
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

static void *make_world(struct state_reader *r, struct state_cursor from)
{
	(void)r;
	(void)from;
	return &binder_world;
}

static void *make_log(struct state_reader *r, struct state_cursor from)
{
	(void)r;
	(void)from;
	return host_alloc(NULL, sizeof(struct state_log));
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
	r->entered = true;
	if (size)
		err = size % RANGE_PAGE_SIZE ? -EINVAL :
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
	r->entered = true;
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

	r->entered = true;
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

static void enter_buffer(struct state_reader *r, void *object)
{
	struct binder_buffer *buffer = object;

	r->entered = true;
	state_add(&r->procs, &r->proc, sizeof(r->proc));
	if (r->procs.failed)
		state_fail(r, -ENOMEM, "no memory");
	else if (!buffer->released && !state_enter_buffer(r->proc, buffer))
		state_fail(r, -EINVAL, "its place in the mapping");
}

static void enter_log(struct state_reader *r, void *object)
{
	struct state_log *log = object;

	(void)r;
	binder_log_restore(log->ring, &log->entry, log->context, host_strlen(log->context) + 1);
	host_free(log);
}

static void enter_plain(struct state_reader *r, void *object)
{
	(void)object;
	r->entered = true;
}

static void enter_nothing(struct state_reader *r, void *object)
{
	(void)r;
	(void)object;
}

/* ---- ending -------------------------------------------------------------------------- */

static void end_nothing(void *object)
{
	(void)object;
}

static void end_context(void *object)
{
	struct binder_context *context = object;

	binder_lock(&context->lock);
	context->manager = NULL;
	context->manager_uid_known = false;
	context->manager_uid = 0;
	binder_unlock(&context->lock);
}

/* A context that the host does not have ends with its last open. */
static void forget_context(struct binder_context *context)
{
	if (!host_state_context_id(context))
		binder_context_put(context);
}

static void unmake_context(void *object)
{
	end_context(object);
	forget_context(object);
}

static void unmake_proc(void *object)
{
	binder_proc_free(object);
}

static void end_proc(void *object)
{
	struct binder_proc *proc = object;

	bl_del(&proc->world_link);
	host_proc_destroy(&proc->host, &proc->alloc.map);
	binder_assert_private(&proc->alloc.lock);
	proc->alloc.nr_buffers = 0;
	binder_proc_free(proc);
}

static bool has_ended(struct binder_proc *proc)
{
	bool dead;

	binder_lock(&proc->inner_lock);
	dead = proc->is_dead;
	binder_unlock(&proc->inner_lock);
	return dead;
}


static void end_thread(void *object)
{
	struct binder_thread *thread = object;
	struct binder_proc *target = thread->freeze_target;

	/* A process that has ended is not among the objects. */
	if (target && has_ended(target))
		binder_proc_put(target);
	host_thread_destroy(&thread->host);
	host_free(thread->spare);
	host_free(thread->spare_transaction);
	host_free(thread);
}

static void end_node(void *object)
{
	struct binder_node *node = object;

	bl_del(&node->dead_link);
	binder_assert_private(&node->lock);
	binder_lock_destroy(&node->lock);
	host_free(node);
}

static void end_plain(void *object)
{
	host_free(object);
}

static void end_buffer(void *object)
{
	struct binder_buffer *buffer = object;

	host_free(buffer->resources);
	host_free(buffer);
}

static void end_transaction(void *object)
{
	struct binder_transaction *t = object;
	u32 i;

	for (i = 0; i < t->nr_files; i++)
		host_file_put(t->files[i].file);
	host_free(t->files);
	binder_lock_destroy(&t->lock);
	host_free(t);
}

/* ---- by kind ------------------------------------------------------------------------- */

static const struct {
	void *(*make)(struct state_reader *r, struct state_cursor from);
	void (*enter)(struct state_reader *r, void *object);
	void (*unmake)(void *object); /* before it is entered */
	void (*end)(void *object);
	bool of_proc; /* it belongs to the last process */
} kinds[STATE_REPORT] = {
	[STATE_WORLD] = { make_world, enter_nothing, end_nothing, end_nothing },
	[STATE_CONTEXT] = { make_context, enter_plain, unmake_context, end_context },
	[STATE_PROC] = { make_proc, enter_proc, unmake_proc, end_proc },
	[STATE_THREAD] = { make_thread, enter_thread, end_plain, end_thread, true },
	[STATE_NODE] = { make_node, enter_node, end_node, end_node },
	[STATE_REF] = { make_ref, enter_plain, end_plain, end_plain, true },
	[STATE_NOTICE] = { make_notice, enter_plain, end_plain, end_plain, true },
	[STATE_BUFFER] = { make_buffer, enter_buffer, end_buffer, end_buffer, true },
	[STATE_TRANSACTION] = { make_transaction, enter_plain, end_transaction, end_transaction },
	[STATE_LOG] = { make_log, enter_log, end_plain, end_plain },
};

void *state_make(struct state_reader *r, enum state_kind kind, struct state_cursor from)
{
	void *object = NULL;

	if (kinds[kind].of_proc && !r->proc)
		state_fail(r, -EINVAL, "it belongs to no process");
	else
		object = kinds[kind].make(r, from);
	if (!object)
		state_fail(r, -ENOMEM, "no memory");
	return object;
}

void state_unmake(enum state_kind kind, void *object)
{
	kinds[kind].unmake(object);
}

void state_enter(struct state_reader *r, enum state_kind kind, void *object)
{
	r->entered = false;
	kinds[kind].enter(r, object);
	if (!r->entered) {
		if (r->err)
			state_unmake(kind, object);
	} else if (!state_objects_add(&r->objects, kind, object)) {
		state_fail(r, -ENOMEM, "no memory");
		kinds[kind].end(object);
	}
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

/* Completions are known only by the todo lists that they are in. */
static void free_completions(struct bl_list *todo)
{
	struct bl_list *link, *next;

	for (link = todo->next; link != todo; link = next) {
		struct binder_work *work = bl_entry(link, struct binder_work, link);

		next = link->next;
		if (work->type >= WORK_COMPLETE && work->type <= WORK_COMPLETE_SPAM) {
			bl_del(link);
			host_free(work);
		}
	}
}

/* Puts counters, ids and logs back to what they are before the first open. */
static void forget_world(void)
{
	state_assert_private_world();
	binder_world.last_serial = 0;
	host_atomic_set(&binder_world.last_id, 0);
	host_memset(&binder_stats_world, 0, sizeof(binder_stats_world));
	binder_log_init();
}

void state_objects_end(struct state_objects *objects)
{
	u32 kind, i;

	binder_assert_unlocked();
	for (i = 0; i < objects->nr[STATE_THREAD]; i++)
		free_completions(&((struct binder_thread *)state_object_at(objects, STATE_THREAD,
									   i))->todo);
	/* First, because a device that was removed ends with its last open. */
	for (i = 0; i < objects->nr[STATE_CONTEXT]; i++)
		end_context(state_object_at(objects, STATE_CONTEXT, i));
	for (kind = STATE_TRANSACTION; kind > STATE_CONTEXT; kind--) {
		for (i = 0; i < objects->nr[kind]; i++)
			kinds[kind].end(state_object_at(objects, kind, i));
	}
	forget_world();
}

void state_forget_contexts(struct state_objects *objects)
{
	u32 i;

	for (i = 0; i < objects->nr[STATE_CONTEXT]; i++)
		forget_context(state_object_at(objects, STATE_CONTEXT, i));
}

int binder_state_discard(void)
{
	struct state_writer w = { NULL };
	int err = state_number_all(&w);

	state_left_free();
	if (!err)
		state_objects_end(&w.objects);
	state_writer_free(&w);
	return err;
}
