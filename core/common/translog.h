/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transaction logs: the last BINDER_LOG_ENTRIES transactions, and as many of the last
 * ones that failed, so that one can see afterwards why a call failed.
 */
#ifndef BINDER_TRANSLOG_H
#define BINDER_TRANSLOG_H

#include "host.h"
#include "common/limits.h"
#include "common/lock.h"

enum binder_log_type { LOG_CALL, LOG_ONEWAY, LOG_REPLY };

struct binder_log_entry {
	u32 debug_id; /* of the transaction; 0: the entry is unused */
	u8 call_type; /* enum binder_log_type */
	s32 from_proc, from_thread, to_proc, to_thread;
	u32 to_node;
	u32 target_handle;
	u64 data_size, offsets_size;
	u32 ret;
	s32 ret_param;
	u32 ret_line;
	char context[BINDER_NAME_MAX + 1]; /* its name; the context may be freed before this */
};

/* Empties both logs. Called once, before any other function of this file. */
void binder_log_init(void);
/* For the checkers: the lock of the entry that is being filled in, whichever it is. */
extern struct binder_lock binder_log_entry_lock;

/* The next entry of the log of all transactions or, if @failed, of failures, for the caller to fill
 * in, every field, until binder_log_end().  What is in between is under a lock of rank RANK_LOG. */
struct binder_log_entry *binder_log_begin(bool failed) ACQUIRE_LOCK(&binder_log_entry_lock);
void binder_log_end(struct binder_log_entry *e) RELEASE_LOCK(&binder_log_entry_lock);

/* The text of binder_logs/{,failed_}transaction_log, the oldest entry first. May sleep. */
void binder_report_transaction_log(struct host_out *out);
void binder_report_failed_transaction_log(struct host_out *out);

#endif
