// SPDX-License-Identifier: GPL-2.0
/* One-way calls: one at a time for each node, in order, within half of the receiver's space. */
#include "expect.h"
#include "test.h"

TEST(oneway_second_waits_for_free_buffer,
     "A node's next one-way call is delivered when the first one's buffer is freed.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *first, *second;

	call_oneway(client, 0, .code = 1);
	call_oneway(client, 0, .code = 2);
	first = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(first->txn.code, 1);
	expect_nothing(manager);
	free_buffer(manager, first);
	second = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(second->txn.code, 2);
	free_buffer(manager, second);
	expect_nothing(manager);
}

TEST(oneway_nodes_are_independent,
     "One-way calls to different nodes of a process do not wait for each other.")
{
	struct client *client = manager_new(), *server = client_new();
	uint32_t one = give(server, client, 0x1000, 1, 0);
	uint32_t two = give(server, client, 0x2000, 2, 0);

	call_oneway(client, one, .code = 1);
	call_oneway(client, two, .code = 2);
	call_oneway(client, one, .code = 3);
	EXPECT_EQ(expect(server, BR_TRANSACTION)->txn.code, 1);
	EXPECT_EQ(expect(server, BR_TRANSACTION)->txn.code, 2);
	expect_nothing(server);
}

TEST(oneway_sync_calls_overtake,
     "A call that waits for a reply does not queue behind the one-way calls of its node.")
{
	struct client *manager = manager_new(), *client = client_new(), *other = client_new();
	const struct returned *got;

	call_oneway(client, 0, .code = 1);
	call_oneway(client, 0, .code = 2);
	EXPECT_EQ(call_received(other, 0, manager, .code = 3)->txn.code, 1);
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(got->txn.code, 3);
	complete_call(manager, got, other);
	expect_nothing(manager);
}

TEST(oneway_keeps_the_order,
     "One-way calls of one sender to one node arrive in the order in which they were sent.")
{
	struct client *manager = manager_new(), *client = client_new();

	for (uint32_t code = 1; code <= 20; code++)
		call_oneway(client, 0, .code = code);
	for (uint32_t code = 1; code <= 20; code++) {
		const struct returned *got = expect(manager, BR_TRANSACTION);

		EXPECT_EQ(got->txn.code, code);
		free_buffer(manager, got);
	}
}

TEST(oneway_order_across_senders, "One-way calls of several senders to one node share one queue.")
{
	struct client *manager = manager_new(), *one = client_new(), *two = client_new();

	call_oneway(one, 0, .code = 1);
	call_oneway(two, 0, .code = 2);
	call_oneway(one, 0, .code = 3);
	for (uint32_t code = 1; code <= 3; code++) {
		const struct returned *got = expect(manager, BR_TRANSACTION);

		EXPECT_EQ(got->txn.code, code);
		free_buffer(manager, got);
	}
}

TEST(oneway_freed_by_another_thread,
     "Freeing the buffer in any thread releases the next one-way call.")
{
	struct client *manager = manager_new(), *thread = client_thread(manager);
	struct client *client = client_new();
	const struct returned *got;

	call_oneway(client, 0, .code = 1);
	call_oneway(client, 0, .code = 2);
	got = expect(manager, BR_TRANSACTION);
	free_buffer(thread, got);
	EXPECT_EQ(expect(thread, BR_TRANSACTION)->txn.code, 2);
}

TEST(oneway_needs_no_reply, "A reply to a one-way call is an error of the server only.")
{
	struct client *manager = manager_new(), *client = client_new();

	call_oneway(client, 0);
	expect(client, BR_TRANSACTION_COMPLETE);
	expect(manager, BR_TRANSACTION);
	reply(manager);
	expect(manager, BR_FAILED_REPLY);
	expect_nothing(client);
}

TEST(oneway_survives_its_sender, "A one-way call is delivered although its sender has died.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	call_oneway(client, 0, .code = 6, .data = "legacy", .size = 7);
	client_kill_and_wait(client);
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(got->txn.code, 6);
	EXPECT_EQ(got->txn.data_size, 7);
}

TEST(oneway_space_is_half_of_all,
     "One-way calls get at most half of the receiver's space; other calls can use all of it.")
{
	struct client *manager = manager_open((struct client_options){ .map_size = 64 * 1024 });
	struct client *client = client_new(), *other = client_new();

	call_oneway(client, 0, .size = 20 * 1024);
	expect(client, BR_TRANSACTION_COMPLETE);
	call_oneway(client, 0, .size = 20 * 1024);
	expect(client, BR_FAILED_REPLY);
	call(other, 0, .size = 40 * 1024);
	expect_nothing(other);
	expect(manager, BR_TRANSACTION);
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->txn.data_size, 40 * 1024);
}

TEST(oneway_too_big_for_its_half,
     "A one-way call larger than half of the space fails, even if the space is empty.")
{
	struct client *manager = manager_open((struct client_options){ .map_size = 64 * 1024 });
	struct client *client = client_new();

	call_oneway(client, 0, .size = 34 * 1024);
	expect(client, BR_FAILED_REPLY);
	call_received(client, 0, manager, .size = 34 * 1024);
}

TEST(oneway_space_comes_back,
     "Freeing the buffers of one-way calls restores their space, again and again.")
{
	struct client *manager = manager_open((struct client_options){ .map_size = 64 * 1024 });
	struct client *client = client_new();

	for (int i = 0; i < 50; i++) {
		call_oneway(client, 0, .size = 30 * 1024);
		expect(client, BR_TRANSACTION_COMPLETE);
		free_buffer(manager, expect(manager, BR_TRANSACTION));
	}
}

static void enable_spam_detection(struct client *client)
{
	EXPECT_OK(client_ioctl(client, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &(uint32_t){ 1 }));
}

/*
 * Fill the manager's one-way space with small calls until something other than completion comes
 * back; its number.
 */
static int calls_until_suspect(struct client *client, uint32_t size, uint32_t *what)
{
	for (int i = 1; i <= 60; i++) {
		const struct returned *got;

		call_oneway(client, 0, .size = size);
		got = peek(client);
		EXPECT(got);
		*what = got->cmd;
		expect(client, got->cmd);
		if (got->cmd != BR_TRANSACTION_COMPLETE)
			return i;
	}
	*what = 0;
	return 0;
}

TEST(oneway_spam_is_returned,
     "A sender that occupies over half of the one-way space when it runs low gets "
     "BR_ONEWAY_SPAM_SUSPECT.")
{
	struct client *manager = manager_open((struct client_options){ .map_size = 256 * 1024 });
	struct client *client = client_new();
	uint32_t what;
	int count;

	enable_spam_detection(manager);
	enable_spam_detection(client);
	count = calls_until_suspect(client, 4000, &what);
	EXPECT_EQ(what, BR_ONEWAY_SPAM_SUSPECT);
	EXPECT(count > 15 && count < 33);
	expect_nothing(client);
	expect(manager, BR_TRANSACTION);
}

TEST(oneway_spam_is_returned_once,
     "BR_ONEWAY_SPAM_SUSPECT is returned once, until the space has recovered.")
{
	struct client *manager = manager_open((struct client_options){ .map_size = 256 * 1024 });
	struct client *client = client_new();
	uint32_t what;

	enable_spam_detection(manager);
	enable_spam_detection(client);
	calls_until_suspect(client, 4000, &what);
	EXPECT_EQ(what, BR_ONEWAY_SPAM_SUSPECT);
	call_oneway(client, 0, .size = 64);
	expect(client, BR_TRANSACTION_COMPLETE);
	while (peek(manager))
		free_buffer(manager, expect(manager, BR_TRANSACTION));
	calls_until_suspect(client, 4000, &what);
	EXPECT_EQ(what, BR_ONEWAY_SPAM_SUSPECT);
}

TEST(oneway_spam_detection_is_the_senders,
     "A sender that has not enabled detection gets BR_TRANSACTION_COMPLETE to the end.")
{
	struct client *manager = manager_open((struct client_options){ .map_size = 256 * 1024 });
	struct client *client = client_new();
	uint32_t what;

	enable_spam_detection(manager);
	calls_until_suspect(client, 4000, &what);
	EXPECT_EQ(what, BR_FAILED_REPLY);
}

static void fill(struct client *client, int calls, size_t size)
{
	while (calls--) {
		call_oneway(client, 0, .size = size);
		expect(client, BR_TRANSACTION_COMPLETE);
	}
}

/* Part of a manager's 128 KiB for one-way calls; neither sender takes over a quarter of all. */
static void fill_by_two_others(void)
{
	fill(client_new(), 14, 4000);
	fill(client_new(), 13, 4000);
}

TEST(oneway_spam_is_ones_own, "A sender is not suspected for calls of other senders.")
{
	struct client *manager = manager_open((struct client_options){ .map_size = 256 * 1024 });
	struct client *client = client_new();

	enable_spam_detection(client);
	fill_by_two_others();
	call_oneway(client, 0, .size = 8);
	expect(client, BR_TRANSACTION_COMPLETE);
	expect(manager, BR_TRANSACTION);
}

TEST(oneway_spam_by_number,
     "A sender with more than fifty waiting calls is a suspect, however small they are.")
{
	struct client *manager = manager_open((struct client_options){ .map_size = 256 * 1024 });
	struct client *client = client_new();

	enable_spam_detection(client);
	fill(client, 60, 8);
	fill_by_two_others();
	call_oneway(client, 0, .size = 8);
	expect(client, BR_ONEWAY_SPAM_SUSPECT);
	expect(manager, BR_TRANSACTION);
}
