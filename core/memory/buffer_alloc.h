/* SPDX-License-Identifier: GPL-2.0 */
/*
 * binder_alloc: the receive buffers of a process, in memory that only the engine writes and
 * only the process reads; one buffer per transaction or reply delivered. pure/offset_allocator.h
 * allocates the space (offsets only) and memory/pages.h the pages behind it. What a buffer
 * keeps for its receiver (references, files) is listed beside it, so that freeing a buffer
 * never reads memory that a client can see.
 *
 * alloc->lock is a leaf: nothing sleeps under it, pages are populated and evicted outside
 * it. calls/buffer.h frees a buffer together with what it keeps.
 */
#ifndef BINDER_ALLOC_H
#define BINDER_ALLOC_H

#include "common/lock.h"
#include "memory/pages.h"
#include "pure/offset_allocator.h"

struct binder_node;
struct binder_transaction;

/* Something that a buffer keeps for its receiver and that is dropped with it. */
enum binder_resource_kind {
	RESOURCE_REF,	  /* a count of the receiver's handle `desc` */
	RESOURCE_NODE,	  /* a local reference of the receiver's own node */
	RESOURCE_FD,	  /* a file of an fd array, closed in the receiver */
	RESOURCE_DROPPED, /* what was dropped, while the buffer is being released */
};

struct binder_resource {
	u8 kind;
	bool strong;
	u32 desc;		  /* RESOURCE_REF: handle; RESOURCE_FD: file descriptor */
	struct binder_node *node; /* RESOURCE_NODE, pinned */
};

struct binder_buffer {
	struct buffer_range range; /* range.off, range.size in bytes */
	u32 debug_id;		   /* the transaction's that it came with */
	size_t data_size;
	size_t offsets_size;
	size_t extra_size;  /* scatter-gather buffers and security context */
	bool async;	    /* from the one-way half */
	bool clear_on_free; /* TF_CLEAR_BUF */
	bool user_free;	    /* the receiver may free it (BC_FREE_BUFFER); atomic */
	bool claimed;	    /* a thread is freeing it */
	bool released;	    /* the space is free already, the struct is not */
	bool oneway_spam_suspect;
	/* receiver's inner_lock, marked: reports and buffer_is_detached_racy() load it */
	struct binder_transaction *transaction;
	struct binder_node *target_node; /* pinned; NULL for replies */
	struct binder_resource *resources;
	u32 nr_resources;
};

struct binder_alloc {
	/* Set once, but for the pages of the map. */
	struct host_map map;
	u64 base;    /* user address of the mapping; set once, before size */
	size_t size; /* in bytes; 0: no mapping known; set once, atomic */

	/* Written by the senders that reserve buffers, and by the owner that frees them. */
	struct binder_lock lock HOST_LINE_ALIGNED;
	struct binder_buffer *spare; /* memory for the next buffer, or NULL; exchanged atomically */
	size_t async_free GUARDED_BY(&lock); /* bytes left for one-way calls */
	u32 nr_buffers GUARDED_BY(&lock);
	bool spam_reported GUARDED_BY(&lock);
	struct range_space space GUARDED_BY(&lock);
	struct binder_pages pages;
};

void binder_alloc_init(struct binder_alloc *alloc);
/* After the last buffer was freed. */
void binder_alloc_destroy(struct binder_alloc *alloc);

/* The process @proc mapped @size bytes at @base; see binder_mmap() in core.h. */
int binder_alloc_attach(struct binder_alloc *alloc, const struct host_proc *proc, u64 base,
			size_t size);
/* Is a mapping known? */
bool binder_alloc_is_attached(const struct binder_alloc *alloc);

struct binder_buffer_request {
	size_t data_size, offsets_size, extra_size; /* bytes */
	bool async;
	s32 pid; /* the sender's, for oneway_spam.h */
	u32 debug_id;
};
/*
 * Reserves a buffer of three sections, each rounded up to 8 bytes (an empty buffer takes
 * 8), with its pages populated, and not yet visible to BC_FREE_BUFFER. @proc: the owner
 * of @alloc, for host_map_find() while no mapping is known. NULL and *@err: -ESRCH no
 * mapping; -ENOSPC no space (async: the half of the space that one-way calls may use),
 * sizes that overflow, or BINDER_MAX_BUFFERS; -ENOMEM. May sleep; no lock held.
 */
struct binder_buffer *binder_alloc_new_buffer(struct binder_alloc *alloc, struct host_proc *proc,
					      const struct binder_buffer_request *request,
					      int *err);

/*
 * Frees space, memory and the array of resources, which must have been dropped. Zeroes
 * the space first if clear_on_free. May sleep.
 */
void binder_alloc_free_buffer(struct binder_alloc *alloc, struct binder_buffer *buffer);

/*
 * The buffer with user address @ptr, for BC_FREE_BUFFER; claimed for the caller, which
 * drops its resources and then calls binder_alloc_free_buffer(). Its space is free at once,
 * in the same locked section, unless it has to be zeroed first (clear_on_free). NULL and
 * *@err: -ENOENT no such buffer; -EPERM not delivered yet, or already being freed; -E2BIG it
 * has more than @most resources.
 */
struct binder_buffer *binder_alloc_claim_buffer(struct binder_alloc *alloc, u64 ptr, u32 most,
						int *err);
/* The buffer is delivered: its receiver may free it from now on. */
static inline void binder_buffer_allow_user_free(struct binder_buffer *buffer)
{
	host_store_release(&buffer->user_free, true);
}

/* User address of the buffer's first byte. */
static inline u64 binder_buffer_address(const struct binder_alloc *alloc,
					const struct binder_buffer *buffer)
{
	return alloc->base + buffer->range.off;
}

/* Bytes that a section of @size bytes takes. */
static inline size_t binder_buffer_align(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* Offsets of the sections in the map. */
static inline size_t binder_buffer_offsets_off(const struct binder_buffer *b)
{
	return b->range.off + binder_buffer_align(b->data_size);
}

static inline size_t binder_buffer_extra_off(const struct binder_buffer *b)
{
	return binder_buffer_offsets_off(b) + binder_buffer_align(b->offsets_size);
}

/* Behind the last section: an empty buffer takes space without one. */
static inline size_t binder_buffer_end(const struct binder_buffer *b)
{
	return binder_buffer_extra_off(b) + binder_buffer_align(b->extra_size);
}

static inline void binder_trace_buffer(enum host_trace_buffer event, const struct binder_buffer *b)
{
	host_trace_buffer(event, b->debug_id, b->data_size, b->offsets_size, b->extra_size);
}

/*
 * A buffer that was delivered and not freed, for the caller to free, after the process is
 * gone; NULL if there is none. Other buffers belong to queued work, or to a sender that is
 * filling one and will find the receiver dead.
 */
struct binder_buffer *binder_alloc_first_delivered(struct binder_alloc *alloc);

/*
 * Returns up to @max idle pages to the system; the result is their number. Waits for no
 * lock. May sleep in host_map_evict().
 */
size_t binder_alloc_shrink(struct binder_alloc *alloc, size_t max);

/*
 * For reports: copies the descriptions of up to @max buffers in order of address; returns
 * how many.
 */
struct binder_buffer_info {
	u32 debug_id;
	size_t off, data_size, offsets_size, extra_size;
	bool delivered; /* detached from its transaction */
};
/* Describes up to @max buffers at offset @from or above; returns how many. */
u32 binder_alloc_list(struct binder_alloc *alloc, size_t from, struct binder_buffer_info *info,
		      u32 max);
struct binder_alloc_stats {
	size_t free_async, buffers, pages_active, pages_lru, pages_free, high;
};
void binder_alloc_get_stats(struct binder_alloc *alloc, struct binder_alloc_stats *stats);

#endif
