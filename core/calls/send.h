/* SPDX-License-Identifier: GPL-2.0 */
/*
 * send: BC_TRANSACTION, BC_REPLY and their _SG forms.
 */
#ifndef BINDER_SEND_H
#define BINDER_SEND_H

#include "common/abi.h"

struct binder_thread;

/*
 * Sends @tr. @buffers_size: bytes of scatter-gather buffers, 0 without _SG. Errors become
 * return codes of the thread. May sleep; no lock held.
 */
void binder_send(struct binder_thread *thread, const struct binder_transaction_data *tr,
		 u64 buffers_size, bool is_reply);

#endif
