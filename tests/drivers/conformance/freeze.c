// SPDX-License-Identifier: GPL-2.0
/*
 * BINDER_FREEZE and BINDER_GET_FROZEN_INFO: what a frozen process does not get, and what it gets
 * later.
 */
#include <signal.h>
#include <unistd.h>

#include "expect.h"
#include "test.h"

static struct binder_frozen_status_info frozen_info(struct client *by, struct client *target)
{
	struct binder_frozen_status_info info = { .pid = (uint32_t)actor_pid(target->by) };

	EXPECT_OK(client_ioctl(by, BINDER_GET_FROZEN_INFO, &info));
	return info;
}

TEST(freeze_unknown_process_is_einval,
     "Freezing a process without a binder device, or querying its state, fails with EINVAL.")
{
	struct client *client = client_new();
	struct binder_freeze_info freeze_info = { .pid = 1, .enable = 1 };
	struct binder_frozen_status_info status = { .pid = 1 };

	EXPECT_ERR(client_ioctl(client, BINDER_FREEZE, &freeze_info), EINVAL);
	EXPECT_ERR(client_ioctl(client, BINDER_GET_FROZEN_INFO, &status), EINVAL);
}

TEST(freeze_of_another_user, "Any user may freeze and thaw any process.", "freeze_any_user")
{
	struct client *client = client_new(), *target = client_new();

	client_set_euid(client, 1000);
	EXPECT_OK(freeze(client, target, true, 0));
	EXPECT_OK(freeze(client, target, false, 0));
}

TEST(freeze_of_another_user_is_eperm,
     "Other users than root and the context manager may not freeze or thaw a process.",
     "freeze_restricted")
{
	struct client *client = client_new(), *manager = manager_new();
	struct client *target = client_new();

	client_set_euid(client, 1000);
	EXPECT_ERR(freeze(client, manager, true, 0), EPERM);
	EXPECT_ERR(freeze(client, manager, false, 0), EPERM);
	EXPECT_OK(freeze(client_new(), target, true, 0)); /* root */
	client_set_euid(manager, 1001);
	EXPECT_OK(freeze(manager, target, false, 0));
}

TEST(freeze_fails_sync_calls,
     "A call to a frozen process gets BR_FROZEN_REPLY and is counted in sync_recv.")
{
	struct client *manager = manager_new(), *client = client_new();

	EXPECT_OK(freeze(client, manager, true, 0));
	EXPECT_EQ(frozen_info(client, manager).sync_recv, 0);
	call(client, 0);
	expect_only(client, BR_FROZEN_REPLY);
	EXPECT_EQ(frozen_info(client, manager).sync_recv & 1, 1);
	EXPECT_EQ(frozen_info(client, manager).async_recv, 0);
	expect_nothing(manager);
}

TEST(freeze_thaw_lets_calls_in, "A thawed process gets calls again.")
{
	struct client *manager = manager_new(), *client = client_new();

	EXPECT_OK(freeze(client, manager, true, 0));
	EXPECT_OK(freeze(client, manager, false, 0));
	round_trip(client, 0, manager);
}

TEST(freeze_again_is_fine,
     "Freezing twice and thawing twice succeed; freezing again clears what was received.")
{
	struct client *manager = manager_new(), *client = client_new();

	EXPECT_OK(freeze(client, manager, true, 0));
	call(client, 0);
	expect(client, BR_FROZEN_REPLY);
	EXPECT_EQ(frozen_info(client, manager).sync_recv & 1, 1);
	EXPECT_OK(freeze(client, manager, true, 0));
	EXPECT_EQ(frozen_info(client, manager).sync_recv & 1, 0);
	EXPECT_OK(freeze(client, manager, false, 0));
	EXPECT_OK(freeze(client, manager, false, 0));
	round_trip(client, 0, manager);
}

TEST(freeze_keeps_oneway_calls,
     "One-way calls to a frozen process are queued and counted in async_recv; as pending work "
     "also in bit 1 of sync_recv.")
{
	struct client *manager = manager_new(), *client = client_new();

	EXPECT_OK(freeze(client, manager, true, 0));
	call_oneway(client, 0, .code = 4);
	EXPECT_EQ(frozen_info(client, manager).async_recv, 1);
	EXPECT_EQ(frozen_info(client, manager).sync_recv, 2);
	EXPECT_OK(freeze(client, manager, false, 0));
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->txn.code, 4);
}

TEST(freeze_oneway_sender_is_notified,
     "The sender of a one-way call to a frozen process gets BR_TRANSACTION_PENDING_FROZEN.",
     "pending_frozen")
{
	struct client *manager = manager_new(), *client = client_new();

	EXPECT_OK(freeze(client, manager, true, 0));
	call_oneway(client, 0);
	expect_only(client, BR_TRANSACTION_PENDING_FROZEN);
}

TEST(freeze_waits_for_the_calls_within,
     "A process that serves a call cannot be frozen: EAGAIN, at once or after timeout_ms.")
{
	struct client *manager = manager_new(), *client = client_new(), *third = client_new();
	const struct returned *got;
	int64_t start;

	got = call_received(client, 0, manager);
	EXPECT_ERR(freeze(third, manager, true, 0), EAGAIN);
	start = now_ms();
	EXPECT_ERR(freeze(third, manager, true, 150), EAGAIN);
	EXPECT(now_ms() - start >= 100);
	complete_call(manager, got, client);
	round_trip(client, 0, manager);
	EXPECT_OK(freeze(third, manager, true, 0));
}

TEST(freeze_failed_attempt_leaves_it_thawed,
     "After a freeze that failed with EAGAIN calls are still delivered.")
{
	struct client *manager = manager_new(), *client = client_new(), *third = client_new();

	call_received(client, 0, manager);
	EXPECT_ERR(freeze(third, manager, true, 0), EAGAIN);
	call_oneway(third, 0, .code = 2);
	expect(third, BR_TRANSACTION_COMPLETE);
	EXPECT_EQ(expect(client_thread(manager), BR_TRANSACTION)->txn.code, 2);
}

TEST(freeze_does_not_hold_back_oneway_work,
     "A one-way call that is being handled does not keep its process from being frozen.")
{
	struct client *manager = manager_new(), *client = client_new();

	call_oneway(client, 0);
	expect(manager, BR_TRANSACTION);
	EXPECT_OK(freeze(client, manager, true, 0));
}

TEST(freeze_waiting_caller_is_busy,
     "A process that waits for a reply cannot be frozen (EAGAIN) until it has read the reply.")
{
	struct client *manager = manager_new(), *client = client_new(), *third = client_new();

	call(client, 0);
	EXPECT_ERR(freeze(third, client, true, 0), EAGAIN);
	answer(manager, expect(manager, BR_TRANSACTION));
	EXPECT_ERR(freeze(third, client, true, 0), EAGAIN);
	finish_call(client);
	EXPECT_OK(freeze(third, client, true, 0));
}

TEST(freeze_pending_bit_follows_the_calls,
     "Bit 1 of sync_recv is set while a process that is not frozen has calls in progress.")
{
	struct client *manager = manager_new(), *client = client_new(), *third = client_new();

	EXPECT_EQ(frozen_info(third, client).sync_recv, 0);
	call(client, 0);
	EXPECT_EQ(frozen_info(third, client).sync_recv, 2);
	EXPECT_EQ(frozen_info(third, manager).sync_recv, 2);
	answer(manager, expect(manager, BR_TRANSACTION));
	EXPECT_EQ(frozen_info(third, client).sync_recv, 2);
	EXPECT_EQ(frozen_info(third, manager).sync_recv, 0);
	finish_call(client);
	EXPECT_EQ(frozen_info(third, client).sync_recv, 0);
}

TEST(freeze_is_per_process, "All opens of a process freeze together.")
{
	struct client *manager = manager_new(), *server = client_new();
	struct client *again = client_again(server);
	uint32_t one = give(server, manager, 0x10, 0x20, 0);
	uint32_t two = give(again, manager, 0x30, 0x40, 0);

	EXPECT_OK(freeze(manager, server, true, 0));
	call(manager, one);
	expect(manager, BR_FROZEN_REPLY);
	call(manager, two);
	expect(manager, BR_FROZEN_REPLY);
	EXPECT_OK(freeze(manager, server, false, 0));
	round_trip(manager, one, server);
	round_trip(manager, two, again);
}

TEST(freeze_own_process, "A process may freeze itself.")
{
	struct client *manager = manager_new(), *client = client_new();

	EXPECT_OK(freeze(manager, manager, true, 0));
	call(client, 0);
	expect(client, BR_FROZEN_REPLY);
	EXPECT_OK(freeze(manager, manager, false, 0));
	round_trip(client, 0, manager);
}

TEST(freeze_frozen_process_may_call,
     "A frozen process may still make calls itself, and gets the replies.")
{
	struct client *manager = manager_new(), *client = client_new();

	EXPECT_OK(freeze(manager, client, true, 0));
	round_trip(client, 0, manager);
}

TEST(freeze_update_replaces_pending,
     "With TF_UPDATE_TXN a one-way call to a frozen process replaces the pending one of the "
     "same code.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct returned *got;

	EXPECT_OK(freeze(client, manager, true, 0));
	call_oneway(client, 0, .code = 1, .data = "busy", .size = 5);
	for (int i = 0; i < 3; i++)
		call(client, 0, .code = 2, .flags = TF_ONE_WAY | TF_UPDATE_TXN, .data = &i,
		     .size = sizeof(i));
	EXPECT_OK(freeze(client, manager, false, 0));
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(got->txn.code, 1);
	expect_nothing(manager);
	free_buffer(manager, got);
	got = expect(manager, BR_TRANSACTION);
	EXPECT_EQ(got->txn.code, 2);
	EXPECT_EQ(*(int *)got->data, 2);
	free_buffer(manager, got);
	expect_nothing(manager);
}

TEST(freeze_update_needs_same_code,
     "TF_UPDATE_TXN does not replace a pending call with another code or flags.")
{
	struct client *manager = manager_new(), *client = client_new();

	EXPECT_OK(freeze(client, manager, true, 0));
	call_oneway(client, 0, .code = 1);
	call(client, 0, .code = 2, .flags = TF_ONE_WAY | TF_UPDATE_TXN);
	call(client, 0, .code = 3, .flags = TF_ONE_WAY | TF_UPDATE_TXN);
	call(client, 0, .code = 3, .flags = TF_ONE_WAY | TF_UPDATE_TXN | TF_ROOT_OBJECT);
	EXPECT_OK(freeze(client, manager, false, 0));
	for (uint32_t code = 1; code <= 4; code++) {
		const struct returned *got = expect(manager, BR_TRANSACTION);

		EXPECT_EQ(got->txn.code, code < 4 ? code : 3);
		free_buffer(manager, got);
	}
}

TEST(freeze_update_needs_frozen, "TF_UPDATE_TXN replaces nothing while the receiver is not frozen.")
{
	struct client *manager = manager_new(), *client = client_new();

	for (int i = 0; i < 3; i++)
		call(client, 0, .code = 2, .flags = TF_ONE_WAY | TF_UPDATE_TXN);
	for (int i = 0; i < 3; i++)
		free_buffer(manager, expect(manager, BR_TRANSACTION));
	expect_nothing(manager);
}

TEST(freeze_killed_process_stays_answerable,
     "Killing a frozen process gives BR_DEAD_REPLY afterwards.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);

	EXPECT_OK(freeze(manager, server, true, 0));
	client_kill_and_wait(server);
	call(manager, handle);
	expect(manager, BR_DEAD_REPLY);
}

static void update(struct client *client, uint32_t handle, int number)
{
	call(client, handle, .code = 2, .flags = TF_ONE_WAY | TF_UPDATE_TXN, .data = &number,
	     .size = sizeof(number));
}

static void expect_number(struct client *client, int number)
{
	const struct returned *got = expect(client, BR_TRANSACTION);

	EXPECT_EQ(*(int *)got->data, number);
	free_buffer(client, got);
}

TEST(freeze_update_needs_same_sender, "TF_UPDATE_TXN does not replace another process's call.")
{
	struct client *manager = manager_new();
	struct client *first = client_new(), *second = client_new();

	EXPECT_OK(freeze(first, manager, true, 0));
	for (int i = 0; i < 4; i++)
		update(i % 2 ? second : first, 0, i);
	EXPECT_OK(freeze(first, manager, false, 0));
	/* the first is queued already, and not pending any more */
	expect_number(manager, 0);
	expect_number(manager, 2);
	expect_number(manager, 3);
	expect_nothing(manager);
}

TEST(freeze_update_needs_same_object, "TF_UPDATE_TXN does not replace a call to another object.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t one = give(server, manager, 0x10, 0x20, 0);
	uint32_t two = give(server, manager, 0x30, 0x40, 0);

	EXPECT_OK(freeze(manager, server, true, 0));
	for (int i = 0; i < 6; i++)
		update(manager, i % 2 ? two : one, i);
	EXPECT_OK(freeze(manager, server, false, 0));
	expect_number(server, 0);
	expect_number(server, 1);
	expect_number(server, 4);
	expect_number(server, 5);
	expect_nothing(server);
}

TEST(freeze_update_needs_the_flag_before,
     "TF_UPDATE_TXN does not replace a call that was sent without it.")
{
	struct client *manager = manager_new(), *client = client_new();
	int one = 1;

	EXPECT_OK(freeze(client, manager, true, 0));
	update(client, 0, 0);
	call_oneway(client, 0, .code = 2, .data = &one, .size = sizeof(one));
	update(client, 0, 2);
	EXPECT_OK(freeze(client, manager, false, 0));
	expect_number(manager, 0);
	expect_number(manager, 1);
	expect_number(manager, 2);
	expect_nothing(manager);
}

/*
 * A BINDER_FREEZE that has to wait: for calls that the process serves, its death, a signal, and the
 * other opens of the process.
 */

struct freezing {
	struct client *by;
	struct binder_freeze_info info;
	int ret;
};

static void do_freeze(void *arg)
{
	struct freezing *f = arg;

	f->ret = port_ioctl(f->by->port, BINDER_FREEZE, &f->info);
}

static struct freezing *freeze_begin(struct client *by, struct client *target, uint32_t timeout_ms)
{
	struct freezing f = {
		.by = by,
		.info = { .pid = (uint32_t)actor_pid(target->by), .enable = 1,
			  .timeout_ms = timeout_ms },
	};
	struct freezing *shared = shared_copy(&f, sizeof(f));

	actor_start(by->by, do_freeze, shared);
	return shared;
}

static int freeze_end(struct freezing *f, int timeout_ms)
{
	return actor_wait(f->by->by, timeout_ms) ? f->ret : -EINPROGRESS;
}

TEST(freeze_succeeds_when_the_call_ends,
     "A waiting freeze succeeds when the last call is answered.")
{
	struct client *manager = manager_new();
	struct client *client = client_new(), *third = client_new();
	const struct returned *got;
	struct freezing *f;

	got = call_received(client, 0, manager);
	f = freeze_begin(third, manager, 4000);
	EXPECT_EQ(freeze_end(f, 100), -EINPROGRESS);
	answer(manager, got);
	EXPECT_EQ(freeze_end(f, STEP_TIMEOUT_MS), 0);
	finish_call(client);
	call(client, 0);
	expect(client, BR_FROZEN_REPLY);
}

TEST(freeze_keeps_calls_out_while_it_waits, "While a freeze waits, calls are refused already.")
{
	struct client *manager = manager_new();
	struct client *client = client_new(), *third = client_new(), *fourth = client_new();
	struct freezing *f;

	call_received(client, 0, manager);
	f = freeze_begin(third, manager, 500);
	EXPECT_EQ(freeze_end(f, 100), -EINPROGRESS);
	call(fourth, 0);
	expect(fourth, BR_FROZEN_REPLY);
	EXPECT_EQ(freeze_end(f, STEP_TIMEOUT_MS), -EAGAIN);
	call(fourth, 0);
	EXPECT_EQ(expect(client_thread(manager), BR_TRANSACTION)->txn.code, 0);
}

TEST(freeze_of_a_process_that_dies,
     "A freeze that waits for a process succeeds when the process dies.")
{
	struct client *manager = manager_new();
	struct client *client = client_new(), *third = client_new();
	struct freezing *f;

	call_received(client, 0, manager);
	f = freeze_begin(third, manager, 2000);
	EXPECT_EQ(freeze_end(f, 100), -EINPROGRESS);
	client_kill(manager);
	EXPECT_EQ(freeze_end(f, STEP_TIMEOUT_MS), 0);
	expect_sent(client, BR_DEAD_REPLY);
}

static void on_signal(int number)
{
}

static void do_catch(void *arg)
{
	struct sigaction action = { .sa_handler = on_signal };

	EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

TEST(freeze_wait_ends_by_a_signal,
     "A signal ends the wait of BINDER_FREEZE, and the process is not frozen.", "kernel")
{
	struct client *manager = manager_new();
	struct client *client = client_new(), *third = client_new();
	const struct returned *got;
	struct freezing *f;

	client_run(third, do_catch, NULL);
	got = call_received(client, 0, manager);
	f = freeze_begin(third, manager, 4000);
	EXPECT_EQ(freeze_end(f, 100), -EINPROGRESS);
	EXPECT_EQ(kill(actor_pid(third->by), SIGUSR1), 0);
	EXPECT_EQ(freeze_end(f, 1000), -EINTR);
	complete_call(manager, got, client);
	round_trip(client, 0, manager);
}

TEST(freeze_of_several_opens, "All opens of a process freeze together, or none.")
{
	struct client *manager = manager_new(), *idle = client_new(), *busy = client_again(idle);
	uint32_t of_idle = give(idle, manager, 0x10, 0x20, 0);
	uint32_t of_busy = give(busy, manager, 0x30, 0x40, 0);
	struct client *client = client_new();
	const struct returned *got;
	uint32_t handle;

	/* another client calls busy through the manager's handle */
	call(client, 0);
	free_buffer(manager, expect(manager, BR_TRANSACTION));
	reply(manager, .objects = { OBJ_HANDLE(of_busy) });
	expect(manager, BR_TRANSACTION_COMPLETE);
	handle = object_at(expect_sent(client, BR_REPLY), 0)->flat.handle;
	got = call_received(client, handle, busy);
	EXPECT_ERR(freeze(manager, idle, true, 0), EAGAIN);
	round_trip(manager, of_idle, idle);
	complete_call(busy, got, client);
	EXPECT_OK(freeze(manager, idle, true, 0));
	call(manager, of_idle);
	expect(manager, BR_FROZEN_REPLY);
	call(manager, of_busy);
	expect(manager, BR_FROZEN_REPLY);
	EXPECT_OK(freeze(manager, idle, false, 0));
	round_trip(manager, of_idle, idle);
	round_trip(manager, of_busy, busy);
}
