// SPDX-License-Identifier: GPL-2.0
/*
 * Many objects are handed over: the time is proportional to their number. UNIT_VERBOSE=1 prints it,
 * with the bytes per object.
 */
#include "state/stream.h"

#include "things/node.h"
#include "things/ref.h"
#include "things/world.h"
#include "pair.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PROCS	10
#define THREADS 100 /* of each */
#define NODES	1000

static struct many {
	struct world w;
	struct sim_proc *sims[PROCS];
	struct binder_proc *procs[PROCS];
	struct sim_thread threads[PROCS][THREADS];
	struct host_priority priority;
	size_t bytes;
} many;

static struct sim_thread *many_thread_of(struct sim_proc *sim, s32 tid)
{
	u32 i = (u32)tid / 1000 - 1, k = (u32)tid % 1000;

	return i < PROCS && k < THREADS && many.sims[i] == sim ? &many.threads[i][k] : NULL;
}

static void many_wait(u32 i, u32 k)
{
	struct binder_write_read bwr = { .read_size = 256, .read_buffer = SIM_BASE };
	struct binder_thread *thread;

	many.threads[i][k] = (struct sim_thread){ .proc = many.sims[i],
						  .priority = &many.priority };
	thread = binder_thread_find_or_new(many.procs[i], (s32)((i + 1) * 1000 + k),
					   &many.threads[i][k]);
	binder_write_read(thread, &(struct binder_write_read){ 0 }, false);
	CHECK(binder_write_read(thread, &bwr, false) == BINDER_WOULD_BLOCK);
	binder_thread_put(thread); /* the call is given up */
}

/* Objects of each process, each with a handle in the next one. */
static void many_nodes(u32 i)
{
	struct binder_thread *notifier = binder_thread_find(many.procs[i], (s32)(i + 1) * 1000);
	struct flat_binder_object object = { .hdr.type = BINDER_TYPE_BINDER };
	struct binder_node *node;
	u32 k, desc;

	for (k = 1; k <= NODES; k++) {
		object.binder = 0x700000000000 + k * 64;
		object.cookie = object.binder + 8;
		node = binder_node_find_or_new(many.procs[i], &object);
		CHECK(!binder_ref_inc_node(many.procs[(i + 1) % PROCS], node, true, notifier,
					   &desc));
		binder_node_unpin(node);
	}
}

static void many_begin(void)
{
	u32 i, k;

	world_begin(&many.w);
	sim_thread_of = many_thread_of;
	for (i = 0; i < PROCS; i++) {
		many.sims[i] = sim_proc_new((s32)(i + 1) * 1000, 1000, WORLD_MAP_SIZE);
		CHECK(!binder_open(many.w.context, many.sims[i], &many.procs[i]));
		for (k = 0; k < THREADS; k++)
			many_wait(i, k);
	}
}

static double ms_since(const struct timespec *begin)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begin->tv_sec) * 1e3 +
	       (double)(now.tv_nsec - begin->tv_nsec) / 1e6;
}

static size_t hand_over_all(const char *what)
{
	struct world_state state, again;
	struct timespec begin;
	double write, discard, restore;
	char why[200] = "";
	size_t size;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	CHECK(!world_write_state(&state));
	write = ms_since(&begin);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	CHECK(!binder_state_discard());
	discard = ms_since(&begin);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	CHECK(!binder_state_restore(state.bytes, state.size, why, sizeof(why)) && !why[0]);
	restore = ms_since(&begin);
	CHECK(!world_write_state(&again) && again.size == state.size &&
	      !memcmp(again.bytes, state.bytes, state.size));
	binder_state_settle();
	size = state.size;
	if (sim_verbose)
		printf("%s: %zu bytes, written in %.2f ms, freed in %.2f ms, restored in %.2f ms\n",
		       what, size, write, discard, restore);
	free(state.bytes);
	free(again.bytes);
	return size;
}

static void many_end(void)
{
	u32 i;

	for (i = 0; i < PROCS; i++)
		binder_release(binder_proc_of_host(many.sims[i]->restored));
	for (i = 0; i < PROCS; i++)
		sim_proc_free(many.sims[i]);
	CHECK(world_end(&many.w));
}

TEST(state_of_many_objects)
{
	size_t without, with;
	u32 i;

	many_begin();
	without = hand_over_all("1,000 threads that wait");
	for (i = 0; i < PROCS; i++)
		many.procs[i] = binder_proc_of_host(many.sims[i]->restored);
	for (i = 0; i < PROCS; i++)
		many_nodes(i);
	with = hand_over_all("... and 10,000 nodes with a handle each");
	/* A bound on what a record takes, not a measurement. */
	CHECK(without / (PROCS * THREADS) < 100);
	CHECK((with - without) / (PROCS * NODES) < 150);
	many_end();
}

/* ---- free space ---------------------------------------------------------------------------- */

#define BUFFERS 60

/* A delivered buffer of the server; its offset. */
static size_t add_buffer(struct pair *p, u32 i)
{
	const struct binder_buffer_request request = { .data_size = 64 * (1 + i % 5), .pid = 7 };
	struct binder_proc *proc = p->server->proc;
	struct binder_buffer *buffer;
	int err;

	buffer = binder_alloc_new_buffer(&proc->alloc, &proc->host, &request, &err);
	REQUIRE(buffer, 0);
	binder_buffer_allow_user_free(buffer);
	return buffer->range.off;
}

static void free_at(struct pair *p, size_t off)
{
	struct binder_alloc *alloc = &p->server->proc->alloc;
	struct binder_buffer *buffer;
	int err;

	buffer = binder_alloc_claim_buffer(alloc, alloc->base + off, ~0u, &err);
	if (CHECK(buffer))
		binder_alloc_free_buffer(alloc, buffer);
}

/* Leaves gaps, many of them of one size, and fills them. */
static void fill_gaps(size_t *offsets, bool hands_over)
{
	size_t first[BUFFERS];
	struct pair p;
	u32 i;

	pair_begin(&p);
	for (i = 0; i < BUFFERS; i++)
		first[i] = add_buffer(&p, i);
	for (i = 0; i < BUFFERS; i += 2)
		free_at(&p, first[i * 7 % BUFFERS / 2 * 2]);
	binder_alloc_shrink(&p.server->proc->alloc, 1);
	if (hands_over)
		world_hand_over(&p.w);
	for (i = 0; i < BUFFERS; i++)
		offsets[i] = add_buffer(&p, i * 3);
	CHECK(pair_end(&p));
}

TEST(state_of_free_space)
{
	size_t without[BUFFERS], with[BUFFERS];

	fill_gaps(without, false);
	fill_gaps(with, true);
	CHECK(!memcmp(without, with, sizeof(with)));
}
