// SPDX-License-Identifier: GPL-2.0
/*
 * The log of all transactions is written in every call, so one ring would be the line that all
 * CPUs wait for. There are as many rings as threads may run at the same time on most machines,
 * each as long as the log, and host_shard() names one that few others write to. A reader looks
 * for the last entries of all rings by the time at which their transactions began, then copies and
 * prints one after the other. Failures are rare and have one ring.
 *
 * Tested in: core/reports/report_test.c
 */
#include "common/translog.h"

#include "common/abi.h"
#include "common/limits.h"
#include "common/lock.h"

struct slot {
	struct binder_log_entry entry;
	/* a copy, because the context may be freed before the log is read */
	char context[BINDER_NAME_MAX + 1];
};

struct ring {
	struct binder_lock lock HOST_LINE_ALIGNED;
	u32 next GUARDED_BY(&lock); /* number of the next entry */
	struct slot slots[BINDER_LOG_ENTRIES] GUARDED_BY(&lock);
};

struct log {
	struct ring *rings;
	u32 nr_rings;
};

static struct ring all_rings[BINDER_LOG_RINGS], failure_ring;
static const struct log all = { all_rings, BINDER_LOG_RINGS }, failures = { &failure_ring, 1 };

static const char *const type_words[] = {
	[LOG_CALL] = "call ",
	[LOG_ONEWAY] = "async",
	[LOG_REPLY] = "reply",
};

static void log_init(const struct log *log)
{
	u32 i;

	for (i = 0; i < log->nr_rings; i++) {
		struct ring *ring = &log->rings[i];

		binder_lock_init(&ring->lock, RANK_LOG);
		/* Only in the test host does one world follow another. */
		if (ring->next) {
			ring->next = 0;
			host_memset(ring->slots, 0, sizeof(ring->slots));
		}
	}
}

void binder_log_init(void)
{
	log_init(&all);
	log_init(&failures);
}

static void ring_add(struct ring *ring, const struct binder_log_entry *entry, const char *context,
		     size_t size)
{
	struct slot *slot;

	binder_lock(&ring->lock);
	slot = &ring->slots[ring->next++ % BINDER_LOG_ENTRIES];
	slot->entry = *entry;
	host_memcpy(slot->context, context, size);
	binder_unlock(&ring->lock);
}

void binder_log_add(bool failed, const struct binder_log_entry *entry, const char *context,
		    size_t size)
{
	ring_add(failed ? &failure_ring : &all_rings[host_shard() % BINDER_LOG_RINGS], entry,
		 context, size);
}

#ifdef HOST_HANDS_OVER
static struct ring *numbered_ring(u32 ring)
{
	return ring < BINDER_LOG_RINGS ? &all_rings[ring] : &failure_ring;
}

bool binder_log_get(u32 number, u32 nr, struct binder_log_entry *entry, char *context)
{
	struct ring *ring = numbered_ring(number);
	const struct slot *slot = NULL;
	u32 kept;

	binder_lock(&ring->lock);
	kept = ring->next < BINDER_LOG_ENTRIES ? ring->next : BINDER_LOG_ENTRIES;
	if (nr < kept) {
		slot = &ring->slots[(ring->next - kept + nr) % BINDER_LOG_ENTRIES];
		*entry = slot->entry;
		host_memcpy(context, slot->context, sizeof(slot->context));
	}
	binder_unlock(&ring->lock);
	return slot;
}

void binder_log_restore(u32 ring, const struct binder_log_entry *entry, const char *context,
			size_t size)
{
	ring_add(numbered_ring(ring), entry, context, size);
}
#endif

/* An entry that is to be printed: where it is, and what it was. */
struct found {
	u64 start_ns;
	struct ring *ring;
	u32 nr;
};

/* The newest entries of a log, the oldest of them first. */
struct newest {
	u32 nr;
	struct found found[BINDER_LOG_ENTRIES];
};

/* Inserts @new behind all that are not later, if it is among the newest. */
static void log_insert(struct newest *newest, const struct found *new)
{
	struct found *found = newest->found;
	u32 at = newest->nr, i;

	while (at && found[at - 1].start_ns > new->start_ns)
		at--;
	if (newest->nr < BINDER_LOG_ENTRIES) {
		for (i = newest->nr++; i > at; i--)
			found[i] = found[i - 1];
		found[at] = *new;
	} else if (at) {
		/* The oldest one drops out. */
		for (i = 1; i < at; i++)
			found[i - 1] = found[i];
		found[at - 1] = *new;
	}
}

static void find_newest(struct newest *newest, struct ring *ring)
{
	u32 i;

	binder_lock(&ring->lock);
	/* Before the first round the rest of the ring is unused, and numbers wrap alike. */
	for (i = 0; i < BINDER_LOG_ENTRIES; i++) {
		u32 nr = ring->next + i;
		const struct binder_log_entry *entry = &ring->slots[nr % BINDER_LOG_ENTRIES].entry;
		const struct found new = { entry->start_ns, ring, nr - BINDER_LOG_ENTRIES };

		if (entry->debug_id)
			log_insert(newest, &new);
	}
	binder_unlock(&ring->lock);
}

/* Prints the entry unless it has been overwritten meanwhile. */
static void log_print_entry(struct host_out *out, const struct found *found)
{
	struct ring *ring = found->ring;
	const struct slot *slot = &ring->slots[found->nr % BINDER_LOG_ENTRIES];
	char context[BINDER_NAME_MAX + 1];
	struct binder_log_entry e;
	bool is_there;

	binder_lock(&ring->lock);
	is_there = ring->next - found->nr <= BINDER_LOG_ENTRIES;
	e = slot->entry;
	host_memcpy(context, slot->context, sizeof(context));
	binder_unlock(&ring->lock);
	if (!is_there)
		return;
	host_out(out,
		 "%u: %s from %d:%d to %d:%d context %s node %u handle %u size %llu:%llu "
		 "ret %u/%d l=%u\n",
		 e.debug_id, type_words[e.call_type], e.from_proc, e.from_thread, e.to_proc,
		 e.to_thread, context, e.to_node, e.target_handle,
		 (unsigned long long)e.data_size, (unsigned long long)e.offsets_size,
		 e.ret == BR_OK ? 0 : e.ret, e.ret_param, e.ret_line);
}

static void print_log(struct host_out *out, const struct log *log)
{
	struct newest newest;
	u32 i;

	newest.nr = 0;
	for (i = 0; i < log->nr_rings; i++)
		find_newest(&newest, &log->rings[i]);
	for (i = 0; i < newest.nr; i++)
		log_print_entry(out, &newest.found[i]);
}

void binder_report_transaction_log(struct host_out *out)
{
	print_log(out, &all);
}

void binder_report_failed_transaction_log(struct host_out *out)
{
	print_log(out, &failures);
}
