// SPDX-License-Identifier: GPL-2.0
/* Nodes: what their owners are notified of. */
#include "pair.h"
#include "check.h"
#include "things/node.h"

TEST(node_owner_is_notified_of_strong_counts)
{
	struct binder_ptr_cookie arg;
	struct pair p;
	u32 handle, i;

	pair_begin(&p);
	handle = pair_send_object(&p, 0xaaa, 0xbbb);
	CHECK(handle == 1);
	CHECK(pair_expect(p.c, BR_INCREFS, &arg) && arg.ptr == 0xaaa && arg.cookie == 0xbbb);
	CHECK(pair_expect(p.c, BR_ACQUIRE, &arg) && arg.ptr == 0xaaa);
	world_command(p.c, BC_INCREFS_DONE, &arg);
	world_command(p.c, BC_ACQUIRE_DONE, &arg);
	world_command(p.c, BC_ENTER_LOOPER, NULL); /* to read work of the process too */
	world_write_read(p.c, false);
	while (world_next(p.c, NULL))
		;
	world_resume(p.s, RESUME_INTERRUPTED);
	world_command(p.s, BC_RELEASE, &handle);
	world_write_read(p.s, false);
	for (i = 0; i < 4 && !p.c->in_len; i++)
		world_poll_read(p.c);
	CHECK(pair_expect(p.c, BR_RELEASE, &arg) && arg.ptr == 0xaaa);
	CHECK(pair_expect(p.c, BR_DECREFS, &arg) && arg.cookie == 0xbbb);
	CHECK(pair_end(&p));
}

/* As another thread of the owner may find it between the stores of binder_node_reconcile(). */
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
