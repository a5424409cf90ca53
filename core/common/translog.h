/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transaction logs: the last BINDER_LOG_ENTRIES transactions, and as many of the last
 * ones that failed, so that one can see afterwards why a call failed.
 */
#ifndef BINDER_TRANSLOG_H
#define BINDER_TRANSLOG_H

#include "host.h"

enum binder_log_type { LOG_CALL, LOG_ONEWAY, LOG_REPLY };

/* Rings of the log of all transactions. */
#define BINDER_LOG_RINGS 16

struct binder_log_entry {
	u64 start_ns; /* when the transaction began (host_now_ns()): the order in the text */
	u32 debug_id; /* the transaction's; 0: the entry is unused */
	u8 call_type; /* enum binder_log_type */
	s32 from_proc, from_thread, to_proc, to_thread;
	u32 to_node;
	u32 target_handle;
	u64 data_size, offsets_size;
	u32 ret;
	s32 ret_param;
	u32 ret_line;
};

/* Empties both logs. Called once, before any other function of this file. */
void binder_log_init(void);
/*
 * Adds @entry to the log of failures, if @failed, or to that of all transactions. @context:
 * the name of the device, @size bytes with the final NUL. Does not sleep; any lock may be
 * held.
 */
void binder_log_add(bool failed, const struct binder_log_entry *entry, const char *context,
		    size_t size);

/*
 * The entry @nr of ring @ring, from the oldest one on; ring BINDER_LOG_RINGS is that of the
 * failures. *@context: BINDER_NAME_MAX + 1 bytes. False: there are fewer. binder_log_restore() adds
 * it to its ring again.
 */
#ifdef HOST_HANDS_OVER
bool binder_log_get(u32 ring, u32 nr, struct binder_log_entry *entry, char *context);
void binder_log_restore(u32 ring, const struct binder_log_entry *entry, const char *context,
			size_t size);
#endif

/* The text of binder_logs/{,failed_}transaction_log, the oldest entry first. May sleep. */
void binder_report_transaction_log(struct host_out *out);
void binder_report_failed_transaction_log(struct host_out *out);

#endif
