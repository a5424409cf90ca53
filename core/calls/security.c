// SPDX-License-Identifier: GPL-2.0
/*
 * The security context is stored at the very end of the buffer, behind what the sender
 * supplied, so that no offset of the sender can reach it.
 */
#include "calls/security.h"

#include "entities/proc.h"

int binder_secctx_get(struct binder_secctx *secctx, const struct binder_proc *sender)
{
	int err = host_secctx_get(&sender->host, &secctx->ctx, &secctx->len);

	if (err)
		return err;
	secctx->room = binder_buffer_align((size_t)secctx->len + 1);
	return 0;
}

void binder_secctx_put(struct binder_secctx *secctx)
{
	if (secctx->ctx)
		host_secctx_put(secctx->ctx, secctx->len);
	secctx->ctx = NULL;
}

int binder_secctx_store(const struct binder_secctx *secctx, struct binder_alloc *alloc,
			const struct binder_buffer *buffer, u64 *address)
{
	size_t off = binder_buffer_end(buffer) - secctx->room;
	int err = 0;

	host_map_zero(&alloc->map, off, secctx->room);
	if (secctx->len)
		err = host_map_write(&alloc->map, off, secctx->ctx, secctx->len);
	*address = binder_buffer_address(alloc, buffer) + (off - buffer->range.off);
	return err;
}
