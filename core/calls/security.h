/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sender's security context, for nodes that request it
 * (FLAT_BINDER_FLAG_TXN_SECURITY_CTX): a string at the end of the buffer. Where the
 * system has none it is the empty string; the C driver fails the call then
 * (docs/PROTOCOL.md tells why).
 */
#ifndef BINDER_SECURITY_H
#define BINDER_SECURITY_H

#include "memory/buffer_alloc.h"

struct binder_proc;

struct binder_secctx {
	const char *ctx; /* NULL if none */
	u32 len;	 /* without the final NUL */
	size_t room;	 /* bytes to reserve at the end of the extra section; 0: not requested */
};

/*
 * Fills *@secctx for a call of @sender. Undone by binder_secctx_put(), which also accepts
 * an all-zero one. May sleep; errno.
 */
int binder_secctx_get(struct binder_secctx *secctx, const struct binder_proc *sender);
void binder_secctx_put(struct binder_secctx *secctx);
/* Stores @secctx in @buffer; *@address: its user address in the receiver. May sleep; errno. */
int binder_secctx_store(const struct binder_secctx *secctx, struct binder_alloc *alloc,
			const struct binder_buffer *buffer, u64 *address);

#endif
