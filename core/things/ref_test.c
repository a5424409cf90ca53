// SPDX-License-Identifier: GPL-2.0
/* References: weak counts, and what the context manager can learn of them. */
#include "pair.h"
#include "check.h"

TEST(ref_weak_counts)
{
	struct flat_binder_object object = pair_binder(0x77, 0x88, 0);
	struct world_call call = pair_object_call(&object, sizeof(object), 0);
	struct binder_ptr_cookie arg;
	struct binder_transaction_data tr;
	struct pair p;

	pair_begin(&p);
	object.hdr.type = BINDER_TYPE_WEAK_BINDER;
	world_call(p.c, &call);
	world_write_read(p.c, true);
	world_run(&p.w);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	sim_read(p.server->sim, &object, tr.data.ptr.buffer, sizeof(object));
	CHECK(object.hdr.type == BINDER_TYPE_WEAK_HANDLE && object.handle == 1);
	world_command(p.s, BC_INCREFS, &object.handle);
	world_free_buffer(p.s, &tr);
	pair_reply(&p, "");
	CHECK(pair_expect(p.c, BR_INCREFS, &arg) && arg.ptr == 0x77 && arg.cookie == 0x88);
	/* Wrong acknowledgements change nothing. */
	world_command(p.c, BC_ACQUIRE_DONE, &arg);
	arg.cookie++;
	world_command(p.c, BC_INCREFS_DONE, &arg);
	arg.ptr++;
	world_command(p.c, BC_INCREFS_DONE, &arg);
	arg = (struct binder_ptr_cookie){ 0x77, 0x88 };
	world_command(p.c, BC_INCREFS_DONE, &arg);
	world_command(p.c, BC_ENTER_LOOPER, NULL);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.c, BR_REPLY, &tr));
	CHECK(world_write_read(p.c, true) == BINDER_WOULD_BLOCK);
	world_command(p.s, BC_DECREFS, &object.handle);
	world_write_read(p.s, false);
	world_run(&p.w);
	CHECK(pair_expect(p.c, BR_DECREFS, &arg) && arg.ptr == 0x77);
	CHECK(pair_end(&p));
}

TEST(ref_info_for_the_manager_only)
{
	struct binder_node_info_for_ref info = { .handle = 1 };
	struct pair p;

	pair_begin(&p);
	CHECK(pair_send_object(&p, 0x10, 0x20) == 1);
	CHECK(world_ioctl(p.c, BINDER_GET_NODE_INFO_FOR_REF, &info) == -EPERM);
	world_resume(p.s, RESUME_INTERRUPTED);
	CHECK(world_ioctl(p.s, BINDER_GET_NODE_INFO_FOR_REF, &info) == 0);
	CHECK(info.strong_count >= 1);
	info = (struct binder_node_info_for_ref){ .handle = 7 };
	CHECK(world_ioctl(p.s, BINDER_GET_NODE_INFO_FOR_REF, &info) == -EINVAL);
	info.reserved2 = 1;
	CHECK(world_ioctl(p.s, BINDER_GET_NODE_INFO_FOR_REF, &info) == -EINVAL);
	CHECK(pair_end(&p));
}
