// SPDX-License-Identifier: GPL-2.0
/*
 * The chain of buffers that can still be patched is a stack: the last buffer on top, its
 * parent below it, and so on. Patching a buffer that is not on top pops the ones above it;
 * a buffer without a parent starts a new chain. So the amortised cost of an object is O(1),
 * as a search without a result fails the transaction.
 */
#include "pure/sg_plan.h"
#include "base/checked.h"
#include "host.h"

void sg_init(struct sg_plan *plan, u64 off, u64 size)
{
	plan->off = off;
	plan->end = off + size;
	plan->chain = plan->first;
	plan->depth = 0;
	plan->max = SG_CHAIN_INLINE;
}

bool sg_full(const struct sg_plan *plan)
{
	return plan->depth == plan->max;
}

u32 sg_next_max(const struct sg_plan *plan)
{
	return plan->max * 2;
}

struct sg_buffer *sg_memory(const struct sg_plan *plan)
{
	return plan->chain == plan->first ? NULL : plan->chain;
}

struct sg_buffer *sg_grow(struct sg_plan *plan, struct sg_buffer *chain, u32 max)
{
	struct sg_buffer *old = sg_memory(plan);

	host_memcpy(chain, plan->chain, plan->depth * sizeof(*chain));
	plan->chain = chain;
	plan->max = max;
	return old;
}

/* The depth of the chain up to and including the buffer of object @index; 0 if not found. */
static u32 find_object(const struct sg_plan *plan, u64 index)
{
	u32 depth = plan->depth;

	while (depth && plan->chain[depth - 1].index != index)
		depth--;
	return depth;
}

int sg_add_buffer(struct sg_plan *plan, u64 index, const struct binder_buffer_object *object,
		  u64 *off, u64 *patch)
{
	struct sg_buffer *parent;
	u64 left = plan->end - plan->off;
	u32 depth = 0;

	if (object->length > left)
		return -EINVAL;
	*patch = SG_NO_PATCH;
	if (object->flags & BINDER_BUFFER_FLAG_HAS_PARENT) {
		depth = find_object(plan, object->parent);
		if (!depth)
			return -EINVAL;
		parent = &plan->chain[depth - 1];
		if (object->parent_offset < parent->min_off ||
		    !ck_within(object->parent_offset, sizeof(u64), parent->length))
			return -EINVAL;
		*patch = parent->off + object->parent_offset;
		parent->min_off = object->parent_offset + sizeof(u64);
	}
	*off = plan->off;
	plan->chain[depth] = (struct sg_buffer){
		.index = index,
		.length = object->length,
		.off = plan->off,
		.source = object->buffer,
	};
	plan->depth = depth + 1;
	/* The section is a multiple of 8, so rounding up stays within it. */
	plan->off += (object->length + 7) & ~(u64)7;
	return 0;
}

void sg_bar(struct sg_plan *plan)
{
	plan->depth = 0;
}

int sg_add_fds(struct sg_plan *plan, const struct binder_fd_array_object *object, u64 *off,
	       u64 *source)
{
	struct sg_buffer *parent;
	u32 depth = find_object(plan, object->parent);
	u64 size;

	if (!depth)
		return -EINVAL;
	parent = &plan->chain[depth - 1];
	if (object->parent_offset < parent->min_off)
		return -EINVAL;
	/* May wrap around if there are no files; they are not used then. */
	*off = parent->off + object->parent_offset;
	*source = parent->source + object->parent_offset;
	if (object->num_fds) {
		if (!ck_mul_u64(object->num_fds, sizeof(u32), &size) ||
		    !ck_within(object->parent_offset, size, parent->length) ||
		    (*off | *source) % sizeof(u32))
			return -EINVAL;
		parent->min_off = object->parent_offset + size;
	} else {
		parent->min_off = object->parent_offset;
	}
	plan->depth = depth;
	return 0;
}
