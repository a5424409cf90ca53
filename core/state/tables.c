// SPDX-License-Identifier: GPL-2.0
/*
 * The fields of each record, in the order of the stream. A new field goes to the end of its table,
 * with the version of the stream that it came with; when it is missing it is zero, or as the object
 * was made. What is in no table is in tests/engine/state/unwritten, with the reason.
 */
#include "state/state_stream.h"

/* tests/engine/state/test_state_members.py reads the tables, to find members that are in none. */
#define STATE_SIZE(s, m) sizeof(((struct s *)0)->m)
#define FIELD(s, m, read_) \
	.name = #s "." #m, .read = read_, .since = 1, .offset = offsetof(struct s, m)

/* A number of which the engine relies on being no larger. */
#define NUMBER_MAX(s, m, max_) \
	{ FIELD(s, m, READ_MAKING), .size = STATE_SIZE(s, m), .max = max_ }
#define NUMBER(s, m) NUMBER_MAX(s, m, ~0ull >> (64 - 8 * STATE_SIZE(s, m)))
#define BOOL(s, m) NUMBER_MAX(s, m, 1)
#define LINK(s, m, kind_) \
	{ FIELD(s, m, READ_LINKING), .pass = state_pass_link, .kind = kind_ }
#define LIST(s, m, kind_, of, link_) \
	{ FIELD(s, m, READ_LINKING), .pass = state_pass_list, .is_part = true, .kind = kind_, \
	  .element = offsetof(struct of, link_) }
#define WORKS(s, m) { FIELD(s, m, READ_LINKING), .pass = state_pass_works, .is_part = true }
#define OWN(s, m, own_, read) { FIELD(s, m, read), .own = own_, .is_part = true }

#define ALL_LOOPER \
	(LOOPER_REGISTERED | LOOPER_ENTERED | LOOPER_EXITED | LOOPER_INVALID | LOOPER_WAITING | \
	 LOOPER_POLL)
#define LAST_POLICY 7

static const struct state_field world_fields[] = {
	NUMBER(binder_world, last_serial),
	NUMBER(binder_world, last_id),
	{ .name = "binder_stats_world", .read = READ_MAKING, .since = 1,
	  .own = state_pass_world_stats, .is_part = true },
};

static const struct state_field context_fields[] = {
	/* First, because the context is found by its name. */
	OWN(binder_context, name, state_pass_context, READ_BEFORE),
	NUMBER(binder_context, manager_uid),
	BOOL(binder_context, manager_uid_known),
	LINK(binder_context, manager, STATE_NODE),
};

static const struct state_field proc_fields[] = {
	LINK(binder_proc, context, STATE_CONTEXT), /* first, because it is opened for it */
	NUMBER(binder_proc, pid),
	NUMBER(binder_proc, serial),
	NUMBER_MAX(binder_proc, default_priority.policy, LAST_POLICY),
	NUMBER(binder_proc, default_priority.prio),
	NUMBER(binder_proc, alloc.base),
	NUMBER_MAX(binder_proc, alloc.size, BINDER_MAP_MAX_SIZE),
	OWN(binder_proc, host, state_pass_proc_host, READ_MAKING),
	BOOL(binder_proc, alloc.spam_reported),
	OWN(binder_proc, stats, state_pass_proc_stats, READ_MAKING),
	NUMBER(binder_proc, max_threads),
	NUMBER(binder_proc, requested_threads),
	NUMBER(binder_proc, requested_threads_started),
	NUMBER(binder_proc, outstanding_txns),
	BOOL(binder_proc, oneway_spam_detection),
	BOOL(binder_proc, is_frozen),
	BOOL(binder_proc, sync_recv),
	BOOL(binder_proc, async_recv),
	OWN(binder_proc, alloc.pages, state_pass_pages, READ_LINKING),
	OWN(binder_proc, alloc.space, state_pass_gaps, READ_LINKING),
	WORKS(binder_proc, todo),
	WORKS(binder_proc, delivered_death),
	WORKS(binder_proc, delivered_freeze),
	LIST(binder_proc, waiting_threads, STATE_THREAD, binder_thread, waiting_link),
	LIST(binder_proc, freeze_waiters, STATE_THREAD, binder_thread, freeze_link),
};

static const struct state_field thread_fields[] = {
	NUMBER(binder_thread, tid),
	NUMBER_MAX(binder_thread, looper, ALL_LOOPER),
	BOOL(binder_thread, need_return),
	BOOL(binder_thread, process_todo),
	WORKS(binder_thread, todo),
	LINK(binder_thread, stack, STATE_TRANSACTION),
	NUMBER(binder_thread, return_error.cmd),
	NUMBER(binder_thread, reply_error.cmd),
	NUMBER(binder_thread, ee.id),
	NUMBER(binder_thread, ee.command),
	NUMBER(binder_thread, ee.param),
	NUMBER(binder_thread, next_id),
	NUMBER_MAX(binder_thread, nr_ids, BINDER_ID_BLOCK),
	NUMBER_MAX(binder_thread, priority.policy, LAST_POLICY),
	NUMBER(binder_thread, priority.prio),
	BOOL(binder_thread, priority_known),
	BOOL(binder_thread, priority_lent),
	NUMBER_MAX(binder_thread, own_priority.policy, LAST_POLICY),
	NUMBER(binder_thread, own_priority.prio),
	NUMBER_MAX(binder_thread, wait, WAIT_WRITE),
	BOOL(binder_thread, write_nonblock),
	BOOL(binder_thread, long_command),
	NUMBER(binder_thread, write_stopped),
	NUMBER(binder_thread, wait_timeout_ms),
	NUMBER(binder_thread, freeze_pid),
	LINK(binder_thread, freeze_target, STATE_PROC),
	LINK(binder_thread, freeing, STATE_BUFFER),
};

static const struct state_field node_fields[] = {
	NUMBER(binder_node, debug_id),
	NUMBER(binder_node, ptr),
	NUMBER(binder_node, cookie),
	NUMBER_MAX(binder_node, min_priority.policy, LAST_POLICY),
	NUMBER(binder_node, min_priority.prio),
	BOOL(binder_node, inherit_rt),
	BOOL(binder_node, accept_fds),
	BOOL(binder_node, txn_security_ctx),
	NUMBER(binder_node, internal_strong),
	NUMBER_MAX(binder_node, local_strong, 0x3fffffff),
	NUMBER_MAX(binder_node, local_weak, 0x3fffffff),
	NUMBER(binder_node, pins),
	NUMBER(binder_node, local_pins),
	BOOL(binder_node, has_strong),
	BOOL(binder_node, has_weak),
	BOOL(binder_node, pending_strong),
	BOOL(binder_node, pending_weak),
	BOOL(binder_node, is_manager),
	BOOL(binder_node, async_busy),
	LIST(binder_node, refs, STATE_REF, binder_ref, node_link),
	WORKS(binder_node, async_todo),
};

static const struct state_field ref_fields[] = {
	NUMBER(binder_ref, debug_id),
	NUMBER(binder_ref, desc),
	LINK(binder_ref, node, STATE_NODE),
	NUMBER(binder_ref, strong),
	NUMBER(binder_ref, weak),
	LINK(binder_ref, death, STATE_NOTICE),
	LINK(binder_ref, freeze, STATE_NOTICE),
};

static const struct state_field notice_fields[] = {
	NUMBER_MAX(binder_notice, work.type, WORK_FREEZE_CLEARED),
	NUMBER(binder_notice, cookie),
	BOOL(binder_notice, is_frozen),
	BOOL(binder_notice, sent),
	BOOL(binder_notice, resend),
};

static const struct state_field buffer_fields[] = {
	NUMBER(binder_buffer, range.off),
	NUMBER(binder_buffer, range.size),
	NUMBER(binder_buffer, range.user),
	NUMBER(binder_buffer, range.gap_user),
	NUMBER(binder_buffer, debug_id),
	NUMBER_MAX(binder_buffer, data_size, BINDER_MAP_MAX_SIZE),
	NUMBER_MAX(binder_buffer, offsets_size, BINDER_MAP_MAX_SIZE),
	NUMBER_MAX(binder_buffer, extra_size, BINDER_MAP_MAX_SIZE),
	BOOL(binder_buffer, async),
	BOOL(binder_buffer, clear_on_free),
	BOOL(binder_buffer, user_free),
	BOOL(binder_buffer, claimed),
	BOOL(binder_buffer, released),
	LINK(binder_buffer, transaction, STATE_TRANSACTION),
	LINK(binder_buffer, target_node, STATE_NODE),
	OWN(binder_buffer, resources, state_pass_resources, READ_LINKING),
};

static const struct state_field transaction_fields[] = {
	/* first, because it is made for it */
	{ .name = "owner", .read = READ_BEFORE, .since = 1, .own = state_pass_owner,
	  .is_part = true },
	NUMBER(binder_transaction, debug_id),
	NUMBER(binder_transaction, code),
	NUMBER(binder_transaction, flags),
	BOOL(binder_transaction, is_reply),
	NUMBER_MAX(binder_transaction, priority.policy, LAST_POLICY),
	NUMBER(binder_transaction, priority.prio),
	NUMBER_MAX(binder_transaction, saved_priority.policy, LAST_POLICY),
	NUMBER(binder_transaction, saved_priority.prio),
	BOOL(binder_transaction, saved_lent),
	NUMBER(binder_transaction, sender_euid),
	NUMBER(binder_transaction, from_pid),
	NUMBER(binder_transaction, from_tid),
	NUMBER(binder_transaction, start_ns),
	LINK(binder_transaction, from, STATE_THREAD),
	LINK(binder_transaction, from_parent, STATE_TRANSACTION),
	LINK(binder_transaction, to_proc, STATE_PROC),
	LINK(binder_transaction, to_thread, STATE_THREAD),
	NUMBER(binder_transaction, to_pid),
	NUMBER(binder_transaction, to_tid),
	LINK(binder_transaction, buffer, STATE_BUFFER),
	BOOL(binder_transaction, counted),
	OWN(binder_transaction, to_parent, state_pass_to_parent, READ_LINKING),
	BOOL(binder_transaction, has_secctx),
	NUMBER(binder_transaction, secctx),
	OWN(binder_transaction, files, state_pass_files, READ_LINKING),
};

static const struct state_field log_fields[] = {
	NUMBER_MAX(state_log, ring, BINDER_LOG_RINGS),
	NUMBER(state_log, entry.start_ns),
	NUMBER(state_log, entry.debug_id),
	NUMBER_MAX(state_log, entry.call_type, LOG_REPLY),
	NUMBER(state_log, entry.from_proc),
	NUMBER(state_log, entry.from_thread),
	NUMBER(state_log, entry.to_proc),
	NUMBER(state_log, entry.to_thread),
	NUMBER(state_log, entry.to_node),
	NUMBER(state_log, entry.target_handle),
	NUMBER(state_log, entry.data_size),
	NUMBER(state_log, entry.offsets_size),
	NUMBER(state_log, entry.ret),
	NUMBER(state_log, entry.ret_param),
	NUMBER(state_log, entry.ret_line),
	OWN(state_log, context, state_pass_log_context, READ_MAKING),
};

#define RECORD(name_, fields_) { name_, fields_, sizeof(fields_) / sizeof(fields_[0]) }

const struct state_record state_records[STATE_KINDS] = {
	[STATE_END] = { "end", NULL, 0 },
	[STATE_WORLD] = RECORD("binder_world", world_fields),
	[STATE_CONTEXT] = RECORD("binder_context", context_fields),
	[STATE_PROC] = RECORD("binder_proc", proc_fields),
	[STATE_THREAD] = RECORD("binder_thread", thread_fields),
	[STATE_NODE] = RECORD("binder_node", node_fields),
	[STATE_REF] = RECORD("binder_ref", ref_fields),
	[STATE_NOTICE] = RECORD("binder_notice", notice_fields),
	[STATE_BUFFER] = RECORD("binder_buffer", buffer_fields),
	[STATE_TRANSACTION] = RECORD("binder_transaction", transaction_fields),
	[STATE_LOG] = RECORD("binder_log_entry", log_fields),
};

#ifdef BINDER_DEBUG
const struct state_field *binder_state_lost;
#endif
