// SPDX-License-Identifier: GPL-2.0
/*
 * The engine's books, read when every thread is parked or outside, so that no lock is
 * held and nothing is half done.  Each count that it keeps is counted anew from what
 * it is a count of.
 */
#include "stage.h"

#include "notices/freeze.h"
#include "notices/death.h"
#include "things/node.h"
#include "things/ref.h"
#include "calls/transaction.h"

#define SLOTS 8192u /* of the table of nodes, a power of two */

/* What a node's counts must be, added up from elsewhere. */
struct expected {
	const struct binder_node *node;
	u32 refs, strong_refs, buffers, held_strong, held_weak, managers, async;
};

static struct books {
	struct stage *stage;
	struct expected nodes[SLOTS];
	u32 used[SLOTS], nr_used;
	u32 live[STAT_COUNT];
} books;

static struct expected *of_node(const struct binder_node *node)
{
	u32 at = (u32)((uintptr_t)node >> 5) * 2654435761u >> 19;

	while (books.nodes[at].node && books.nodes[at].node != node)
		at = (at + 1) % SLOTS;
	if (!books.nodes[at].node) {
		books.nodes[at].node = node;
		books.used[books.nr_used++] = at;
	}
	return &books.nodes[at];
}

static void expect(bool cond, const char *what, const struct binder_proc *proc, u64 a, u64 b)
{
	if (!cond)
		stage_wrong("audit: %s (pid %d; %llu, %llu)", what, proc ? proc->pid : 0,
			    (unsigned long long)a, (unsigned long long)b);
}

/* ---- work ------------------------------------------------------------------------ */

struct owed {
	u32 transactions; /* counted as outstanding */
	u32 notices;
};

static void count_transaction(const struct binder_transaction *t, struct owed *owed) NO_TSA
{
	books.live[STAT_TRANSACTION]++;
	owed->transactions += t->counted;
	/* A call whose sender died while it waited keeps the one that the sender was to
	 * answer: both fail together. */
	while (!t->from && t->from_parent) {
		t = t->from_parent;
		books.live[STAT_TRANSACTION]++;
	}
}

static void count_works(const struct bl_list *todo, struct owed *owed)
{
	const struct bl_list *link;

	for (link = todo->next; link != todo; link = link->next) {
		const struct binder_work *work = bl_entry(link, struct binder_work, link);

		switch (work->type) {
		case WORK_TRANSACTION:
			count_transaction(bl_entry(work, struct binder_transaction, work), owed);
			break;
		case WORK_COMPLETE:
		case WORK_COMPLETE_FROZEN:
		case WORK_COMPLETE_SPAM:
			books.live[STAT_COMPLETE]++;
			break;
		case WORK_DEATH_AND_CLEAR:
		case WORK_DEATH_CLEARED:
			books.live[STAT_DEATH]++;
			owed->notices++;
			break;
		case WORK_FREEZE_CLEARED:
			books.live[STAT_FREEZE]++;
			owed->notices++;
			break;
		default:
			break;
		}
	}
}

static void count_stack(const struct binder_thread *thread, struct owed *owed)
{
	const struct binder_transaction *t = thread->stack;

	while (t) {
		if (binder_transaction_is_for(t, thread)) {
			count_transaction(t, owed);
			t = t->to_parent;
		} else {
			expect(t->from == thread, "a call on the stack of who did not send it",
			       thread->proc, t->debug_id, 0);
			t = t->from_parent;
		}
	}
}

/* ---- threads ------------------------------------------------------------------------ */

static bool is_realtime(struct host_priority p)
{
	return p.policy == 1 || p.policy == 2;
}

static void check_waiting(const struct binder_thread *thread, const struct actor *a) NO_TSA
{
	bool available = binder_thread_is_available_ilocked(thread);

	/* Who polls is not woken by the close() of another descriptor. */
	expect(!binder_thread_has_work_ilocked(thread, available) ||
	       (a->polling && !thread->process_todo &&
		(!available || bl_empty(&thread->proc->todo))),
	       "a lost wake-up: a thread waits and has work", thread->proc, (u64)thread->tid, 0);
	if (!a->waiting)
		return;
	expect(!available || bl_linked(&thread->waiting_link),
	       "a thread waits and nobody knows", thread->proc, (u64)thread->tid, 0);
	if (!available)
		return;
	expect(!thread->priority_lent, "a lent priority was kept", thread->proc,
	       (u64)thread->tid, 0);
	expect(is_realtime(a->priority) == is_realtime(a->base), "a priority was not restored",
	       thread->proc, (u64)thread->tid, a->priority.policy);
	expect(is_realtime(a->base) || a->priority.prio == thread->proc->default_priority.prio,
	       "a nice value was not restored", thread->proc, (u64)thread->tid,
	       (u64)(s64)a->priority.prio);
}

static void check_thread(const struct binder_thread *thread, struct owed *owed)
{
	const struct actor *a = base_container_of(thread->host.sim, struct actor, sim);
	bool called = a->inside || a->polling;

	books.live[STAT_THREAD]++;
	expect(a->tid == thread->tid, "a thread of another", thread->proc, (u64)a->tid,
	       (u64)thread->tid);
	expect(host_atomic_read(&thread->refs) == 1 + called, "counts of a thread",
	       thread->proc, (u64)host_atomic_read(&thread->refs), called);
	count_stack(thread, owed);
	count_works(&thread->todo, owed);
	if ((a->waiting && thread->wait == WAIT_READ) || a->polling)
		check_waiting(thread, a);
	if (thread->freeze_target)
		expect(a->waiting && thread->freeze_target->outstanding_txns > 0,
		       "a lost wake-up: a freezer waits for nothing", thread->proc,
		       (u64)thread->tid, 0);
}

/* ---- buffers --------------------------------------------------------------------------- */

/* What the buffers of a process hold of its handles, by handle. */
#define DESCS 256
struct held {
	u32 strong[DESCS], weak[DESCS];
};

static void count_holds(const struct binder_buffer *b, struct held *held)
{
	u32 i;

	for (i = 0; i < b->nr_resources; i++) {
		const struct binder_resource *hold = &b->resources[i];

		if (hold->kind == RESOURCE_REF && hold->desc < DESCS) {
			held->strong[hold->desc] += hold->strong;
			held->weak[hold->desc] += !hold->strong;
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

static void check_buffers(const struct binder_proc *proc, struct held *held) NO_TSA
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

		expect(!b->claimed, "a buffer is being freed for ever", proc, b->debug_id, 0);
		expect(b->user_free || b->transaction, "a buffer that is nobody's", proc,
		       b->debug_id, 0);
		async += b->async ? range->size : 0;
		count_holds(b, held);
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
		       "a page on its way for ever", proc, page, state);
		expect(state == PAGE_FREE || sim->present[page], "a page without memory", proc,
		       page, state);
	}
}

/* ---- handles ----------------------------------------------------------------------------- */

static const struct handle *known(const struct player *player, u32 desc)
{
	u32 i;

	for (i = desc ? 1 : 0; i < (desc ? HANDLES : 1); i++) {
		const struct handle *h = &player->handles[i];

		if ((h->strong || h->weak) && h->desc == desc)
			return h;
	}
	return NULL;
}

/* Whoever asked to be told of a death has it in a list, or has been told. */
static void check_mourning(const struct binder_ref *ref, const struct player *player) NO_TSA
{
	u32 i;

	if (!ref->death || ref->node->proc || bl_linked(&ref->death->work.link) ||
	    player->confused || player->dying)
		return;
	for (i = 0; i < HANDLES; i++)
		expect(player->handles[i].cookie[DEATH] != ref->death->cookie ||
		       player->handles[i].notice[DEATH] != ASKED,
		       "a death that nobody is told of", ref->proc, ref->desc, 0);
}

static void check_ref(const struct binder_ref *ref, const struct player *player,
		      const struct held *held)
{
	const struct handle *h = known(player, ref->desc);
	const struct binder_ref *other;
	u32 strong, weak, found = 0;

	books.live[STAT_REF]++;
	books.live[STAT_DEATH] += ref->death != NULL;
	books.live[STAT_FREEZE] += ref->freeze != NULL;
	of_node(ref->node)->refs++;
	of_node(ref->node)->strong_refs += ref->strong > 0;
	check_mourning(ref, player);
	bl_for_each(other, &ref->node->refs, node_link)
		found += other == ref;
	expect(found == 1, "a handle whose node does not know it", ref->proc, ref->desc, found);
	expect(ref->strong || ref->weak, "a handle without a count", ref->proc, ref->desc, 0);
	if (!books.stage->exact || player->confused || player->dying || ref->desc >= DESCS)
		return;
	strong = held->strong[ref->desc] + (h ? h->strong : 0);
	weak = held->weak[ref->desc] + (h ? h->weak : 0);
	if (ref->strong != strong || ref->weak != weak)
		stage_log("player %u, handle %u", player->id, ref->desc);
	expect(ref->strong == strong, "strong counts of a handle", ref->proc, ref->strong, strong);
	expect(ref->weak == weak, "weak counts of a handle", ref->proc, ref->weak, weak);
}

static void check_handles(struct binder_proc *proc, const struct player *player,
			  const struct held *held, struct owed *owed) NO_TSA
{
	struct bt_node *n;
	u32 nr = 0, i;

	bt_for_each(n, &proc->refs_by_desc) {
		const struct binder_ref *ref = bt_entry(n, struct binder_ref, by_desc);

		check_ref(ref, player, held);
		owed->notices += (ref->death != NULL) + (ref->freeze != NULL);
		nr++;
	}
	expect(nr == proc->nr_refs, "number of handles", proc, nr, proc->nr_refs);
	for (i = 0; i < HANDLES && books.stage->exact && !player->confused && !player->dying; i++) {
		const struct handle *h = &player->handles[i];

		expect(!(h->strong || h->weak) ||
		       binder_ref_find_olocked(proc, h->desc, h->strong != 0),
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

static void check_node(const struct binder_node *node, const struct binder_proc *proc) NO_TSA
{
	const struct expected *e = of_node(node);
	u32 waiting = length(&node->async_todo), pins = (u32)host_atomic_read(&node->pins);
	u64 id = node->debug_id;

	books.live[STAT_NODE]++;
	expect(node->proc == proc, "whose a node is", proc, id, 0);
	expect(length(&node->refs) == e->refs, "handles of a node", proc, id, e->refs);
	expect(node->internal_strong == e->strong_refs, "strong handles of a node", proc,
	       node->internal_strong, e->strong_refs);
	expect(pins == e->managers + e->held_strong + e->held_weak, "pins of a node", proc, pins,
	       e->managers + e->held_strong + e->held_weak);
	if (!proc) {
		expect(e->refs || pins, "a dead node that nobody holds", proc, id, 0);
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
	       bl_linked(&node->work.link), "a node that nobody holds", proc, id, 0);
}

static void check_own_objects(struct binder_proc *proc, const struct player *player) NO_TSA
{
	bool strong[OBJECTS] = { false }, weak[OBJECTS] = { false };
	struct bt_node *n;
	u32 nr = 0, i;

	bt_for_each(n, &proc->nodes) {
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
	if (player->confused || player->dying || books.stage->genre.scribbles)
		return;
	for (i = 0; i < OBJECTS; i++) {
		const struct own_object *o = &player->objects[i];

		expect(o->strong == strong[i] && o->weak == weak[i],
		       "what the owner of an object was told", proc, (u64)(u32)o->strong,
		       (u64)(u32)o->weak);
	}
}

/* ---- everything ------------------------------------------------------------------------------ */

static const struct player *player_of(const struct binder_proc *proc)
{
	u32 i;

	for (i = 0; i < books.stage->nr_players; i++)
		if (books.stage->players[i]->proc == proc)
			return books.stage->players[i];
	stage_wrong("audit: a process that nobody opened");
}

/* Adds up everything but the nodes, which all others may count in. */
static void check_proc(struct binder_proc *proc) NO_TSA
{
	const struct player *player = player_of(proc);
	struct owed owed = { 0, 0 };
	struct held held = { { 0 }, { 0 } };
	struct bt_node *n;
	u32 threads = 0;

	books.live[STAT_PROC]++;
	bt_for_each(n, &proc->threads) {
		check_thread(bt_entry(n, struct binder_thread, by_tid), &owed);
		threads++;
	}
	count_works(&proc->todo, &owed);
	count_works(&proc->delivered_death, &owed);
	count_works(&proc->delivered_freeze, &owed);
	bt_for_each(n, &proc->nodes)
		count_works(&bt_entry(n, struct binder_node, by_ptr)->async_todo, &owed);
	check_buffers(proc, &held);
	check_handles(proc, player, &held, &owed);
	expect(threads == proc->nr_threads, "number of threads", proc, threads, proc->nr_threads);
	expect((s32)owed.transactions == proc->outstanding_txns, "outstanding calls", proc,
	       owed.transactions, (u64)proc->outstanding_txns);
	expect((s32)owed.notices == host_atomic_read(&proc->nr_notices),
	       "number of registrations", proc, owed.notices,
	       (u64)host_atomic_read(&proc->nr_notices));
	expect(host_atomic_read(&proc->refs) == (s32)(1 + threads + length(&proc->freeze_waiters)),
	       "counts of a process", proc, (u64)host_atomic_read(&proc->refs), threads);
	if (proc->context->manager && proc->context->manager->proc == proc)
		of_node(proc->context->manager)->managers = 1;
}

static void begin(struct stage *stage)
{
	while (books.nr_used)
		books.nodes[books.used[--books.nr_used]] = (struct expected){ NULL };
	memset(books.live, 0, sizeof(books.live));
	books.stage = stage;
}

void audit(struct stage *stage) NO_TSA
{
	struct binder_stats stats = { 0 };
	struct binder_node *node;
	struct binder_proc *proc;
	u32 i;

	begin(stage);
	stage->audits++;
	bl_for_each(proc, &binder_world.procs, world_link)
		check_proc(proc);
	bl_for_each(proc, &binder_world.procs, world_link)
		check_own_objects(proc, player_of(proc));
	bl_for_each(node, &binder_world.dead_nodes, dead_link)
		check_node(node, NULL);
	binder_stats_add(&stats, &binder_world.stats);
	bl_for_each(proc, &binder_world.procs, world_link)
		binder_stats_add(&stats, &proc->stats);
	/* Each was in one of the two places, or it is a handle's without a node. */
	expect(books.nr_used == books.live[STAT_NODE], "a handle or a buffer of no node", NULL,
	       books.nr_used, books.live[STAT_NODE]);
	for (i = 0; i < STAT_COUNT; i++) {
		s32 live = host_atomic_read(&stats.created[i]) -
			   host_atomic_read(&stats.deleted[i]);

		expect((u32)live == books.live[i], "things that exist, by kind", NULL, i,
		       (u64)live << 32 | books.live[i]);
	}
}
