// SPDX-License-Identifier: GPL-2.0
/*
 * A BINDER_FREEZE that has to wait: for calls that the process serves, its death, a signal, and the
 * other opens of the process.
 */
#include <signal.h>

#include "expect.h"
#include "test.h"

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
