/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The end of a buffer: BC_FREE_BUFFER, and everything that a buffer keeps for its receiver.
 * memory/buffer_alloc.h has its beginning.
 */
#ifndef BINDER_BUFFER_H
#define BINDER_BUFFER_H

#include "host.h"

struct binder_buffer;
struct binder_proc;
struct binder_thread;

/*
 * BC_FREE_BUFFER of the buffer with user address @ptr. A client's mistake is logged. 0;
 * BINDER_AGAIN: nothing was done, because it takes long. May sleep; no lock held.
 */
int binder_buffer_free_command(struct binder_thread *thread, u64 ptr);

/*
 * Drops what @buffer keeps and frees it. @freer: the thread of the receiver that frees it,
 * to close the files of fd arrays; NULL: they stay open, because the buffer was not
 * delivered, or the receiver is dead. May sleep; no lock held.
 */
void binder_buffer_release(struct binder_proc *proc, struct binder_thread *freer,
			   struct binder_buffer *buffer);
/* The receiver dies and all its handles are removed: the buffer need not drop them. */
void binder_buffer_forget_refs(struct binder_buffer *buffer);

#endif
