// SPDX-License-Identifier: GPL-2.0
/*
 * A log is a ring of slots. A writer takes the next number from an atomic counter and
 * fills that slot under the lock of the slot, so two writers take the same lock only if
 * one is a whole ring ahead of the other. A reader copies one slot at a time under its
 * lock and prints the copy.
 *
 * Tested in: core/reports/report_test.c
 */
#include "common/translog.h"

#include "common/abi.h"
#include "base/base_types.h"
#include "common/lock.h"

struct slot {
	struct binder_lock lock;
	struct binder_log_entry entry GUARDED_BY(&lock);
	/* a copy, because the context may be freed before the log is read */
	char context[BINDER_NAME_MAX + 1] GUARDED_BY(&lock);
};

struct ring {
	struct host_atomic next; /* number of the next entry */
	struct slot slots[BINDER_LOG_ENTRIES];
};

static struct ring all, failures;

static const char *const type_words[] = {
	[LOG_CALL] = "call ",
	[LOG_ONEWAY] = "async",
	[LOG_REPLY] = "reply",
};

void binder_log_init(void)
{
	u32 i;

	/* In the test host one world follows another. */
	host_memset(&all, 0, sizeof(all));
	host_memset(&failures, 0, sizeof(failures));
	for (i = 0; i < BINDER_LOG_ENTRIES; i++) {
		binder_lock_init(&all.slots[i].lock, RANK_LOG);
		binder_lock_init(&failures.slots[i].lock, RANK_LOG);
	}
}

void binder_log_add(bool failed, const struct binder_log_entry *entry, const char *context,
		    size_t size)
{
	struct ring *ring = failed ? &failures : &all;
	u32 nr = (u32)host_atomic_add_return(&ring->next, 1) - 1;
	struct slot *slot = &ring->slots[nr % BINDER_LOG_ENTRIES];

	binder_lock(&slot->lock);
	slot->entry = *entry;
	host_memcpy(slot->context, context, size);
	binder_unlock(&slot->lock);
}

static void print_slot(struct host_out *out, struct slot *slot)
{
	struct binder_log_entry e;
	char context[BINDER_NAME_MAX + 1];

	binder_lock(&slot->lock);
	e = slot->entry;
	host_memcpy(context, slot->context, sizeof(context));
	binder_unlock(&slot->lock);
	if (!e.debug_id)
		return;
	host_out(out,
		 "%u: %s from %d:%d to %d:%d context %s node %u handle %u size %llu:%llu "
		 "ret %u/%d l=%u\n",
		 e.debug_id, type_words[e.call_type], e.from_proc, e.from_thread, e.to_proc,
		 e.to_thread, context, e.to_node, e.target_handle,
		 (unsigned long long)e.data_size, (unsigned long long)e.offsets_size,
		 e.ret == BR_OK ? 0 : e.ret, e.ret_param, e.ret_line);
}

static void print_ring(struct host_out *out, struct ring *ring)
{
	u32 oldest = (u32)host_atomic_read(&ring->next);
	u32 i;

	for (i = 0; i < BINDER_LOG_ENTRIES; i++)
		print_slot(out, &ring->slots[(oldest + i) % BINDER_LOG_ENTRIES]);
}

void binder_report_transaction_log(struct host_out *out)
{
	print_ring(out, &all);
}

void binder_report_failed_transaction_log(struct host_out *out)
{
	print_ring(out, &failures);
}
