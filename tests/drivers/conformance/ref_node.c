// SPDX-License-Identifier: GPL-2.0
/*
 * Reference counts as the owner of a node sees them: BR_INCREFS, BR_ACQUIRE, BR_RELEASE,
 * BR_DECREFS.
 */
#include "expect.h"
#include "test.h"

#define PTR 0x1000
#define COOKIE 0x2000

/* A server that wants to see its reference returns. */
static struct client *owner_new(void)
{
	struct client *owner = client_new();

	owner->show_refs = true;
	return owner;
}

static void expect_ref(struct client *owner, uint32_t cmd, const char *file, int line)
{
	const struct returned *got = expect_return(owner, cmd, file, line);

	EXPECT_EQ(got->ref.ptr, PTR);
	EXPECT_EQ(got->ref.cookie, COOKIE);
}

#define expect_ref(owner, cmd) expect_ref(owner, cmd, __FILE__, __LINE__)

/* Read the first two returns, acknowledge them, and read the completion. */
static void acknowledge(struct client *owner)
{
	expect_ref(owner, BR_INCREFS);
	expect_ref(owner, BR_ACQUIRE);
	put_ref(owner, BC_INCREFS_DONE, PTR, COOKIE);
	send_ref(owner, BC_ACQUIRE_DONE, PTR, COOKIE);
	expect(owner, BR_TRANSACTION_COMPLETE);
}

#define expect_released(owner) (expect_ref(owner, BR_RELEASE), expect_ref(owner, BR_DECREFS))

/* owner sends its node one-way; the manager gets it, and only the buffer refers to it. */
static const struct returned *send_node(struct client *owner, struct client *manager)
{
	const struct returned *got;

	call_oneway(owner, 0, .objects = { OBJ_BINDER(PTR, COOKIE) });
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_HANDLE);
	return got;
}

static uint32_t handle_in(const struct returned *got)
{
	return object_at(got, 0)->flat.handle;
}

TEST(ref_sent_node_is_acquired,
     "The owner of a node sent for the first time gets BR_INCREFS, BR_ACQUIRE, then "
     "completion.")
{
	struct client *manager = manager_new(), *owner = owner_new();

	send_node(owner, manager);
	expect_ref(owner, BR_INCREFS);
	expect_ref(owner, BR_ACQUIRE);
	expect_only(owner, BR_TRANSACTION_COMPLETE);
}

TEST(ref_sent_weak_node_is_increfed, "For a weak binder object the owner gets BR_INCREFS alone.")
{
	struct client *manager = manager_new(), *owner = owner_new();
	const struct returned *got;

	call_oneway(owner, 0, .objects = { OBJ_WEAK_BINDER(PTR, COOKIE) });
	expect_ref(owner, BR_INCREFS);
	expect_only(owner, BR_TRANSACTION_COMPLETE);
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_WEAK_HANDLE);
}

TEST(ref_sent_again_is_silent,
     "Sending a node again while it has references brings its owner no more returns.")
{
	struct client *manager = manager_new(), *owner = owner_new();
	const struct returned *first = send_node(owner, manager);

	acknowledge(owner);
	call(owner, 0, .objects = { OBJ_BINDER(PTR, COOKIE) });
	EXPECT_EQ(handle_in(expect(manager, BR_TRANSACTION)), handle_in(first));
	expect_nothing(owner);
}

TEST(ref_weak_then_strong,
     "A node first sent weakly and then strongly brings BR_INCREFS, then BR_ACQUIRE.")
{
	struct client *manager = manager_new(), *owner = owner_new();

	call_oneway(owner, 0, .objects = { OBJ_WEAK_BINDER(PTR, COOKIE) });
	expect_ref(owner, BR_INCREFS);
	send_ref(owner, BC_INCREFS_DONE, PTR, COOKIE);
	expect(owner, BR_TRANSACTION_COMPLETE);
	call_oneway(owner, 0, .objects = { OBJ_BINDER(PTR, COOKIE) });
	expect_ref(owner, BR_ACQUIRE);
	expect_only(owner, BR_TRANSACTION_COMPLETE);
	expect(manager, BR_TRANSACTION);
}

TEST(ref_freed_buffer_releases,
     "When the buffer is freed and the handle was not acquired, the owner gets BR_RELEASE and "
     "BR_DECREFS.")
{
	struct client *manager = manager_new(), *owner = owner_new();
	const struct returned *got = send_node(owner, manager);

	acknowledge(owner);
	free_buffer(manager, got);
	expect_released(owner);
	expect_nothing(owner);
}

TEST(ref_acquired_handle_holds,
     "A handle acquired keeps the node after the buffer is freed, until it is released.")
{
	struct client *manager = manager_new(), *owner = owner_new();
	const struct returned *got = send_node(owner, manager);

	acknowledge(owner);
	put_u32(manager, BC_ACQUIRE, handle_in(got));
	free_buffer(manager, got);
	expect_nothing(owner);
	send_u32(manager, BC_RELEASE, handle_in(got));
	expect_released(owner);
	expect_nothing(owner);
}

TEST(ref_weak_handle_holds_weakly,
     "When only a weak reference is left the owner gets BR_RELEASE alone; BR_DECREFS follows "
     "with the end of that.")
{
	struct client *manager = manager_new(), *owner = owner_new();
	const struct returned *got = send_node(owner, manager);

	acknowledge(owner);
	put_u32(manager, BC_INCREFS, handle_in(got));
	free_buffer(manager, got);
	expect_ref(owner, BR_RELEASE);
	expect_nothing(owner);
	send_u32(manager, BC_DECREFS, handle_in(got));
	expect_ref(owner, BR_DECREFS);
	expect_nothing(owner);
}

TEST(ref_release_waits_for_done,
     "BR_RELEASE and BR_DECREFS wait until BR_ACQUIRE and BR_INCREFS have been acknowledged.")
{
	struct client *manager = manager_new(), *owner = owner_new();
	const struct returned *got = send_node(owner, manager);

	expect_ref(owner, BR_INCREFS);
	expect_ref(owner, BR_ACQUIRE);
	expect(owner, BR_TRANSACTION_COMPLETE);
	free_buffer(manager, got);
	expect_nothing(owner);
	send_ref(owner, BC_ACQUIRE_DONE, PTR, COOKIE);
	expect_ref(owner, BR_RELEASE);
	expect_nothing(owner);
	send_ref(owner, BC_INCREFS_DONE, PTR, COOKIE);
	expect_ref(owner, BR_DECREFS);
	expect_nothing(owner);
}

TEST(ref_done_with_wrong_cookie_is_ignored,
     "A BC_ACQUIRE_DONE or BC_INCREFS_DONE with the wrong cookie, or for no node, is ignored.")
{
	struct client *manager = manager_new(), *owner = owner_new();
	const struct returned *got = send_node(owner, manager);

	expect_ref(owner, BR_INCREFS);
	expect_ref(owner, BR_ACQUIRE);
	expect(owner, BR_TRANSACTION_COMPLETE);
	put_ref(owner, BC_ACQUIRE_DONE, PTR, COOKIE + 1);
	put_ref(owner, BC_INCREFS_DONE, PTR + 8, COOKIE);
	send_ref(owner, BC_ACQUIRE_DONE, 0, 0);
	free_buffer(manager, got);
	expect_nothing(owner);
	put_ref(owner, BC_ACQUIRE_DONE, PTR, COOKIE);
	send_ref(owner, BC_INCREFS_DONE, PTR, COOKIE);
	expect_released(owner);
}

TEST(ref_done_unasked_is_ignored, "An unrequested BC_ACQUIRE_DONE or BC_INCREFS_DONE is ignored.")
{
	struct client *manager = manager_new(), *owner = owner_new();
	const struct returned *got = send_node(owner, manager);

	acknowledge(owner);
	put_ref(owner, BC_ACQUIRE_DONE, PTR, COOKIE);
	send_ref(owner, BC_INCREFS_DONE, PTR, COOKIE);
	expect_nothing(owner);
	free_buffer(manager, got);
	expect_released(owner);
}

TEST(ref_death_of_holder_releases, "The death of the last holder brings BR_RELEASE and BR_DECREFS.")
{
	struct client *manager = manager_new(), *owner = owner_new();
	const struct returned *got = send_node(owner, manager);

	acknowledge(owner);
	put_u32(manager, BC_ACQUIRE, handle_in(got));
	send_u32(manager, BC_INCREFS, handle_in(got));
	client_kill(manager);
	expect_released(owner);
	expect_nothing(owner);
}

TEST(ref_gone_node_comes_back_anew,
     "A node that was released completely is acquired again when it is sent again.")
{
	struct client *manager = manager_new(), *owner = owner_new();

	for (int i = 0; i < 3; i++) {
		const struct returned *got = send_node(owner, manager);

		acknowledge(owner);
		free_buffer(manager, got);
		expect_released(owner);
	}
}

TEST(ref_call_in_progress_holds_the_node,
     "A call's buffer holds a strong reference to the node that was called.")
{
	struct client *manager = manager_new(), *owner = owner_new();
	const struct returned *got = send_node(owner, manager), *inner;

	acknowledge(owner);
	call_oneway(manager, handle_in(got), .code = 1);
	free_buffer(manager, got);
	inner = expect(owner, BR_TRANSACTION);
	expect_nothing(owner);
	free_buffer(owner, inner);
	expect_released(owner);
}

TEST(ref_second_holder_is_silent,
     "The owner gets no return for a second holder, nor when the first one releases its handle.")
{
	struct client *manager = manager_new(), *owner = owner_new(), *second = client_new();
	const struct returned *got = send_node(owner, manager), *passed;

	acknowledge(owner);
	put_free(manager, call_received(second, 0, manager));
	reply(manager, .objects = { OBJ_HANDLE(handle_in(got)) });
	passed = expect_sent(second, BR_REPLY);
	free_buffer(manager, got);
	expect_nothing(owner);
	free_buffer(second, passed);
	expect_released(owner);
}

TEST(ref_cookie_must_match, "A node sent with another cookie than before fails the call.")
{
	struct client *manager = manager_new(), *owner = owner_new();

	send_node(owner, manager);
	acknowledge(owner);
	call_oneway(owner, 0, .objects = { OBJ_BINDER(PTR, COOKIE + 8) });
	expect(owner, BR_FAILED_REPLY);
	EXPECT_EQ(extended_error(owner).param, -EINVAL);
}

TEST(ref_same_ptr_in_other_process, "The same ptr in two processes is two nodes.")
{
	struct client *manager = manager_new(), *one = client_new(), *two = client_new();
	uint32_t first = give(one, manager, PTR, COOKIE, 0);
	uint32_t second = give(two, manager, PTR, COOKIE, 0);

	EXPECT(first != second);
	round_trip(manager, first, one);
	round_trip(manager, second, two);
}

TEST(ref_failed_call_is_undone, "References taken by a call that fails later are dropped.")
{
	struct client *manager = manager_new(), *owner = owner_new();

	call_oneway(owner, 0, .objects = { OBJ_BINDER(PTR, COOKIE), OBJ_HANDLE(99) });
	expect_only(owner, BR_FAILED_REPLY);
	send_node(owner, manager);
	expect_ref(owner, BR_INCREFS);
}

TEST(ref_manager_node_is_silent, "The context manager gets no reference returns for handle 0.")
{
	struct client *manager = manager_new(), *client = client_new();

	manager->show_refs = true;
	put_u32(client, BC_INCREFS, 0);
	send_u32(client, BC_ACQUIRE, 0);
	expect_nothing(manager);
	put_u32(client, BC_RELEASE, 0);
	send_u32(client, BC_DECREFS, 0);
	expect_nothing(manager);
	round_trip(client, 0, manager);
}
