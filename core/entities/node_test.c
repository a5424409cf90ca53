// SPDX-License-Identifier: GPL-2.0
/* What others see of a node whose counts are changing. */
#include "pair.h"
#include "check.h"
#include "entities/node.h"

/* The state that another thread of the owner may find within binder_node_reconcile(). */
TEST(node_strong_reference_counts_beside_a_weak_one)
{
	struct binder_node_debug_info info = { 0 };
	struct binder_node *node;
	struct pair p;

	pair_begin(&p);
	CHECK(pair_send_object(&p, 0xaaa, 0xbbb) == 1);
	CHECK(pair_expect(p.c, BR_INCREFS, NULL) && pair_expect(p.c, BR_ACQUIRE, NULL));
	node = binder_node_find(p.client->proc, 0xaaa);
	if (CHECK(node)) {
		node->has_weak = false;
		binder_node_describe_from(p.client->proc, 0xaaa, &info);
		node->has_weak = true;
		binder_node_unpin(node);
	}
	CHECK(info.ptr == 0xaaa && !info.has_strong_ref && !info.has_weak_ref);
	CHECK(pair_end(&p));
}
