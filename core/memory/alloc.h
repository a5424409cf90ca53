/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive buffers: the memory of a process that only the engine writes and only
 * the process reads, and the buffers cut from it, one per transaction or reply
 * delivered.  Space is reserved in range.h (pure offsets), backed by pages in
 * pages.h, and what a buffer holds for its receiver (references, files) is
 * remembered beside it, so that releasing it never reads memory that a client
 * can see.
 *
 * alloc->lock is a leaf: nothing sleeps under it, pages come and go outside it.
 */
#ifndef BINDER_ALLOC_H
#define BINDER_ALLOC_H

#include "base/list.h"
#include "common/lock.h"
#include "memory/pages.h"
#include "pure/range.h"

struct binder_node;
struct binder_transaction;

/* One thing that a buffer holds for its receiver, dropped with the buffer. */
enum binder_resource_kind {
	RESOURCE_REF,  /* a count on the receiver's handle `desc` */
	RESOURCE_NODE, /* a local count on the receiver's own node */
	RESOURCE_FD,   /* a file of an fd array, closed in the receiver */
};

struct binder_resource {
	u8 kind;
	bool strong;
	u32 desc;		  /* RESOURCE_REF: handle; RESOURCE_FD: number */
	struct binder_node *node; /* RESOURCE_NODE, pinned */
};

struct binder_buffer {
	struct buffer_range range;	/* where: range.off, range.size in bytes */
	u32 debug_id;		/* id of the transaction that it came with */
	size_t data_size;
	size_t offsets_size;
	size_t extra_size;	/* scatter-gather buffers and security context */
	bool async;		/* from the one-way half */
	bool clear_on_free;	/* TF_CLEAR_BUF */
	bool user_free;		/* the receiver may free it (BC_FREE_BUFFER); atomic */
	bool claimed;		/* somebody is freeing it */
	bool oneway_spam_suspect;
	/* guarded by the receiver's inner_lock */
	struct binder_transaction *transaction;
	struct binder_node *target_node; /* pinned; NULL for replies */
	struct binder_resource *resources;
	u32 nr_resources;
};

struct binder_alloc {
	struct binder_lock lock;
	struct host_map map;
	u64 base GUARDED_BY(&lock);	/* of the mapping in the process */
	size_t size GUARDED_BY(&lock);	/* in bytes; 0: no mapping known */
	struct range_space space GUARDED_BY(&lock);
	struct binder_pages pages;
	size_t async_free GUARDED_BY(&lock); /* bytes left for one-way calls */
	bool spam_reported GUARDED_BY(&lock);
	u32 nr_buffers GUARDED_BY(&lock);
	struct binder_buffer *spare GUARDED_BY(&lock); /* for the next one */
};

void binder_alloc_init(struct binder_alloc *alloc);

/* Tells of the mapping at @base, @size bytes, rounded down to whole pages.
 * -EBUSY: there is one already; -EINVAL: less than a page; -ENOMEM.  May sleep. */
int binder_alloc_attach(struct binder_alloc *alloc, u64 base, size_t size);

/* No mapping was ever told of nor found. */
bool binder_alloc_is_attached(struct binder_alloc *alloc);

/*
 * Reserves a buffer of three parts, each rounded up to 8 bytes (an empty buffer
 * still takes 8), with its pages populated, and not yet visible to
 * BC_FREE_BUFFER.
 * @proc: whose alloc this is, for host_map_find() while no mapping is known.
 * @pid: of the sender, for the one-way spam rule: once less than a tenth of
 *	the space is left to one-way calls, a sender who holds more than 50
 *	one-way buffers or more than a quarter of the whole space is a suspect;
 *	said once (buffer->oneway_spam_suspect) until space has recovered.
 * @err: -ESRCH no mapping; -ENOSPC no room, sizes that overflow (async: the
 *	half of the whole space that one-way calls may use) or too many buffers
 *	(BINDER_MAX_BUFFERS); -ENOMEM.
 * May sleep; no lock held.
 */
struct binder_buffer *binder_alloc_new_buffer(struct binder_alloc *alloc,
					struct host_proc *proc,
					size_t data_size, size_t offsets_size,
					size_t extra_size, bool async, s32 pid,
					int *err);

/* Gives space and memory back.  holds[] must have been dropped; the array
 * itself is freed here.  Zeroes first if clear_on_free.  May sleep. */
void binder_alloc_free_buffer(struct binder_alloc *alloc,
			struct binder_buffer *buffer);

/* The buffer whose user address is @ptr, for BC_FREE_BUFFER; claimed for the
 * caller.  NULL and *err: -ENOENT no such buffer; -EPERM it exists but is not
 * the process's to free yet, or is being freed. */
struct binder_buffer *binder_alloc_claim_buffer(struct binder_alloc *alloc, u64 ptr,
					  int *err);
/* The receiver has been told of it: it may free it from now on. */
void binder_buffer_allow_user_free(struct binder_buffer *buffer);

/* Address of the buffer's first byte in the process. */
u64 binder_buffer_address(struct binder_alloc *alloc,
			  const struct binder_buffer *buffer);

/* What a part of @size bytes takes in a buffer. */
static inline size_t binder_buffer_align(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* Offset (in the map) of the parts of a buffer. */
static inline size_t binder_buffer_offsets_off(const struct binder_buffer *b)
{
	return b->range.off + binder_buffer_align(b->data_size);
}

static inline size_t binder_buffer_extra_off(const struct binder_buffer *b)
{
	return binder_buffer_offsets_off(b) + binder_buffer_align(b->offsets_size);
}

static inline void binder_trace_buffer(enum host_trace_buffer what, const struct binder_buffer *b)
{
	host_trace_buffer(what, b->debug_id, b->data_size, b->offsets_size, b->extra_size);
}

/* Hands out the buffers that were delivered and not freed, one by one, when the
 * process is gone, each to be freed by the caller; NULL when there is none.  The
 * others have owners of their own: the work that is still queued, or the sender
 * that is filling one at this moment and will find the receiver dead. */
struct binder_buffer *binder_alloc_first_buffer(struct binder_alloc *alloc);
/* After the last buffer. */
void binder_alloc_destroy(struct binder_alloc *alloc);

/* Gives up to @max idle pages (of buffers freed) back to the system; returns
 * how many.  Never waits for a lock.  May sleep in the home's evict. */
size_t binder_alloc_shrink(struct binder_alloc *alloc, size_t max);

/* For reports: calls @fn for each buffer in order of address with the lock
 * held, on a copy that fits in @max entries; returns how many were copied. */
struct binder_buffer_info {
	u32 debug_id;
	size_t off, data_size, offsets_size, extra_size;
	bool delivered; /* its transaction is over or delivered */
};
u32 binder_alloc_list(struct binder_alloc *alloc,
		      struct binder_buffer_info *info, u32 max);
struct binder_alloc_stats {
	size_t free_async, buffers, pages_active, pages_lru, pages_free, high;
};
void binder_alloc_get_stats(struct binder_alloc *alloc,
			    struct binder_alloc_stats *stats);

#endif
