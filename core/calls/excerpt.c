// SPDX-License-Identifier: GPL-2.0
#include "calls/excerpt.h"

#include "entities/proc.h"
#include "entities/thread.h"

struct binder_excerpt *binder_excerpt_new(const struct binder_thread *sender,
					  const struct binder_transaction_data *tr)
{
	struct binder_excerpt *excerpt = host_alloc(&sender->proc->host, sizeof(*excerpt));
	u64 size = tr->data_size;

	if (excerpt) {
		excerpt->size = size < HOST_TRACE_DATA_MAX ? (u32)size : HOST_TRACE_DATA_MAX;
		excerpt->to_clear = tr->flags & TF_CLEAR_BUF;
	}
	return excerpt;
}

void binder_excerpt_object(struct binder_excerpt *excerpt, u64 off, const void *object,
			   size_t size)
{
	if (off >= excerpt->size)
		return;
	if (size > excerpt->size - off)
		size = excerpt->size - off;
	host_memcpy(excerpt->bytes + off, object, size);
	excerpt->objects[off / 32] |= (u8)(1u << (off % 32 / 4));
}

void binder_excerpt_tell(struct binder_excerpt *excerpt, u32 id)
{
	const struct host_trace_data data = {
		.id = id,
		.size = excerpt->size,
		.bytes = excerpt->bytes,
		.objects = excerpt->objects,
		.to_clear = excerpt->to_clear,
	};

	if (data.size)
		host_trace_data(&data);
	host_free(excerpt);
}
