// SPDX-License-Identifier: GPL-2.0
/*
 * Corners of several areas: each is a branch of the engine that its area's own tests do not reach,
 * found by measuring what the suite covers.
 */
#include <string.h>
#include <sys/resource.h>

#include "expect.h"
#include "files.h"
#include "test.h"

/* ---- what a write and a read may begin with ------------------------------------- */

TEST(write_consumed_beyond_the_end, "A write_consumed beyond write_size leaves nothing to execute.",
     "")
{
	struct client *client = client_new();
	uint32_t *cmd = shared_alloc(8);
	struct binder_write_read bwr = {
		.write_buffer = (uintptr_t)cmd,
		.write_size = sizeof(*cmd),
		.write_consumed = 64,
	};

	*cmd = BC_ENTER_LOOPER;
	EXPECT_OK(write_read(client, &bwr));
	EXPECT_EQ(bwr.write_consumed, 64);
}

TEST(read_gathers_many_returns, "A read takes all that there is and fits, but one transaction.", "")
{
	struct client *manager = manager_new();
	struct client *owner = client_new();
	uint32_t max = 1;

	for (uint64_t i = 0; i < 24; i++)
		give(owner, manager, 0x100 + i, 0, 0);
	EXPECT_OK(client_ioctl(owner, BINDER_SET_MAX_THREADS, &max));
	put_cmd(owner, BC_ENTER_LOOPER);
	flush(owner);
	client_kill(manager);
	sleep_ms(SETTLE_MS);
	owner->show_refs = true;
	EXPECT_OK(read_once(owner, READ_SIZE));
	EXPECT_EQ(owner->raw_size, 4 + 24 * 2 * (4 + sizeof(struct binder_ptr_cookie)));
	expect(owner, BR_SPAWN_LOOPER);
	for (int i = 0; i < 24; i++) {
		expect(owner, BR_RELEASE);
		expect(owner, BR_DECREFS);
	}
	expect_nothing(owner);
}

TEST(buffer_free_outside_the_map, "Freeing an address outside of the mapping is passed over.", "")
{
	struct client *manager = manager_new();
	struct client *client = client_new();
	uint64_t base = (uintptr_t)manager->map;
	const uint64_t odd[] = { 0, 1, 8, base - 8, base - 1, base + MAP_SIZE,
				 base + MAP_SIZE + 8, ~0ull, 1ull << 63 };
	const struct returned *got;

	call(client, 0);
	got = expect(manager, BR_TRANSACTION);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		put_u64(manager, BC_FREE_BUFFER, odd[i]);
		flush(manager);
	}
	expect_nothing(manager);
	answer(manager, got);
	finish_call(client);
}

/* ---- calls ---------------------------------------------------------------------------- */

TEST(txn_reply_while_waiting_fails, "A thread that waits for a reply has none to give itself.", "")
{
	struct client *manager = manager_new();
	struct client *client = client_new();

	call(client, 0);
	reply(client);
	expect(client, BR_TRANSACTION_COMPLETE);
	expect(client, BR_FAILED_REPLY);
	answer(manager, expect(manager, BR_TRANSACTION));
	free_buffer(client, expect(client, BR_REPLY));
}

TEST(txn_reply_with_oneway_flag, "TF_ONE_WAY in the flags of a reply means nothing.", "")
{
	struct client *manager = manager_new();
	struct client *client = client_new();

	call(client, 0);
	free_buffer(manager, expect(manager, BR_TRANSACTION));
	reply(manager, .flags = TF_ONE_WAY, .code = 5);
	expect(manager, BR_TRANSACTION_COMPLETE);
	expect(client, BR_TRANSACTION_COMPLETE);
	EXPECT_EQ(expect(client, BR_REPLY)->txn.flags, TF_ONE_WAY);
	expect_nothing(manager);
}

TEST(txn_nested_after_the_callers_death,
     "Who serves a caller that has died may still call others, and reply.", "")
{
	struct client *manager = manager_new();
	struct client *last = client_new();
	struct client *first = client_new();
	uint32_t handle = give(last, manager, 0x10, 0x20, 0);
	const struct returned *got;

	call(first, 0);
	got = expect(manager, BR_TRANSACTION);
	client_kill(first);
	sleep_ms(SETTLE_MS);
	round_trip(manager, handle, last);
	answer(manager, got);
	round_trip(manager, handle, last);
}

static void do_limit_files(void *arg)
{
	const rlim_t *most = arg;
	struct rlimit limit = { *most, *most };

	EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void take_no_files(struct client *client)
{
	const rlim_t none = 0;

	client_run(client, do_limit_files, shared_copy(&none, sizeof(none)));
}

TEST(fd_oneway_receiver_full,
     "A one-way call whose files the receiver has no room for is lost; the next one arrives.",
     "fd_passing")
{
	struct client *manager = manager_new();
	struct client *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	uint32_t fd = (uint32_t)make_file(manager, "full");

	take_no_files(server);
	call_oneway(manager, handle, .code = 1, .objects = { OBJ_FD(fd) });
	call_oneway(manager, handle, .code = 2);
	expect(manager, BR_TRANSACTION_COMPLETE);
	expect(manager, BR_TRANSACTION_COMPLETE);
	EXPECT_EQ(expect(server, BR_TRANSACTION)->txn.code, 2);
	expect_nothing(manager);
}

TEST(fd_reply_receiver_full,
     "A reply whose files the caller has no room for fails there, and only there.", "fd_passing")
{
	struct client *manager = manager_new();
	struct client *client = client_new();
	uint32_t fd = (uint32_t)make_file(manager, "full");

	take_no_files(client);
	call(client, 0, .flags = TF_ACCEPT_FDS);
	free_buffer(manager, expect(manager, BR_TRANSACTION));
	reply(manager, .objects = { OBJ_FD(fd) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	expect(client, BR_TRANSACTION_COMPLETE);
	expect(client, BR_FAILED_REPLY);
	expect_nothing(client);
	round_trip(client, 0, manager);
}

/* ---- scatter-gather ---------------------------------------------------------------------- */

#define DEEP 40

TEST(sg_chain_of_many, "Buffers may be nested deeply, each the child of the one before.", "")
{
	struct client *manager = manager_new();
	struct client *client = client_new();
	struct binder_buffer_object *objects = shared_alloc((DEEP + 1) * sizeof(*objects));
	binder_size_t *offsets = shared_alloc(DEEP * sizeof(*offsets));
	uint64_t *words = shared_alloc(DEEP * 16);
	const struct binder_buffer_object *there;

	/* what stands at offset 0 is data: the stock driver takes a parent there for none */
	for (size_t i = 0; i < DEEP; i++) {
		offsets[i] = (i + 1) * sizeof(*objects);
		objects[i + 1] = (struct binder_buffer_object){
			.hdr.type = BINDER_TYPE_PTR,
			.flags = i ? BINDER_BUFFER_FLAG_HAS_PARENT : 0,
			.buffer = (uintptr_t)&words[i * 2],
			.length = 16,
			.parent = i ? i - 1 : 0,
			.parent_offset = 8,
		};
	}
	call(client, 0, .sg = true, .data = objects, .size = (DEEP + 1) * sizeof(*objects),
	     .offsets = offsets, .offsets_size = DEEP * sizeof(*offsets),
	     .buffers_size = DEEP * 16);
	there = (const void *)expect(manager, BR_TRANSACTION)->data;
	for (size_t i = 1; i < DEEP; i++)
		EXPECT_EQ(there[i + 1].buffer, there[1].buffer + i * 16);
}

TEST(fda_below_a_pointer, "An array may not begin below a pointer that was set in its parent.", "")
{
	struct client *manager = manager_new();
	struct client *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	int fd = make_file(manager, "x");
	const uint32_t words[8] = { 12, 2, 0, (uint32_t)fd, (uint32_t)fd };
	void *parent = shared_copy(words, sizeof(words));
	void *child = shared_copy("child", 6);

	call(manager, handle, .sg = true, .data = "a header", .size = 8,
	     .objects = { OBJ_PTR(parent, 32),
			  OBJ_PTR(child, 6, .flags = BINDER_BUFFER_FLAG_HAS_PARENT, .parent = 0,
				  .parent_offset = 24),
			  OBJ_FDA(2, 0, 12) });
	expect(manager, BR_FAILED_REPLY);
	expect_nothing(server);
	round_trip(manager, handle, server);
}

/* ---- one-way calls ------------------------------------------------------------------------- */

static void fill(struct client *client, int calls, size_t size)
{
	while (calls--) {
		call_oneway(client, 0, .size = size);
		expect(client, BR_TRANSACTION_COMPLETE);
	}
}

static struct client *spam_detecting(void)
{
	struct client *client = client_new();

	EXPECT_OK(client_ioctl(client, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &(uint32_t){ 1 }));
	return client;
}

/* Of a manager's 128 KiB for one-way calls; neither sender takes more than a quarter of all. */
static void fill_by_two_others(void)
{
	fill(client_new(), 14, 4000);
	fill(client_new(), 13, 4000);
}

TEST(oneway_spam_is_ones_own, "A sender is not suspected for what others have sent.", "")
{
	struct client *manager = manager_open((struct client_options){ .map_size = 256 * 1024 });
	struct client *client = spam_detecting();

	fill_by_two_others();
	call_oneway(client, 0, .size = 8);
	expect(client, BR_TRANSACTION_COMPLETE);
	expect(manager, BR_TRANSACTION);
}

TEST(oneway_spam_by_number, "Over fifty calls that wait are suspect, however small they are.", "")
{
	struct client *manager = manager_open((struct client_options){ .map_size = 256 * 1024 });
	struct client *client = spam_detecting();

	fill(client, 60, 8);
	fill_by_two_others();
	call_oneway(client, 0, .size = 8);
	expect(client, BR_ONEWAY_SPAM_SUSPECT);
	expect(manager, BR_TRANSACTION);
}

/* ---- counts and numbers ---------------------------------------------------------------------- */

TEST(handle_zero_of_the_manager_itself, "A manager cannot take a handle to itself.", "")
{
	struct client *manager = manager_new();

	put_u32(manager, BC_ACQUIRE, 0);
	EXPECT_ERR(try_flush(manager), EINVAL);
	put_u32(manager, BC_INCREFS, 0);
	EXPECT_ERR(try_flush(manager), EINVAL);
}

TEST(node_debug_info_after_the_last, "There is no node behind the highest ptr.", "")
{
	struct client *manager = manager_new();
	struct client *owner = client_new();
	struct binder_node_debug_info info = { .ptr = ~0ull, .cookie = 7, .has_weak_ref = 7 };

	give(owner, manager, ~0ull, 1, 0);
	EXPECT_OK(client_ioctl(owner, BINDER_GET_NODE_DEBUG_INFO, &info));
	EXPECT_EQ(info.ptr, 0);
	EXPECT_EQ(info.cookie, 0);
	EXPECT_EQ(info.has_weak_ref, 0);
}

TEST(node_info_for_ref_without_manager, "While there is no manager everybody gets EPERM.", "")
{
	struct client *client = client_new();
	struct binder_node_info_for_ref info = { .handle = 0 };

	EXPECT_ERR(client_ioctl(client, BINDER_GET_NODE_INFO_FOR_REF, &info), EPERM);
}

TEST(manager_ext_does_not_look_at_the_type, "The type of the manager's object means nothing.", "")
{
	struct client *client = client_new();
	struct flat_binder_object self = { .hdr.type = BINDER_TYPE_FD, .binder = 3, .cookie = 4 };

	EXPECT_OK(client_ioctl(client, BINDER_SET_CONTEXT_MGR_EXT, &self));
	call(client_new(), 0);
	EXPECT_EQ(expect(client, BR_TRANSACTION)->txn.target.ptr, 3);
}
