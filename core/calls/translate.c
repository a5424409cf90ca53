// SPDX-License-Identifier: GPL-2.0
/*
 * The data of a transaction is copied to the receiver's buffer at once. Then the objects in
 * it, named by the offsets array, are read once each from the sender, checked, translated into
 * what they mean in the receiver, and written over the copy. The sender may change its memory
 * meanwhile: what is written is what was checked, and nothing is read back from the
 * receiver's buffer. Each reference or file that an object carries is recorded (a resource of
 * the buffer, a file slot of the transaction), which is all that an undo needs.
 */
#include "calls/translate.h"

#include "calls/excerpt.h"
#include "calls/transaction.h"
#include "common/limits.h"
#include "pure/flat_object.h"
#include "pure/sg_plan.h"
#include "entities/node.h"
#include "entities/ref.h"
#include "entities/thread.h"

#define WINDOW	    4096
#define FEW_OBJECTS 4

struct walk {
	struct binder_translation *x;
	struct binder_result *why;
	struct binder_excerpt *excerpt; /* or NULL */
	struct binder_buffer *buffer;
	struct host_map *map;
	u64 base;	    /* user address of offset 0 of the map */
	u64 *offsets;	    /* a copy */
	u64 nr;
	bool copied; /* the whole data is in the buffer */
	u32 max_resources, max_files;
	u8 *window; /* a copy of a part of the sender's data, WINDOW bytes; NULL: few objects */
	u64 window_at, window_end;
	struct sg_plan sg;
	struct binder_result late; /* is returned after all objects (C driver: -EINVAL) */
	/* the current object */
	u64 index;
	size_t off; /* in the data */
	union binder_object object;
};

/* A macro, so that the line is that of the failure. */
#define translate_fail(w, err, what) binder_fail((w)->why, binder_ret_of(err), err, what)
#define translate_fail_late(w, what) binder_fail(&(w)->late, BR_FAILED_REPLY, -EINVAL, what)

static const struct host_proc *sender_of(const struct walk *w)
{
	return &w->x->thread->proc->host;
}

/* ---- resources and files ----------------------------------------------------- */

/* Makes room for one more element of an array of @owner that doubles as it grows. */
static void *grow_array(const struct host_proc *owner, void *array, u32 nr, u32 *max, size_t size)
{
	u32 want = *max ? 2 * *max : 4;
	void *bigger;

	if (nr < *max)
		return array;
	bigger = host_alloc(owner, want * size);
	if (!bigger)
		return NULL;
	if (nr)
		host_memcpy(bigger, array, nr * size);
	host_free(array);
	*max = want;
	return bigger;
}

/* Makes room for one more resource, before the reference that it records is taken. */
static struct binder_resource *next_resource(struct walk *w)
{
	struct binder_buffer *b = w->buffer;
	void *resources = grow_array(&w->x->target->host, b->resources, b->nr_resources,
				     &w->max_resources, sizeof(*b->resources));

	if (!resources)
		return NULL;
	b->resources = resources;
	return &b->resources[b->nr_resources];
}

/*
 * A host whose files are delayed by a client fails in ways that the C driver does not know. To
 * the sender they are the one that is not its fault.
 */
static int refuse_file(struct walk *w, int err)
{
	if (err == -EBUSY || err == -ETIMEDOUT || err == -EIO)
		return translate_fail(w, -ENOMEM, "the host could not take a file in time");
	return translate_fail(w, err, "bad file descriptor");
}

static int add_file(struct walk *w, u32 fd, size_t map_off, bool in_array)
{
	struct binder_transaction *t = w->x->t;
	struct binder_file_slot *slot;
	struct host_file *file;
	void *files;
	int err;

	if (t->nr_files >= BINDER_MAX_FILES)
		return translate_fail(w, -ENOMEM, "too many files in one transaction");
	files = grow_array(sender_of(w), t->files, t->nr_files, &w->max_files, sizeof(*t->files));
	if (files)
		t->files = files;
	if (!files || (in_array && !next_resource(w)))
		return translate_fail(w, -ENOMEM, "no memory for a file");
	if (!w->x->allow_fds)
		return translate_fail(w, -EPERM, "the target does not accept file descriptors");
	err = host_file_get(&w->x->thread->host, fd, &file);
	if (err)
		return refuse_file(w, err);
	if (host_may_transfer_file(&w->x->thread->proc->host, &w->x->target->host, file)) {
		host_file_put(file);
		return translate_fail(w, -EPERM, "file transfer denied by policy");
	}
	host_trace_file_sent(t->debug_id, fd, map_off - w->buffer->range.off);
	slot = &t->files[t->nr_files++];
	slot->file = file;
	slot->off = map_off;
	slot->resource = NO_RESOURCE;
	if (in_array) {
		slot->resource = w->buffer->nr_resources++;
		w->buffer->resources[slot->resource] = (struct binder_resource){
			.kind = RESOURCE_FD, .desc = ~0u
		};
	}
	return 0;
}

/* ---- one function per type of object ------------------------------------------ */

/* @from, @to: handles of the sender and of the receiver, 0 if it is not a handle. */
static void trace_object(struct walk *w, enum host_trace_object what,
			 const struct binder_node *node, u32 from, u32 to)
{
	struct host_trace_translation x;

	if (!host_trace_objects_wanted())
		return;
	x = (struct host_trace_translation){
		.id = w->x->t->debug_id,
		.node = node->debug_id,
		.ptr = node->ptr,
		.from_ref = from ? binder_ref_debug_id(w->x->thread->proc, from) : 0,
		.from_desc = from,
		.to_ref = to ? binder_ref_debug_id(w->x->target, to) : 0,
		.to_desc = to,
	};
	host_trace_object(what, &x);
}

/*
 * The receiver gets a handle for @node. @owner: the sending thread, whose process has the node and
 * may have to be notified; NULL: the node is of another process.
 */
static int give_handle(struct walk *w, struct binder_node *node, bool strong,
		       struct binder_thread *owner)
{
	struct flat_binder_object *o = &w->object.flat;
	struct binder_resource *resource = next_resource(w);
	u32 desc = 0;
	int err;

	if (!resource)
		return translate_fail(w, -ENOMEM, "no memory for an object");
	err = binder_ref_inc_node(w->x->target, node, strong, owner, &desc);
	if (err)
		return translate_fail(w, err, "no handle available in the receiver");
	*resource = (struct binder_resource){
		.kind = RESOURCE_REF, .strong = strong, .desc = desc
	};
	w->buffer->nr_resources++;
	trace_object(w, owner ? HOST_TRACE_NODE_TO_REF : HOST_TRACE_REF_TO_REF, node,
		     owner ? 0 : o->handle, desc);
	o->hdr.type = strong ? BINDER_TYPE_HANDLE : BINDER_TYPE_WEAK_HANDLE;
	o->binder = 0;
	o->handle = desc;
	o->cookie = 0;
	return 0;
}

/* A node of the sender: the receiver gets a handle. */
static int translate_binder(struct walk *w)
{
	struct flat_binder_object *o = &w->object.flat;
	bool strong = o->hdr.type == BINDER_TYPE_BINDER;
	struct binder_proc *proc = w->x->thread->proc;
	struct binder_node *node;
	int err;

	node = binder_node_find_or_new(proc, o);
	if (!node)
		return translate_fail(w, -ENOMEM, "no memory for a node");
	if (node->cookie != o->cookie)
		err = translate_fail(w, -EINVAL, "cookie differs from that of the known object");
	else if (host_may_transfer_object(&proc->host, &w->x->target->host))
		err = translate_fail(w, -EPERM, "object transfer denied by policy");
	else
		err = give_handle(w, node, strong, w->x->thread);
	binder_node_unpin(node);
	return err;
}

/* A handle whose node is the receiver's: it gets the node. */
static int give_node(struct walk *w, struct binder_node *node, bool strong)
{
	struct flat_binder_object *o = &w->object.flat;
	struct binder_resource *resource = next_resource(w);

	if (!resource)
		return translate_fail(w, -ENOMEM, "no memory for an object");
	binder_node_get_local(node, strong);
	*resource = (struct binder_resource){
		.kind = RESOURCE_NODE, .strong = strong, .node = node
	};
	w->buffer->nr_resources++;
	trace_object(w, HOST_TRACE_REF_TO_NODE, node, o->handle, 0);
	o->hdr.type = strong ? BINDER_TYPE_BINDER : BINDER_TYPE_WEAK_BINDER;
	o->binder = node->ptr;
	o->cookie = node->cookie;
	return 0;
}

static int translate_handle(struct walk *w)
{
	struct flat_binder_object *o = &w->object.flat;
	bool strong = o->hdr.type == BINDER_TYPE_HANDLE;
	struct binder_proc *proc = w->x->thread->proc;
	struct binder_node *node;
	int err;

	node = binder_ref_get_node(proc, o->handle, strong);
	if (!node)
		return translate_fail(w, -EINVAL, "unknown handle in an object");
	if (host_may_transfer_object(&proc->host, &w->x->target->host))
		err = translate_fail(w, -EPERM, "object transfer denied by policy");
	else if (binder_node_is_owned_by(node, w->x->target))
		err = give_node(w, node, strong);
	else
		err = give_handle(w, node, strong, NULL);
	binder_node_unpin(node);
	return err;
}

static int translate_fd(struct walk *w)
{
	size_t at = w->buffer->range.off + w->off + offsetof(struct binder_fd_object, fd);

	return add_file(w, w->object.fd.fd, at, false);
}

static int translate_fda(struct walk *w)
{
	const struct binder_fd_array_object *o = &w->object.fda;
	u64 off, source, i;
	u32 *fds;
	int err;

	err = sg_add_fds(&w->sg, o, &off, &source);
	if (err)
		return translate_fail(w, err,
				      "fd array out of bounds or out of order in its parent");
	if (!o->num_fds)
		return 0;
	if (o->num_fds > BINDER_MAX_FILES)
		return translate_fail(w, -ENOMEM, "too many files in one transaction");
	fds = host_alloc(sender_of(w), o->num_fds * sizeof(*fds));
	if (!fds)
		return translate_fail(w, -ENOMEM, "no memory for an fd array");
	err = host_read_caller(&w->x->thread->host, fds, source, o->num_fds * sizeof(*fds));
	if (err == -EFAULT)
		err = -EINVAL; /* as the C driver */
	if (err)
		translate_fail(w, err, "fd array not readable");
	for (i = 0; i < o->num_fds && !err; i++)
		err = add_file(w, fds[i], off + i * sizeof(*fds), true);
	host_free(fds);
	return err;
}

static int translate_ptr(struct walk *w)
{
	struct binder_buffer_object *o = &w->object.buffer;
	u64 off, patch, address;
	int err;

	if (sg_full(&w->sg)) {
		u32 max = sg_next_max(&w->sg);
		struct sg_buffer *chain = host_alloc(sender_of(w), max * sizeof(*chain));

		if (!chain)
			return translate_fail(w, -ENOMEM, "no memory for nested buffers");
		host_free(sg_grow(&w->sg, chain, max));
	}
	err = sg_add_buffer(&w->sg, w->index, o, &off, &patch);
	if (err)
		return translate_fail(w, err, "scatter-gather buffer too large, or bad parent");
	if (!w->off)
		sg_bar(&w->sg); /* the C driver takes offset 0 for "no parent" */
	err = host_map_copy(w->map, off, &w->x->thread->host, o->buffer, o->length);
	if (err == -ESRCH)
		return translate_fail(w, err, "the sender died");
	if (err)
		translate_fail_late(w, "scatter-gather buffer not readable");
	address = w->base + off;
	o->buffer = address;
	if (patch != SG_NO_PATCH &&
	    (patch % sizeof(u32) || host_map_write(w->map, patch, &address, sizeof(address))))
		translate_fail_late(w, "pointer in a scatter-gather buffer not writable");
	return 0;
}

static const struct {
	u32 type;
	int (*translate)(struct walk *w);
} translations[] = {
	{ BINDER_TYPE_BINDER, translate_binder },
	{ BINDER_TYPE_WEAK_BINDER, translate_binder },
	{ BINDER_TYPE_HANDLE, translate_handle },
	{ BINDER_TYPE_WEAK_HANDLE, translate_handle },
	{ BINDER_TYPE_FD, translate_fd },
	{ BINDER_TYPE_FDA, translate_fda },
	{ BINDER_TYPE_PTR, translate_ptr },
};

/* ---- the walk ------------------------------------------------------------------ */

/*
 * Copies the data between objects if it could not be copied as a whole: which error is
 * returned depends on what is reached first.
 */
static int copy_between(struct walk *w, u64 from, u64 to)
{
	int err = 0;

	if (!w->copied && to > from)
		err = host_map_copy(w->map, w->buffer->range.off + from, &w->x->thread->host,
				    w->x->tr->data.ptr.buffer + from, to - from);
	return err ? translate_fail(w, err, "data not readable") : 0;
}

/*
 * Reads @size bytes of the sender's data for the object at @off. Reading from another process costs
 * as much as many objects, so the next ones are read at the same time where they are many.
 */
static int read_object(struct walk *w, u64 off, size_t size)
{
	const struct binder_translation *x = w->x;
	u64 rest = x->tr->data_size - off;

	if (w->window && (off < w->window_at || off + size > w->window_end)) {
		w->window_at = off;
		w->window_end = off + (rest < WINDOW ? rest : WINDOW);
		if (host_read_caller(&x->thread->host, w->window, x->tr->data.ptr.buffer + off,
				     w->window_end - off))
			w->window_end = off; /* a part of it is not readable */
	}
	if (off >= w->window_at && off + size <= w->window_end) {
		host_memcpy(&w->object, w->window + (off - w->window_at), size);
		return 0;
	}
	return host_read_caller(&x->thread->host, &w->object, x->tr->data.ptr.buffer + off, size);
}

static int translate_one(struct walk *w, u64 off, u64 *min_off)
{
	const struct binder_translation *x = w->x;
	size_t avail, size, k;
	int err;

	/*
	 * The C driver copies the data between objects as it goes, and fails with
	 * -EFAULT if there is none.
	 */
	if (off < *min_off || off > x->tr->data_size)
		return translate_fail(w, -EFAULT, "object offsets out of order or out of bounds");
	avail = binder_object_readable(off, *min_off, x->tr->data_size);
	err = copy_between(w, *min_off, off);
	if (err)
		return err;
	if (!avail)
		return translate_fail(w, -EINVAL, "object offset unaligned or out of bounds");
	err = read_object(w, off, avail);
	if (err)
		return translate_fail(w, -EINVAL, "object not readable");
	size = binder_object_check(&w->object, avail);
	if (!size)
		return translate_fail(w, -EINVAL, "unknown or truncated object");
	w->off = off;
	for (k = 0; translations[k].type != w->object.hdr.type;)
		k++; /* binder_object_check() accepts the same types */
	err = translations[k].translate(w);
	if (err)
		return err;
	*min_off = off + size;
	if (w->excerpt)
		binder_excerpt_object(w->excerpt, off, &w->object, size);
	err = host_map_write(w->map, w->buffer->range.off + off, &w->object, size);
	return err ? translate_fail(w, err, "object not writable") : 0;
}

static int fetch_offsets(struct walk *w)
{
	const struct binder_transaction_data *tr = w->x->tr;
	int err;

	if (tr->offsets_size % sizeof(u64))
		return translate_fail(w, -EINVAL, "offsets size is not a multiple of 8");
	if (w->x->buffers_size % sizeof(u64))
		return translate_fail(w, -EINVAL, "buffers size is not a multiple of 8");
	w->nr = tr->offsets_size / sizeof(u64);
	if (!w->nr)
		return 0;
	if (w->nr > BINDER_MAX_OBJECTS)
		return translate_fail(w, -ENOMEM, "too many objects in one transaction");
	w->offsets = host_alloc_large(sender_of(w), tr->offsets_size);
	if (w->offsets && w->nr > FEW_OBJECTS)
		w->window = host_alloc(sender_of(w), WINDOW);
	if (!w->offsets || (w->nr > FEW_OBJECTS && !w->window))
		return translate_fail(w, -ENOMEM, "no memory for the offsets");
	err = host_read_caller(&w->x->thread->host, w->offsets, tr->data.ptr.offsets,
			       tr->offsets_size);
	if (!err)
		err = host_map_write(w->map, binder_buffer_offsets_off(w->buffer), w->offsets,
				     tr->offsets_size);
	return err ? translate_fail(w, err, "offsets not readable") : 0;
}

static int walk_objects(struct walk *w)
{
	u64 min_off = 0;
	int err = 0;

	sg_init(&w->sg, binder_buffer_extra_off(w->buffer), w->x->buffers_size);
	w->base = binder_buffer_address(&w->x->target->alloc, w->buffer) - w->buffer->range.off;
	for (w->index = 0; w->index < w->nr && !err; w->index++)
		err = translate_one(w, w->offsets[w->index], &min_off);
	if (!err)
		err = copy_between(w, min_off, w->x->tr->data_size);
	host_free(sg_memory(&w->sg));
	if (err || !w->late.err)
		return err;
	*w->why = w->late;
	return w->late.err;
}

/* @copied: the data is in the buffer already. */
static int translate_objects(struct binder_translation *x, bool copied,
			     struct binder_excerpt *excerpt, struct binder_result *why)
{
	struct walk w = {
		.x = x,
		.why = why,
		.excerpt = excerpt,
		.buffer = x->t->buffer,
		.map = &x->target->alloc.map,
		.copied = copied,
	};
	int err = fetch_offsets(&w);

	if (!err && (w.nr || !w.copied))
		err = walk_objects(&w);
	host_free(w.window);
	host_free(w.offsets);
	return err;
}

/* Copies the data from byte @from on. */
static int copy_from(struct binder_translation *x, u64 from)
{
	const struct binder_transaction_data *tr = x->tr;

	if (from >= tr->data_size)
		return 0;
	return host_map_copy(&x->target->alloc.map, x->t->buffer->range.off + from,
			     &x->thread->host, tr->data.ptr.buffer + from, tr->data_size - from);
}

/* Copies the data, its first bytes through the excerpt, which is empty if that fails. */
static int copy_through(struct binder_translation *x, struct binder_excerpt *excerpt)
{
	int err = host_read_caller(&x->thread->host, excerpt->bytes, x->tr->data.ptr.buffer,
				   excerpt->size);

	if (!err)
		err = host_map_write(&x->target->alloc.map, x->t->buffer->range.off, excerpt->bytes,
				     excerpt->size);
	if (!err)
		err = copy_from(x, excerpt->size);
	if (err)
		excerpt->size = 0;
	return err;
}

int binder_translate(struct binder_translation *x, struct binder_result *why)
{
	const struct binder_transaction_data *tr = x->tr;
	struct binder_excerpt *excerpt = NULL;
	bool copied;
	int err = 0;

	if (binder_excerpt_wanted(tr))
		excerpt = binder_excerpt_new(x->thread, tr);
	copied = !(excerpt ? copy_through(x, excerpt) : copy_from(x, 0));
	if (!copied || tr->offsets_size || x->buffers_size)
		err = translate_objects(x, copied, excerpt, why);
	if (excerpt)
		binder_excerpt_tell(excerpt, x->t->debug_id);
	return err;
}
