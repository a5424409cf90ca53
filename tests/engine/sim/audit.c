// SPDX-License-Identifier: GPL-2.0
/*
 * Checks the state of the engine while every thread is parked or outside it, so that no lock is
 * held and no operation is in progress. Each counter is compared with a count of the things
 * themselves.
 */
#include "scenario.h"

#include "entities/notice.h"
#include "entities/node.h"
#include "entities/ref.h"
#include "calls/transaction.h"

#define SLOTS 8192u /* of the table of nodes, a power of two */

/* What a node's counts must be, added up from the things that are counted. */
struct expected {
	const struct binder_node *node;
	u32 refs, strong_refs, buffers, held_strong, held_weak, managers, async;
};

static struct sums {
	struct scenario *scenario;
	bool idle; /* all that was returned was handled */
	struct expected nodes[SLOTS];
	u32 used[SLOTS], nr_used;
	u32 live[STAT_COUNT];
} sums;

static struct expected *of_node(const struct binder_node *node)
{
	u32 at = (u32)((uintptr_t)node >> 5) * 2654435761u >> 19;

	while (sums.nodes[at].node && sums.nodes[at].node != node)
		at = (at + 1) % SLOTS;
	if (!sums.nodes[at].node) {
		sums.nodes[at].node = node;
		sums.used[sums.nr_used++] = at;
	}
	return &sums.nodes[at];
}

static void expect(bool cond, const char *what, const struct binder_proc *proc, u64 a, u64 b)
{
	if (!cond)
		scenario_fail("audit: %s (pid %d; %llu, %llu)", what, proc ? proc->pid : 0,
			      (unsigned long long)a, (unsigned long long)b);
}

/* ---- work ------------------------------------------------------------------------ */

struct counts {
	u32 transactions; /* counted as outstanding */
	u32 notices;
};

static void count_transaction(const struct binder_transaction *t, struct counts *counts)
{
	sums.live[STAT_TRANSACTION]++;
	counts->transactions += t->counted;
	/*
	 * A call whose sender died while it waited keeps the call that the sender was serving:
	 * both fail together.
	 */
	while (!t->from && t->from_parent) {
		t = t->from_parent;
		sums.live[STAT_TRANSACTION]++;
	}
}

static void count_works(const struct bl_list *todo, struct counts *counts)
{
	const struct bl_list *link;

	for (link = todo->next; link != todo; link = link->next) {
		const struct binder_work *work = bl_entry(link, struct binder_work, link);

		switch (work->type) {
		case WORK_TRANSACTION:
			count_transaction(bl_entry(work, struct binder_transaction, work), counts);
			break;
		case WORK_COMPLETE:
		case WORK_COMPLETE_FROZEN:
		case WORK_COMPLETE_SPAM:
			sums.live[STAT_COMPLETE]++;
			break;
		case WORK_DEATH_AND_CLEAR:
		case WORK_DEATH_CLEARED:
			sums.live[STAT_DEATH]++;
			counts->notices++;
			break;
		case WORK_FREEZE_CLEARED:
			sums.live[STAT_FREEZE]++;
			counts->notices++;
			break;
		default:
			break;
		}
	}
}

static void count_stack(const struct binder_thread *thread, struct counts *counts)
{
	const struct binder_transaction *t = thread->stack;

	while (t) {
		if (binder_transaction_is_for_racy(t, thread)) {
			count_transaction(t, counts);
			t = t->to_parent;
		} else {
			expect(t->from == thread,
			       "a call on the stack of a thread that did not send it", thread->proc,
			       t->debug_id, 0);
			t = t->from_parent;
		}
	}
}

/* ---- threads ------------------------------------------------------------------------ */

static bool is_realtime(struct host_priority p)
{
	return p.policy == 1 || p.policy == 2;
}

static void check_waiting(const struct binder_thread *thread, const struct actor *a)
{
	struct binder_proc *proc = thread->proc;
	bool available, has_work;

	binder_lock(&proc->inner_lock);
	available = binder_thread_is_available_ilocked(thread);
	has_work = binder_thread_has_work_ilocked(thread, available);
	binder_unlock(&proc->inner_lock);
	/* The close() of another descriptor does not wake a polling thread. */
	expect(!has_work ||
		       (a->polling && !thread->process_todo &&
			(!available || bl_empty(&thread->proc->todo))),
	       "a lost wake-up: a thread waits and has work", thread->proc, (u64)thread->tid, 0);
	if (!a->waiting)
		return;
	expect(thread->stack || bl_linked(&thread->waiting_link),
	       "a waiting thread is not in the list of waiting threads", thread->proc,
	       (u64)thread->tid, 0);
	if (!available)
		return;
	expect(!thread->priority_lent, "an inherited priority was kept", thread->proc,
	       (u64)thread->tid, 0);
	expect(is_realtime(a->priority) == is_realtime(a->base), "a priority was not restored",
	       thread->proc, (u64)thread->tid, a->priority.policy);
	expect(is_realtime(a->base) || a->priority.prio == thread->proc->default_priority.prio,
	       "a nice value was not restored", thread->proc, (u64)thread->tid,
	       (u64)(s64)a->priority.prio);
}

static void check_thread(const struct binder_thread *thread, struct counts *counts)
{
	const struct actor *a = base_container_of(thread->host.sim, struct actor, sim);
	bool called = a->inside;

	sums.live[STAT_THREAD]++;
	expect(a->tid == thread->tid, "a thread with the wrong tid", thread->proc, (u64)a->tid,
	       (u64)thread->tid);
	expect(host_atomic_read(&thread->refs) == 1 + called, "counts of a thread", thread->proc,
	       (u64)host_atomic_read(&thread->refs), called);
	count_stack(thread, counts);
	count_works(&thread->todo, counts);
	if (!sums.idle)
		return;
	if ((a->waiting && thread->wait == WAIT_READ) || a->polling)
		check_waiting(thread, a);
	if (thread->freeze_target)
		expect(a->waiting && thread->freeze_target->outstanding_txns > 0,
		       "a lost wake-up: a freezer waits for nothing", thread->proc,
		       (u64)thread->tid, 0);
}

/* ---- buffers --------------------------------------------------------------------------- */

/* References of a process's buffers to its handles, by handle. */
#define DESCS 256
struct resources {
	u32 strong[DESCS], weak[DESCS];
};

static void count_resources(const struct binder_buffer *b, struct resources *resources)
{
	u32 i;

	for (i = 0; i < b->nr_resources; i++) {
		const struct binder_resource *hold = &b->resources[i];

		if (hold->kind == RESOURCE_REF && hold->desc < DESCS) {
			resources->strong[hold->desc] += hold->strong;
			resources->weak[hold->desc] += !hold->strong;
		} else if (hold->kind == RESOURCE_NODE) {
			of_node(hold->node)->held_strong += hold->strong;
			of_node(hold->node)->held_weak += !hold->strong;
		}
	}
	if (!b->target_node)
		return;
	of_node(b->target_node)->buffers++;
	of_node(b->target_node)->async += b->async;
}

static void check_buffers(const struct binder_proc *proc, struct resources *resources)
{
	const struct binder_alloc *alloc = &proc->alloc;
	const struct sim_proc *sim = proc->host.sim;
	u8 used[64] = { 0 };
	size_t async = 0, page;
	struct buffer_range *range;
	u32 nr = 0;

	for (range = range_first(&alloc->space); range; range = range_next(range), nr++) {
		const struct binder_buffer *b =
			base_container_of(range, struct binder_buffer, range);
		struct range_pages pages = range_all_pages(range);

		expect(!b->claimed || !sums.idle, "a buffer that is being freed by no thread", proc,
		       b->debug_id, 0);
		expect(b->user_free || b->transaction, "a buffer without an owner", proc,
		       b->debug_id, 0);
		async += b->async ? range->size : 0;
		count_resources(b, resources);
		for (page = pages.first; page < pages.first + pages.nr; page++)
			used[page] = 1;
	}
	expect(nr == alloc->nr_buffers, "number of buffers", proc, nr, alloc->nr_buffers);
	expect(async + alloc->async_free == alloc->size / 2, "space of one-way calls", proc, async,
	       alloc->async_free);
	for (page = 0; page < alloc->pages.nr; page++) {
		u8 state = alloc->pages.page[page].state;

		expect((state == PAGE_USED) == used[page], "a page in use", proc, page, state);
		expect(state == PAGE_USED || state == PAGE_FREE || state == PAGE_AVAILABLE,
		       "a page in a transient state", proc, page, state);
		expect(state == PAGE_FREE || sim->present[page], "a page without memory", proc,
		       page, state);
	}
}

/* ---- handles ----------------------------------------------------------------------------- */

static const struct handle *known(const struct process *process, u32 desc)
{
	u32 i;

	for (i = desc ? 1 : 0; i < (desc ? HANDLES : 1); i++) {
		const struct handle *h = &process->handles[i];

		if ((h->strong || h->weak) && h->desc == desc)
			return h;
	}
	return NULL;
}

/* The model of the process says what the engine must have. */
static bool has_model(const struct process *process)
{
	return sums.idle && !process->confused && !process->dying;
}

/* A requested death notification is on a list, or has been delivered. */
static void check_death_notice(const struct binder_ref *ref, const struct process *process)
{
	u32 i;

	if (!ref->death || ref->node->proc || bl_linked(&ref->death->work.link) ||
	    !has_model(process))
		return;
	for (i = 0; i < HANDLES; i++)
		expect(process->handles[i].cookie[DEATH] != ref->death->cookie ||
			       process->handles[i].notice[DEATH] != REQUESTED,
		       "a death notification that is neither queued nor delivered", ref->proc,
		       ref->desc, 0);
}

static void check_ref(const struct binder_ref *ref, const struct process *process,
		      const struct resources *resources)
{
	const struct handle *h = known(process, ref->desc);
	const struct binder_ref *other;
	u32 strong, weak, found = 0;

	sums.live[STAT_REF]++;
	sums.live[STAT_DEATH] += ref->death != NULL;
	sums.live[STAT_FREEZE] += ref->freeze != NULL;
	of_node(ref->node)->refs++;
	of_node(ref->node)->strong_refs += ref->strong > 0;
	check_death_notice(ref, process);
	bl_for_each (other, &ref->node->refs, node_link)
		found += other == ref;
	expect(found == 1, "a handle that is not in the list of its node", ref->proc, ref->desc,
	       found);
	expect(ref->strong || ref->weak, "a handle without a count", ref->proc, ref->desc, 0);
	if (!sums.scenario->exact || !has_model(process) || ref->desc >= DESCS)
		return;
	strong = resources->strong[ref->desc] + (h ? h->strong : 0);
	weak = resources->weak[ref->desc] + (h ? h->weak : 0);
	if (ref->strong != strong || ref->weak != weak)
		scenario_log("process %u, handle %u", process->id, ref->desc);
	expect(ref->strong == strong, "strong counts of a handle", ref->proc, ref->strong, strong);
	expect(ref->weak == weak, "weak counts of a handle", ref->proc, ref->weak, weak);
}

static void check_handles(struct binder_proc *proc, const struct process *process,
			  const struct resources *resources, struct counts *counts)
{
	struct bt_node *n;
	u32 nr = 0, i;

	bt_for_each (n, &proc->refs_by_desc) {
		const struct binder_ref *ref = bt_entry(n, struct binder_ref, by_desc);

		check_ref(ref, process, resources);
		counts->notices += (ref->death != NULL) + (ref->freeze != NULL);
		nr++;
	}
	expect(nr == proc->nr_refs, "number of handles", proc, nr, proc->nr_refs);
	for (i = 0; i < HANDLES && sums.scenario->exact && has_model(process); i++) {
		const struct handle *h = &process->handles[i];
		struct binder_ref *ref;

		binder_lock(&proc->outer_lock);
		ref = binder_ref_find_olocked(proc, h->desc, h->strong != 0);
		binder_unlock(&proc->outer_lock);
		expect(!(h->strong || h->weak) || ref,
		       "a handle is gone", proc, h->desc, h->strong);
	}
}

/* ---- nodes --------------------------------------------------------------------------------- */

static u32 length(const struct bl_list *list)
{
	const struct bl_list *link;
	u32 nr = 0;

	for (link = list->next; link != list; link = link->next)
		nr++;
	return nr;
}

static void check_node(const struct binder_node *node, const struct binder_proc *proc)
{
	const struct expected *e = of_node(node);
	u32 waiting = length(&node->async_todo), pins = (u32)host_atomic_read(&node->pins);
	u64 id = node->debug_id;

	sums.live[STAT_NODE]++;
	expect(node->proc == proc, "owner of a node", proc, id, 0);
	expect(length(&node->refs) == e->refs, "handles of a node", proc, id, e->refs);
	expect(node->internal_strong == e->strong_refs, "strong handles of a node", proc,
	       node->internal_strong, e->strong_refs);
	expect(pins == e->managers + e->held_strong + e->held_weak, "pins of a node", proc, pins,
	       e->managers + e->held_strong + e->held_weak);
	if (!proc) {
		expect(e->refs || pins, "a dead node without a reference", proc, id, 0);
		expect(!waiting, "one-way calls of a dead node", proc, id, waiting);
		return;
	}
	expect(node->local_strong ==
		       e->buffers + e->held_strong + node->pending_strong + node->is_manager,
	       "local strong counts of a node", proc, node->local_strong,
	       e->buffers + e->held_strong);
	expect(node->local_weak == e->held_weak + node->pending_weak + node->is_manager,
	       "local weak counts of a node", proc, node->local_weak, e->held_weak);
	expect(node->async_busy == (e->async > 0), "a node busy with a one-way call", proc, id,
	       e->async);
	expect(e->async - waiting == node->async_busy, "one-way calls of a node in flight", proc,
	       e->async, waiting);
	expect(e->refs || pins || node->local_strong || node->local_weak ||
		       bl_linked(&node->work.link),
	       "a node without a reference", proc, id, 0);
}

static void check_own_objects(struct binder_proc *proc, const struct process *process)
{
	bool strong[OBJECTS] = { false }, weak[OBJECTS] = { false };
	struct bt_node *n;
	u32 nr = 0, i;

	bt_for_each (n, &proc->nodes) {
		const struct binder_node *node = bt_entry(n, struct binder_node, by_ptr);
		u64 object = (node->ptr - object_ptr(0)) / 0x10;

		check_node(node, proc);
		if (object < OBJECTS) {
			strong[object] = node->has_strong;
			weak[object] = node->has_weak;
		}
		nr++;
	}
	expect(nr == proc->nr_nodes, "number of nodes", proc, nr, proc->nr_nodes);
	if (!has_model(process) || sums.scenario->traits.scribbles)
		return;
	for (i = 0; i < OBJECTS; i++) {
		const struct own_object *o = &process->objects[i];

		expect(o->strong == strong[i] && o->weak == weak[i],
		       "counts returned to the owner of an object", proc, (u64)(u32)o->strong,
		       (u64)(u32)o->weak);
	}
}

/* ---- everything ------------------------------------------------------------------------------ */

static const struct process *process_of(const struct binder_proc *proc)
{
	u32 i;

	for (i = 0; i < sums.scenario->nr_processes; i++)
		if (sums.scenario->processes[i]->proc == proc)
			return sums.scenario->processes[i];
	scenario_fail("audit: a process that no actor opened");
}

/* Adds up everything except the nodes, whose counts all processes contribute to. */
static void check_proc(struct binder_proc *proc)
{
	const struct process *process = process_of(proc);
	struct counts counts = { 0, 0 };
	struct resources resources = { { 0 }, { 0 } };
	struct bt_node *n;
	s32 users = host_atomic_read(&proc->refs);
	u32 threads = 0;

	sums.live[STAT_PROC]++;
	bt_for_each (n, &proc->threads) {
		check_thread(bt_entry(n, struct binder_thread, by_tid), &counts);
		threads++;
	}
	count_works(&proc->todo, &counts);
	count_works(&proc->delivered_death, &counts);
	count_works(&proc->delivered_freeze, &counts);
	bt_for_each (n, &proc->nodes)
		count_works(&bt_entry(n, struct binder_node, by_ptr)->async_todo, &counts);
	check_buffers(proc, &resources);
	check_handles(proc, process, &resources, &counts);
	expect(threads == proc->nr_threads, "number of threads", proc, threads, proc->nr_threads);
	expect((s32)counts.transactions == proc->outstanding_txns, "outstanding calls", proc,
	       counts.transactions, (u64)proc->outstanding_txns);
	expect((s32)counts.notices == host_atomic_read(&proc->nr_notices),
	       "number of registrations", proc, counts.notices,
	       (u64)host_atomic_read(&proc->nr_notices));
	/* A freezer that was woken keeps the process until it runs. */
	expect(!sums.idle || users == (s32)(1 + threads + length(&proc->freeze_waiters)),
	       "counts of a process", proc, (u64)users, threads);
	if (proc->context->manager && proc->context->manager->proc == proc)
		of_node(proc->context->manager)->managers = 1;
}

static void begin(struct scenario *scenario, bool idle)
{
	while (sums.nr_used)
		sums.nodes[sums.used[--sums.nr_used]] = (struct expected){ NULL };
	memset(sums.live, 0, sizeof(sums.live));
	sums.scenario = scenario;
	sums.idle = idle;
}

void audit(struct scenario *scenario, bool idle)
{
	struct binder_stats stats = { 0 };
	struct binder_node *node;
	struct binder_proc *proc;
	u32 i;

	begin(scenario, idle);
	scenario->audits++;
	bl_for_each (proc, &binder_world.procs, world_link)
		check_proc(proc);
	bl_for_each (proc, &binder_world.procs, world_link)
		check_own_objects(proc, process_of(proc));
	bl_for_each (node, &binder_world.dead_nodes, dead_link)
		check_node(node, NULL);
	binder_stats_add(&stats, &binder_stats_world);
	bl_for_each (proc, &binder_world.procs, world_link)
		binder_stats_add(&stats, &proc->stats);
	/* Otherwise a handle or a buffer refers to a node that is in neither list. */
	expect(sums.nr_used == sums.live[STAT_NODE], "a handle or a buffer of no node", NULL,
	       sums.nr_used, sums.live[STAT_NODE]);
	for (i = 0; i < STAT_COUNT; i++) {
		s32 live =
			host_atomic_read(&stats.created[i]) - host_atomic_read(&stats.deleted[i]);

		expect((u32)live == sums.live[i], "things that exist, by kind", NULL, i,
		       (u64)live << 32 | sums.live[i]);
	}
}
