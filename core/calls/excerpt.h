/* SPDX-License-Identifier: GPL-2.0 */
/*
 * excerpt: the first bytes of the data of a transaction, for a trace. The data is copied to the
 * receiver through it, so that both are the same, whatever the sender writes meanwhile; nothing is
 * read back from a buffer that a process has mapped.
 */
#ifndef BINDER_EXCERPT_H
#define BINDER_EXCERPT_H

#include "common/abi.h"
#include "host.h"

struct binder_thread;

struct binder_excerpt {
	u8 bytes[HOST_TRACE_DATA_MAX];	      /* first, to be aligned */
	u8 objects[HOST_TRACE_DATA_MAX / 32]; /* as in struct host_trace_data */
	u32 size;			      /* bytes; 0: it could not be read */
	bool to_clear;			      /* as in struct host_trace_data */
};

/* Inline, because it is asked in each transaction, and nearly always the answer is no. */
static inline bool binder_excerpt_wanted(const struct binder_transaction_data *tr)
{
	return host_trace_data_wanted(tr->flags & TF_CLEAR_BUF) && tr->data_size;
}

/*
 * An excerpt of @tr, which is wanted, to be filled; NULL: there is no memory for it. Pair:
 * binder_excerpt_tell(). May sleep.
 */
struct binder_excerpt *binder_excerpt_new(const struct binder_thread *sender,
					  const struct binder_transaction_data *tr);

/* An object of @size bytes at @off of the data was translated. */
void binder_excerpt_object(struct binder_excerpt *excerpt, u64 off, const void *object,
			   size_t size);

/* Gives @excerpt to the trace, as the data of transaction @id, and frees it. */
void binder_excerpt_tell(struct binder_excerpt *excerpt, u32 id);

#endif
