// SPDX-License-Identifier: GPL-2.0
/* The ioctls; invalid commands. Tests ioctl.c and command.c. */
#include "pair.h"
#include "check.h"

TEST(ioctl_version)
{
	struct binder_version version = { 0 };
	struct pair p;

	pair_begin(&p);
	CHECK(world_ioctl(p.c, BINDER_VERSION, &version) == 0 && version.protocol_version == 8);
	CHECK(pair_end(&p));
}

TEST(ioctl_unknown_numbers_and_sizes)
{
	const u32 cmds[] = { ABI_IO('b', 2), ABI_IO('b', 200), ABI_IOW('b', 5, u64),
			     ABI_IOW('c', 5, u32), ABI_IO('b', 9) };
	u8 arg[64] = { 0 };
	struct pair p;
	u32 i;

	pair_begin(&p);
	for (i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++)
		CHECK(world_ioctl(p.c, cmds[i], arg) == -EINVAL);
	CHECK(pair_end(&p));
}

TEST(ioctl_one_manager)
{
	struct pair p;

	pair_begin(&p);
	CHECK(world_become_manager(p.c) == -EBUSY);
	world_kill(p.server);
	p.client->sim->euid = 1001;
	CHECK(world_become_manager(p.c) == -EPERM); /* another user than before */
	p.client->sim->euid = 1000;
	CHECK(world_become_manager(p.c) == 0);
	CHECK(pair_end(&p));
}

TEST(ioctl_node_info_for_the_manager_only)
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

TEST(ioctl_extended_error_is_reset_by_reading)
{
	struct binder_extended_error ee = { 0 };
	struct pair p;

	pair_begin(&p);
	pair_call(&p, 55, 1, 0, "");
	CHECK(world_ioctl(p.c, BINDER_GET_EXTENDED_ERROR, &ee) == 0);
	CHECK(ee.command == BR_FAILED_REPLY && ee.param == -EINVAL && ee.id);
	CHECK(world_ioctl(p.c, BINDER_GET_EXTENDED_ERROR, &ee) == 0);
	CHECK(ee.command == BR_OK && !ee.param);
	CHECK(pair_end(&p));
}

TEST(ioctl_spawns_loopers)
{
	u32 max = 1;
	struct world_thread *second;
	struct pair p;

	pair_begin(&p);
	world_resume(p.s, RESUME_INTERRUPTED);
	CHECK(world_ioctl(p.s, BINDER_SET_MAX_THREADS, &max) == 0);
	pair_serve(&p);
	pair_call(&p, 0, 1, TF_ONE_WAY, "");
	world_run(&p.w);
	CHECK(pair_expect(p.s, BR_SPAWN_LOOPER, NULL));
	CHECK(pair_expect(p.s, BR_TRANSACTION, &(struct binder_transaction_data){ 0 }));
	second = world_thread(p.server);
	world_command(second, BC_REGISTER_LOOPER, NULL);
	CHECK(world_write_read(second, false) == 0);
	pair_call(&p, 0, 1, 0, "");
	CHECK(world_write_read(p.s, true) == 0);
	CHECK(pair_expect(p.s, BR_TRANSACTION, &(struct binder_transaction_data){ 0 }));
	CHECK(!world_next(p.s, NULL)); /* no second spawn request: max_threads is 1 */
	CHECK(pair_end(&p));
}

TEST(ioctl_spam_suspect_if_enabled)
{
	static const char big[WORLD_MAP_SIZE * 15 / 32] = { 0 };
	struct world_call call = { .flags = TF_ONE_WAY, .data = big, .size = sizeof(big) };
	u32 on = 1;
	struct pair p;

	pair_begin(&p);
	CHECK(world_ioctl(p.c, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &on) == 0);
	world_call(p.c, &call);
	CHECK(world_write_read(p.c, true) == 0);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL)); /* the first buffer of the client */
	call.size = 1;
	world_call(p.c, &call);
	CHECK(world_write_read(p.c, true) == 0);
	CHECK(pair_expect(p.c, BR_ONEWAY_SPAM_SUSPECT, NULL));
	CHECK(pair_end(&p));
}

static int write_raw(struct pair *p, const void *bytes, size_t size, u64 *consumed)
{
	struct binder_write_read bwr = {
		.write_size = size,
		.write_buffer = world_memory(p->client, bytes, size),
	};
	int err = world_ioctl(p->c, BINDER_WRITE_READ, &bwr);

	*consumed = bwr.write_consumed;
	return err;
}

TEST(command_errors)
{
	const u32 unknown[] = { BC_ENTER_LOOPER, ABI_IO('c', 99) };
	const u32 wrong_size[] = { ABI_IOW('c', 4, u64), 0, 0 };
	const u32 unsupported[] = { BC_ACQUIRE_RESULT, 0 };
	const u32 attempt[] = { BC_ATTEMPT_ACQUIRE, 0, 0, 0 };
	struct binder_write_read bwr = { .write_size = 4, .write_buffer = 0x10 };
	struct pair p;
	u64 consumed;

	pair_begin(&p);
	CHECK(write_raw(&p, unknown, sizeof(unknown), &consumed) == -EINVAL && consumed == 4);
	CHECK(write_raw(&p, wrong_size, sizeof(wrong_size), &consumed) == -EINVAL);
	CHECK(write_raw(&p, unsupported, sizeof(unsupported), &consumed) == -EINVAL);
	CHECK(write_raw(&p, attempt, sizeof(attempt), &consumed) == -EINVAL && consumed == 0);
	CHECK(world_ioctl(p.c, BINDER_WRITE_READ, &bwr) == -EFAULT);
	CHECK(pair_end(&p));
}

TEST(read_into_bad_memory_loses_no_call)
{
	struct binder_write_read bwr = { .read_size = 256, .read_buffer = 0x10 };
	struct pair p;

	pair_begin(&p);
	world_resume(p.s, RESUME_INTERRUPTED);
	pair_call(&p, 0, 1, 0, "x");
	CHECK(world_ioctl(p.s, BINDER_WRITE_READ, &bwr) == -EFAULT);
	CHECK(p.c->parked);
	CHECK(world_write_read(p.s, true) == 0);
	CHECK(pair_expect(p.s, BR_TRANSACTION, &(struct binder_transaction_data){ 0 }));
	CHECK(pair_end(&p));
}

TEST(looper_commands_in_any_order)
{
	struct pair p;

	pair_begin(&p);
	world_command(p.c, BC_REGISTER_LOOPER, NULL);
	world_command(p.c, BC_ENTER_LOOPER, NULL);
	world_command(p.c, BC_REGISTER_LOOPER, NULL);
	world_command(p.c, BC_EXIT_LOOPER, NULL);
	CHECK(world_write_read(p.c, false) == 0);
	CHECK(pair_end(&p));
}
