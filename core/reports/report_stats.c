// SPDX-License-Identifier: GPL-2.0
/*
 * The text of binder_logs/stats: the counters of the world, and for each process the numbers
 * of its objects and its counters. Zeros are left out where the C driver does so.
 *
 * Tested in: core/reports/report_test.c
 */
#include "core.h"
#include "common/work.h"
#include "reports/report_stats.h"
#include "entities/context.h"
#include "entities/proc.h"
#include "entities/ref.h"
#include "entities/world.h"

/* A process may have BINDER_MAX_REFS; others wait for its lock. */
#define REFS_AT_A_TIME 1024

static const char *const stat_words[STAT_COUNT] = {
	[STAT_PROC] = "proc",
	[STAT_THREAD] = "thread",
	[STAT_NODE] = "node",
	[STAT_REF] = "ref",
	[STAT_DEATH] = "death",
	[STAT_TRANSACTION] = "transaction",
	[STAT_COMPLETE] = "transaction_complete",
	[STAT_FREEZE] = "freeze",
};

static void print_counter(struct host_out *out, const char *indent, const char *name,
			  const struct host_atomic *count)
{
	s32 value = host_atomic_read(count);

	if (value)
		host_out(out, "%s%s: %d\n", indent, name, value);
}

static void print_stats(struct host_out *out, const char *indent, const struct binder_stats *stats)
{
	u32 i;

	for (i = 0; i < BINDER_NR_COMMANDS; i++)
		print_counter(out, indent, binder_command_name(i), &stats->bc[i]);
	for (i = 0; i < BINDER_NR_RETURNS; i++)
		print_counter(out, indent, binder_return_name(i), &stats->br[i]);
}

static void print_objects(struct host_out *out, const struct binder_stats *stats)
{
	u32 i;

	for (i = 0; i < STAT_COUNT; i++) {
		s32 created = host_atomic_read(&stats->created[i]);
		s32 deleted = host_atomic_read(&stats->deleted[i]);

		if (created)
			host_out(out, "%s: active %d total %d\n", stat_words[i],
				 created - deleted, created);
	}
}

/* What a process has; the first two lines under inner_lock, the last under outer_lock. */
struct tally {
	u32 threads, nodes, ready, pending;
	s32 requested, started, max;
	u32 refs, strong, weak;
};

static void tally_threads(struct binder_proc *proc, struct tally *tally)
{
	struct bl_list *link;

	binder_lock(&proc->inner_lock);
	tally->threads = proc->nr_threads;
	tally->nodes = proc->nr_nodes;
	tally->requested = proc->requested_threads;
	tally->started = proc->requested_threads_started;
	tally->max = proc->max_threads;
	for (link = proc->waiting_threads.next; link != &proc->waiting_threads; link = link->next)
		tally->ready++;
	for (link = proc->todo.next; link != &proc->todo; link = link->next)
		if (bl_entry(link, struct binder_work, link)->type == WORK_TRANSACTION)
			tally->pending++;
	binder_unlock(&proc->inner_lock);
}

/* Adds up to REFS_AT_A_TIME references from handle *@desc on. False: there are no more. */
static bool tally_some_refs(struct binder_proc *proc, struct tally *tally, u32 *desc)
{
	const struct binder_ref *ref;
	u32 nr = 0;

	binder_lock(&proc->outer_lock);
	ref = binder_ref_find_from_olocked(proc, *desc);
	while (ref && nr++ < REFS_AT_A_TIME) {
		struct bt_node *next = bt_next(&ref->by_desc);

		tally->refs++;
		tally->strong += ref->strong;
		tally->weak += ref->weak;
		*desc = ref->desc + 1;
		ref = next ? bt_entry(next, struct binder_ref, by_desc) : NULL;
	}
	binder_unlock(&proc->outer_lock);
	return ref;
}

static void tally_refs(struct binder_proc *proc, struct tally *tally)
{
	u32 desc = 0;

	while (tally_some_refs(proc, tally, &desc))
		;
}

void binder_report_stats_of(struct host_out *out, struct binder_proc *proc)
{
	struct binder_alloc_stats alloc;
	struct tally tally = { 0 };

	tally_threads(proc, &tally);
	tally_refs(proc, &tally);
	binder_alloc_get_stats(&proc->alloc, &alloc);
	host_out(out, "proc %d\ncontext %s\n", proc->pid, proc->context->name);
	host_out(out, "  threads: %u\n", tally.threads);
	host_out(out, "  requested threads: %d+%d/%d\n", tally.requested, tally.started, tally.max);
	host_out(out, "  ready threads %u\n", tally.ready);
	host_out(out, "  free async space %llu\n", (unsigned long long)alloc.free_async);
	host_out(out, "  nodes: %u\n", tally.nodes);
	host_out(out, "  refs: %u s %u w %u\n", tally.refs, tally.strong, tally.weak);
	host_out(out, "  buffers: %llu\n", (unsigned long long)alloc.buffers);
	host_out(out, "  pages: %llu:%llu:%llu\n", (unsigned long long)alloc.pages_active,
		 (unsigned long long)alloc.pages_lru, (unsigned long long)alloc.pages_free);
	host_out(out, "  pages high watermark: %llu\n", (unsigned long long)alloc.high);
	host_out(out, "  pending transactions: %u\n", tally.pending);
	print_stats(out, "  ", &proc->stats);
}

void binder_stats_add_up(struct binder_stats *sum)
{
	struct binder_proc *proc;

	*sum = (struct binder_stats){ 0 };
	binder_pi_mutex_lock(&binder_world.lock);
	binder_stats_add(sum, &binder_stats_world);
	bl_for_each(proc, &binder_world.procs, world_link)
		binder_stats_add(sum, &proc->stats);
	binder_pi_mutex_unlock(&binder_world.lock);
}

void binder_report_stats_of_world(struct host_out *out)
{
	struct binder_stats sum;

	binder_stats_add_up(&sum);
	print_stats(out, "", &sum);
	print_objects(out, &sum);
}
