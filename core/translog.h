/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transaction logs: what the last BINDER_LOG_ENTRIES transactions were, and
 * the last ones that failed, so that "why did that call fail?" can be answered
 * afterwards.
 */
#ifndef BINDER_TRANSLOG_H
#define BINDER_TRANSLOG_H

#include "host.h"

enum binder_log_type { LOG_CALL, LOG_ONEWAY, LOG_REPLY };

/* One transaction; filled by the sender as facts are known. */
struct binder_log_entry {
	u32 debug_id;
	u8 call_type; /* enum binder_log_type */
	s32 from_proc, from_thread, to_proc, to_thread;
	u32 to_node;
	u32 target_handle;
	u64 data_size, offsets_size;
	u32 ret;
	s32 ret_param;
	u32 ret_line;
	const char *context_name; /* copied */
};

/* Once, before anything else here. */
void binder_log_init(void);
/* Adds to the log of all, and if @failed to that of failures.  No lock of rank
 * RANK_LOG held; cheap and does not sleep. */
void binder_log_transaction(const struct binder_log_entry *e, bool failed);

/* The two logs as text, the oldest entry first.  May sleep. */
void binder_report_transaction_log(struct host_out *out);
void binder_report_failed_transaction_log(struct host_out *out);

#endif
