// SPDX-License-Identifier: GPL-2.0
/* The limits of limits.h: a process that reaches one gets an error and can go on. */
#include "entry/exit.h"
#include "common/limits.h"
#include "entities/node.h"
#include "pair.h"
#include "entities/proc.h"
#include "entities/ref.h"
#include "entities/thread.h"
#include "check.h"

PAIR_TEST(limits_of_threads)
{
	struct binder_thread *thread;
	s32 i;

	for (i = 0; i <= BINDER_MAX_THREADS; i++) {
		thread = binder_thread_find_or_new(p->client->proc, 100000 + i, &p->c->sim);
		if (!thread)
			break;
		binder_thread_put(thread);
	}
	CHECK(i == BINDER_MAX_THREADS - 1); /* p->c is one of them */
	/* A known thread can still call; one that exits makes room for another. */
	thread = binder_thread_find_or_new(p->client->proc, 100000, &p->c->sim);
	CHECK(thread != NULL);
	binder_thread_release(thread);
	binder_thread_put(thread);
	thread = binder_thread_find_or_new(p->client->proc, 200000, &p->c->sim);
	CHECK(thread != NULL);
	binder_thread_put(thread);
}

/*
 * Creates nodes of the client until that fails, and a reference of the server to each.
 * Returns the number of nodes.
 */
static u32 make_nodes(struct pair *p, struct binder_thread *notifier, u32 *last)
{
	u32 nr;

	for (nr = 0; nr <= BINDER_MAX_NODES; nr++) {
		struct flat_binder_object object = pair_binder(0x1000 + nr, 0, 0);
		struct binder_node *node = binder_node_find_or_new(p->client->proc, &object);

		if (!node)
			break;
		CHECK(binder_ref_inc_node(p->server->proc, node, true, notifier, last) == 0);
		binder_node_unpin(node);
	}
	return nr;
}

PAIR_TEST(limits_of_nodes_and_refs)
{
	struct flat_binder_object object = pair_binder(0x10, 0x20, 0);
	struct binder_thread *thread, *other;
	struct world_proc *third;
	struct binder_node *node;
	u32 desc;

	third = world_proc(&p->w);
	thread = binder_thread_find_or_new(p->client->proc, p->c->tid, &p->c->sim);
	other = binder_thread_find_or_new(third->proc, 7, &world_thread(third)->sim);
	CHECK(make_nodes(p, thread, &desc) == BINDER_MAX_NODES);
	CHECK(desc == BINDER_MAX_NODES); /* from 1: 0 is the context manager */
	/* The server can have no more handles, not even to an object of a third process, */
	node = binder_node_find_or_new(third->proc, &object);
	CHECK(node && binder_ref_inc_node(p->server->proc, node, true, other, &desc) == -ENOMEM);
	/* until it releases one. */
	CHECK(binder_ref_update(p->server->proc, 77, REF_RELEASE) == 0);
	CHECK(binder_ref_inc_node(p->server->proc, node, true, other, &desc) == 0 && desc == 77);
	binder_node_unpin(node);
	binder_thread_put(thread);
	binder_thread_put(other);
}
