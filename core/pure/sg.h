/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scatter-gather plan of one transaction: where each extra buffer
 * (BINDER_TYPE_PTR) goes in the receiver's buffer, and which pointers and fd
 * arrays may be patched inside another one.  Pure: no locks, no host call.
 *
 * The rule for patches: only in the extra buffer that came last in the offsets
 * array or in the one that it hangs from, and so on upwards; and within one
 * buffer at increasing offsets, never overlapping.  So the buffers that may
 * still be patched form a chain, each hanging from the one before, and a patch
 * in one of them closes all that hang below it.  A parent is named by its place
 * in the offsets array.
 */
#ifndef BINDER_SG_H
#define BINDER_SG_H

#include "common/abi.h"

/* An extra buffer that may still be patched. */
struct sg_buffer {
	u64 index;   /* its object's place in the offsets array */
	u64 length;  /* bytes */
	u64 off;     /* where its copy starts, in the receiver's map */
	u64 source;  /* address in the sender */
	u64 min_off; /* end of the last patch in it */
};

#define SG_CHAIN_INLINE 8 /* deeper than any known client nests */

struct sg_plan {
	u64 off; /* where the next extra buffer goes, in the receiver's map */
	u64 end;
	struct sg_buffer *chain;
	u32 depth;
	u32 max;
	struct sg_buffer first[SG_CHAIN_INLINE];
};

/* The extra space is the @size bytes at @off of the map, both multiples of 8. */
void sg_init(struct sg_plan *plan, u64 off, u64 size);

/*
 * The chain has no room for one more: the caller allocates sg_next_max() entries
 * and calls sg_grow(), which returns the memory to free (NULL if none), before
 * the next sg_add_buffer().  At the end, sg_memory() is to be freed (may be NULL).
 */
bool sg_full(const struct sg_plan *plan);
u32 sg_next_max(const struct sg_plan *plan);
struct sg_buffer *sg_grow(struct sg_plan *plan, struct sg_buffer *chain, u32 max);
struct sg_buffer *sg_memory(const struct sg_plan *plan);

#define SG_NO_PATCH ((u64)-1)

/*
 * Accepts the BINDER_TYPE_PTR object at place @index of the offsets array, not
 * sg_full().  *@off: where in the map its bytes are to be copied to; *@patch:
 * where in the map its parent's pointer to it (8 bytes) is to be written, or
 * SG_NO_PATCH.  -EINVAL: longer than the extra space that is left, no such
 * parent, a parent that may not be patched (any more) or not there.  Nothing
 * has changed then.
 */
int sg_add_buffer(struct sg_plan *plan, u64 index, const struct binder_buffer_object *object,
		  u64 *off, u64 *patch);

/* No buffer so far may be a parent any more. */
void sg_bar(struct sg_plan *plan);

/*
 * Accepts a BINDER_TYPE_FDA object.  *@off: where in the map its numbers stand;
 * *@source: where in the sender.  -EINVAL: as above, or an array that does not
 * fit in its parent, or is not 4-byte aligned in the sender or the receiver.  An
 * array of no files needs a parent and takes its turn, but no room in it.
 */
int sg_add_fds(struct sg_plan *plan, const struct binder_fd_array_object *object, u64 *off,
	       u64 *source);

#endif
