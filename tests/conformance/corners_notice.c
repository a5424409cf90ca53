// SPDX-License-Identifier: GPL-2.0
/*
 * Corners of what processes are told: of deaths and freezes, with threads that are outside of the
 * loop, holders that end with a notice half done, and freezes that wait.
 */
#include <signal.h>
#include <sys/ioctl.h>

#include "expect.h"
#include "test.h"

/* ---- deaths ----------------------------------------------------------------------- */

static void request_death(struct client *client, uint32_t handle, uint64_t cookie)
{
	put_handle_cookie(client, BC_REQUEST_DEATH_NOTIFICATION, handle, cookie);
	flush(client);
}

TEST(death_of_a_holder_untold, "A holder may end before it has read of a death.", "")
{
	struct client *manager = manager_new();
	struct client *holder = client_new();
	struct client *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);

	put_u32(holder, BC_ACQUIRE, 0);
	request_death(holder, 0, 0xd0);
	request_death(manager, handle, 0xd1);
	client_kill(server);
	sleep_ms(SETTLE_MS);
	client_kill(manager);
	sleep_ms(SETTLE_MS);
	client_kill(holder);
	round_trip(client_new(), 0, manager_new());
}

TEST(death_of_a_holder_unanswered, "A holder may end before it has answered the word of a death.",
     "")
{
	struct client *manager = manager_new();
	struct client *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);

	request_death(manager, handle, 0xd1);
	client_kill(server);
	expect(manager, BR_DEAD_BINDER);
	put_handle_cookie(manager, BC_CLEAR_DEATH_NOTIFICATION, handle, 0xd1);
	flush(manager);
	client_kill(manager);
	round_trip(client_new(), 0, manager_new());
}

TEST(death_clear_outside_the_loop,
     "What a thread outside of the loop takes back is confirmed to any thread of the process.", "")
{
	struct client *holder = client_new();
	struct client *thread = client_thread(holder);

	manager_new();
	put_u32(holder, BC_ACQUIRE, 0);
	request_death(holder, 0, 0xd0);
	put_handle_cookie(holder, BC_CLEAR_DEATH_NOTIFICATION, 0, 0xd0);
	flush(holder);
	EXPECT_EQ(expect(thread, BR_CLEAR_DEATH_NOTIFICATION_DONE)->cookie, 0xd0);
	expect_nothing(holder);
}

TEST(death_clear_inside_the_loop, "What a thread in the loop takes back is confirmed to it alone.",
     "")
{
	struct client *holder = client_new();
	struct client *thread = client_thread(holder);

	manager_new();
	put_cmd(holder, BC_ENTER_LOOPER);
	put_u32(holder, BC_ACQUIRE, 0);
	request_death(holder, 0, 0xd0);
	put_handle_cookie(holder, BC_CLEAR_DEATH_NOTIFICATION, 0, 0xd0);
	flush(holder);
	expect_nothing(thread);
	EXPECT_EQ(expect(holder, BR_CLEAR_DEATH_NOTIFICATION_DONE)->cookie, 0xd0);
}

TEST(death_asked_late_outside_the_loop,
     "Asked after the death by a thread outside of the loop, any thread is told.", "")
{
	struct client *manager = manager_new();
	struct client *holder = client_new();
	struct client *thread = client_thread(holder);

	put_u32(holder, BC_ACQUIRE, 0);
	flush(holder);
	client_kill(manager);
	sleep_ms(SETTLE_MS);
	request_death(holder, 0, 0xd0);
	EXPECT_EQ(expect(thread, BR_DEAD_BINDER)->cookie, 0xd0);
}

/* ---- freezes ------------------------------------------------------------------------ */

struct freezing {
	struct client *by;
	struct binder_freeze_info info;
	int ret;
};

static void do_freeze(void *arg)
{
	struct freezing *f = arg;

	f->ret = ioctl(f->by->fd, BINDER_FREEZE, &f->info) ? -errno : 0;
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

static int freeze(struct client *by, struct client *target, bool enable)
{
	struct binder_freeze_info info = {
		.pid = (uint32_t)actor_pid(target->by), .enable = enable,
	};

	return client_ioctl(by, BINDER_FREEZE, &info);
}

TEST(freeze_succeeds_when_the_call_ends,
     "A freeze that waits succeeds as the last call is answered.", "")
{
	struct client *manager = manager_new();
	struct client *client = client_new(), *third = client_new();
	const struct returned *got;
	struct freezing *f;

	call(client, 0);
	got = expect(manager, BR_TRANSACTION);
	f = freeze_begin(third, manager, 4000);
	EXPECT_EQ(freeze_end(f, 100), -EINPROGRESS);
	answer(manager, got);
	EXPECT_EQ(freeze_end(f, STEP_TIMEOUT_MS), 0);
	finish_call(client);
	call(client, 0);
	expect(client, BR_FROZEN_REPLY);
}

TEST(freeze_keeps_calls_out_while_it_waits, "While a freeze waits, calls are refused already.", "")
{
	struct client *manager = manager_new();
	struct client *client = client_new(), *third = client_new(), *fourth = client_new();
	struct freezing *f;

	call(client, 0);
	expect(manager, BR_TRANSACTION);
	f = freeze_begin(third, manager, 500);
	EXPECT_EQ(freeze_end(f, 100), -EINPROGRESS);
	call(fourth, 0);
	expect(fourth, BR_FROZEN_REPLY);
	EXPECT_EQ(freeze_end(f, STEP_TIMEOUT_MS), -EAGAIN);
	call(fourth, 0);
	EXPECT_EQ(expect(client_thread(manager), BR_TRANSACTION)->txn.code, 0);
}

TEST(freeze_of_a_process_that_dies, "A freeze that waits for a process that dies succeeds.", "")
{
	struct client *manager = manager_new();
	struct client *client = client_new(), *third = client_new();
	struct freezing *f;

	call(client, 0);
	expect(manager, BR_TRANSACTION);
	f = freeze_begin(third, manager, 600);
	EXPECT_EQ(freeze_end(f, 100), -EINPROGRESS);
	client_kill(manager);
	EXPECT_EQ(freeze_end(f, STEP_TIMEOUT_MS), 0);
	expect(client, BR_TRANSACTION_COMPLETE);
	expect(client, BR_DEAD_REPLY);
}

static void on_signal(int number)
{
}

static void do_catch(void *arg)
{
	struct sigaction action = { .sa_handler = on_signal };

	EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

TEST(freeze_wait_ends_by_a_signal, "A signal ends the wait, and the process is not frozen.", "")
{
	struct client *manager = manager_new();
	struct client *client = client_new(), *third = client_new();
	const struct returned *got;
	struct freezing *f;

	client_run(third, do_catch, NULL);
	call(client, 0);
	got = expect(manager, BR_TRANSACTION);
	f = freeze_begin(third, manager, 4000);
	EXPECT_EQ(freeze_end(f, 100), -EINPROGRESS);
	EXPECT_EQ(kill(actor_pid(third->by), SIGUSR1), 0);
	EXPECT_EQ(freeze_end(f, 1000), -EINTR);
	answer(manager, got);
	finish_call(client);
	round_trip(client, 0, manager);
}

TEST(freeze_of_several_opens, "All opens of a process freeze together, or none.", "")
{
	struct client *manager = manager_new();
	struct client *idle = client_new();
	struct client *busy = client_again(idle);
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
	expect(client, BR_TRANSACTION_COMPLETE);
	handle = object_at(expect(client, BR_REPLY), 0)->flat.handle;
	call(client, handle);
	got = expect(busy, BR_TRANSACTION);
	EXPECT_ERR(freeze(manager, idle, true), EAGAIN);
	round_trip(manager, of_idle, idle);
	answer(busy, got);
	finish_call(client);
	EXPECT_OK(freeze(manager, idle, true));
	call(manager, of_idle);
	expect(manager, BR_FROZEN_REPLY);
	call(manager, of_busy);
	expect(manager, BR_FROZEN_REPLY);
	EXPECT_OK(freeze(manager, idle, false));
	round_trip(manager, of_idle, idle);
	round_trip(manager, of_busy, busy);
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

TEST(freeze_update_needs_same_sender, "TF_UPDATE_TXN does not replace another process's call.", "")
{
	struct client *manager = manager_new();
	struct client *first = client_new(), *second = client_new();

	EXPECT_OK(freeze(first, manager, true));
	for (int i = 0; i < 4; i++)
		update(i % 2 ? second : first, 0, i);
	EXPECT_OK(freeze(first, manager, false));
	/* the first is on its way already, and no more pending */
	expect_number(manager, 0);
	expect_number(manager, 2);
	expect_number(manager, 3);
	expect_nothing(manager);
}

TEST(freeze_update_needs_same_object, "Nor one to another object.", "")
{
	struct client *manager = manager_new();
	struct client *server = client_new();
	uint32_t one = give(server, manager, 0x10, 0x20, 0);
	uint32_t two = give(server, manager, 0x30, 0x40, 0);

	EXPECT_OK(freeze(manager, server, true));
	for (int i = 0; i < 6; i++)
		update(manager, i % 2 ? two : one, i);
	EXPECT_OK(freeze(manager, server, false));
	expect_number(server, 0);
	expect_number(server, 1);
	expect_number(server, 4);
	expect_number(server, 5);
	expect_nothing(server);
}

TEST(freeze_update_needs_the_flag_before, "Nor one that was sent without TF_UPDATE_TXN.", "")
{
	struct client *manager = manager_new();
	struct client *client = client_new();
	int one = 1;

	EXPECT_OK(freeze(client, manager, true));
	update(client, 0, 0);
	call_oneway(client, 0, .code = 2, .data = &one, .size = sizeof(one));
	update(client, 0, 2);
	EXPECT_OK(freeze(client, manager, false));
	expect_number(manager, 0);
	expect_number(manager, 1);
	expect_number(manager, 2);
	expect_nothing(manager);
}

/* ---- freeze notices -------------------------------------------------------------------- */

TEST(frozen_notice_outside_the_loop,
     "What a thread outside of the loop asks for, and takes back, any thread is told.",
     "freeze_notification")
{
	struct client *holder = client_new();
	struct client *thread = client_thread(holder);

	manager_new();
	put_u32(holder, BC_ACQUIRE, 0);
	put_handle_cookie(holder, BC_REQUEST_FREEZE_NOTIFICATION, 0, 0xf0);
	flush(holder);
	EXPECT_EQ(expect(thread, BR_FROZEN_BINDER)->frozen.cookie, 0xf0);
	put_u64(thread, BC_FREEZE_NOTIFICATION_DONE, 0xf0);
	put_handle_cookie(holder, BC_CLEAR_FREEZE_NOTIFICATION, 0, 0xf0);
	flush(thread);
	flush(holder);
	EXPECT_EQ(expect(thread, BR_CLEAR_FREEZE_NOTIFICATION_DONE)->cookie, 0xf0);
}

TEST(frozen_notice_of_a_holder_untold, "A holder may end at any point of a notice.",
     "freeze_notification")
{
	struct client *manager = manager_new();

	for (int step = 0; step < 4; step++) {
		struct client *holder = client_new();

		put_u32(holder, BC_ACQUIRE, 0);
		put_handle_cookie(holder, BC_REQUEST_FREEZE_NOTIFICATION, 0, 0xf0);
		flush(holder);
		if (step > 0)
			expect(holder, BR_FROZEN_BINDER);
		if (step > 1)
			EXPECT_OK(freeze(client_new(), manager, step == 2));
		if (step > 2) {
			put_handle_cookie(holder, BC_CLEAR_FREEZE_NOTIFICATION, 0, 0xf0);
			flush(holder);
		}
		client_kill(holder);
	}
	round_trip(client_new(), 0, manager);
}
