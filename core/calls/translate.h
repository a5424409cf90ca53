/* SPDX-License-Identifier: GPL-2.0 */
/*
 * translate: the data of a transaction and the objects in it, from sender to receiver.
 */
#ifndef BINDER_TRANSLATE_H
#define BINDER_TRANSLATE_H

#include "common/abi.h"
#include "common/result.h"

struct binder_proc;
struct binder_thread;
struct binder_transaction;

struct binder_translation {
	struct binder_thread *thread; /* the sender */
	struct binder_proc *target;
	struct binder_transaction *t; /* with its buffer reserved */
	const struct binder_transaction_data *tr;
	u64 buffers_size; /* bytes of scatter-gather buffers */
	bool allow_fds;
};

/*
 * Copies and translates the data. 0, or *@why and its errno: then resources and files that
 * were translated already are listed in the buffer and in the transaction, to be dropped
 * with them. By the sender's own call. May sleep; no lock held.
 */
int binder_translate(struct binder_translation *x, struct binder_result *why);

#endif
