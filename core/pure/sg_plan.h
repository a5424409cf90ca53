/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scatter-gather plan of one transaction: the offset of each extra buffer
 * (BINDER_TYPE_PTR) in the receiver's buffer, and the places in extra buffers where
 * pointers and fd arrays are patched. Pure: no locks, no host call.
 *
 * A pointer or fd array may be patched into the last extra buffer of the offsets array so
 * far, into its parent, the parent of that one and so on; and within one buffer at
 * increasing offsets, without overlap. So the buffers that can still be patched form a
 * chain of parents and children, and patching one of them closes all its descendants. An
 * object names its parent by the index of the parent's object in the offsets array.
 */
#ifndef BINDER_SG_H
#define BINDER_SG_H

#include "common/abi.h"

/* An extra buffer that can still be patched. */
struct sg_buffer {
	u64 index;   /* index of its object in the offsets array */
	u64 length;  /* bytes */
	u64 off;     /* where its copy is in the receiver's map */
	u64 source;  /* address in the sender */
	u64 min_off; /* end of the last patch in it */
};

#define SG_CHAIN_INLINE 8 /* deeper than any known client nests */

struct sg_plan {
	u64 off; /* where the next extra buffer goes in the receiver's map */
	u64 end; /* the extra section's */
	struct sg_buffer *chain;
	u32 depth;
	u32 max;
	struct sg_buffer first[SG_CHAIN_INLINE];
};

/* Initialises a plan for an extra section of @size bytes at @off of the map, multiples of 8. */
void sg_init(struct sg_plan *plan, u64 off, u64 size);

/*
 * While sg_full(), no buffer can be added: the caller allocates sg_next_max() entries and
 * passes them to sg_grow(), which returns the memory to be freed, or NULL. When the plan is
 * no longer needed, the caller frees sg_memory(), which may be NULL.
 */
bool sg_full(const struct sg_plan *plan);
u32 sg_next_max(const struct sg_plan *plan);
struct sg_buffer *sg_grow(struct sg_plan *plan, struct sg_buffer *chain, u32 max);
struct sg_buffer *sg_memory(const struct sg_plan *plan);

#define SG_NO_PATCH ((u64)-1)

/*
 * Adds the BINDER_TYPE_PTR object @index of the offsets array; the plan is not full. Stores
 * the offset in the map to which its bytes are to be copied in *@off, and in *@patch that
 * of the pointer (8 bytes) to it in its parent, or SG_NO_PATCH.
 *
 * -EINVAL, with nothing changed: longer than the rest of the extra section, no such parent,
 * or the parent cannot be patched (any more) at that offset.
 */
int sg_add_buffer(struct sg_plan *plan, u64 index, const struct binder_buffer_object *object,
		  u64 *off, u64 *patch);

/* Closes all buffers added so far: none can be a parent any more. */
void sg_bar(struct sg_plan *plan);

/*
 * Adds a BINDER_TYPE_FDA object. Stores the offset of its file descriptors in the map in
 * *@off, and their address in the sender in *@source. An empty array needs a valid parent
 * and a valid parent_offset, but no space.
 *
 * -EINVAL: as above, or the array does not fit in its parent, or it is not aligned to 4
 * bytes in the sender or the receiver.
 */
int sg_add_fds(struct sg_plan *plan, const struct binder_fd_array_object *object, u64 *off,
	       u64 *source);

#endif
