// SPDX-License-Identifier: GPL-2.0
/*
 * Blocked reads: what wakes them, which of several threads gets the work, signals, and completions
 * that wake nobody (TF_DEFER_COMPLETE).
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "test.h"

static struct client *blocking_manager(void)
{
	return manager_open((struct client_options){ .blocking = true });
}

static void park(struct client *client)
{
	read_begin(client);
	EXPECT_EQ(read_end(client, 60), -EINPROGRESS);
}

static struct client *parked_thread(struct client *of)
{
	struct client *thread = client_thread(of);

	send_cmd(thread, BC_ENTER_LOOPER);
	park(thread);
	return thread;
}

static void woken(struct client *client)
{
	EXPECT_OK(read_end(client, STEP_TIMEOUT_MS));
}

static void on_signal(int number)
{
	(void)number;
}

static void catch_signal(void *arg)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = *(int *)arg };

	sigaction(SIGUSR1, &action, NULL);
}

/* Have the client's process catch SIGUSR1, with these flags of sigaction. */
static void catch_with(struct client *client, int flags)
{
	client_run(client, catch_signal, shared_copy(&flags, sizeof(flags)));
}

static void send_signal(struct client *client)
{
	EXPECT(!syscall(SYS_tgkill, actor_pid(client->by), actor_tid(client->by), SIGUSR1));
}

TEST(wait_call_wakes_a_parked_thread, "A parked read returns with the call that arrives.")
{
	struct client *manager = blocking_manager(), *client = client_new();

	park(manager);
	call(client, 0, .code = 3);
	woken(manager);
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->txn.code, 3);
}

TEST(wait_reply_wakes_the_caller, "A parked caller gets completion and reply in one read.")
{
	struct client *manager = manager_new();
	struct client *client = client_open((struct client_options){ .blocking = true });

	call(client, 0);
	park(client);
	answer(manager, expect(manager, BR_TRANSACTION));
	woken(client);
	expect_sent(client, BR_REPLY);
}

TEST(wait_last_parked_goes_first,
     "Of several parked threads the one that parked last gets the work.")
{
	struct client *manager = blocking_manager(), *first = parked_thread(manager);
	struct client *second = parked_thread(manager), *third = parked_thread(manager);

	call(client_new(), 0, .code = 1);
	woken(third);
	EXPECT_EQ(read_end(first, 50), -EINPROGRESS);
	EXPECT_EQ(read_end(second, 50), -EINPROGRESS);
	call(client_new(), 0, .code = 2);
	woken(second);
	EXPECT_EQ(read_end(first, 50), -EINPROGRESS);
	EXPECT_EQ(expect(third, BR_TRANSACTION)->txn.code, 1);
	EXPECT_EQ(expect(second, BR_TRANSACTION)->txn.code, 2);
}

TEST(wait_one_call_wakes_one_thread, "A call wakes one thread and no other.")
{
	struct client *manager = blocking_manager();
	struct client *threads[4];
	int awake = 0;

	for (int i = 0; i < 4; i++)
		threads[i] = parked_thread(manager);
	call(client_new(), 0);
	sleep_ms(CLEANUP_MS);
	for (int i = 0; i < 4; i++)
		awake += read_end(threads[i], 20) == 0;
	EXPECT_EQ(awake, 1);
}

TEST(wait_queued_work_goes_to_the_reader,
     "Work queued while no thread waited goes to the next one that reads.")
{
	struct client *manager = blocking_manager(), *thread = client_thread(manager);

	call(client_new(), 0, .code = 1);
	call(client_new(), 0, .code = 2);
	EXPECT_EQ(expect(thread, BR_TRANSACTION)->txn.code, 1);
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->txn.code, 2);
}

TEST(wait_non_looper_gets_work_too, "A thread that never entered the loop gets work when it waits.")
{
	struct client *manager = blocking_manager(), *thread = client_thread(manager);
	struct binder_write_read nothing = { 0 };

	EXPECT_OK(write_read(thread, &nothing));
	park(thread);
	call(client_new(), 0, .code = 6);
	woken(thread);
	EXPECT_EQ(expect(thread, BR_TRANSACTION)->txn.code, 6);
}

TEST(wait_signal_is_eintr, "A signal ends a parked read with EINTR, with or without SA_RESTART.",
     "kernel")
{
	static const int flags[] = { 0, SA_RESTART };

	for (int i = 0; i < 2; i++) {
		struct client *client = client_open((struct client_options){ .blocking = true });

		catch_with(client, flags[i]);
		send_cmd(client, BC_ENTER_LOOPER);
		park(client);
		send_signal(client);
		EXPECT_ERR(read_end(client, STEP_TIMEOUT_MS), EINTR);
		EXPECT_EQ(client->last.read_consumed, 0);
	}
}

TEST(wait_signal_loses_nothing, "After EINTR the thread gets the next call as usual.", "kernel")
{
	struct client *manager = blocking_manager(), *client = client_new();

	catch_with(manager, 0);
	for (uint32_t code = 1; code <= 5; code++) {
		park(manager);
		send_signal(manager);
		EXPECT_ERR(read_end(manager, STEP_TIMEOUT_MS), EINTR);
		complete_call(manager, call_received(client, 0, manager, .code = code), client);
	}
}

TEST(wait_signal_while_waiting_for_reply,
     "A caller whose wait was interrupted reads again and gets its reply.", "kernel")
{
	struct client *manager = manager_new();
	struct client *client = client_open((struct client_options){ .blocking = true });
	const struct returned *got;

	catch_with(client, 0);
	call(client, 0);
	park(client);
	send_signal(client);
	EXPECT_ERR(read_end(client, STEP_TIMEOUT_MS), EINTR);
	got = expect(manager, BR_TRANSACTION);
	answer(manager, got);
	expect_sent(client, BR_REPLY);
}

struct combined {
	struct client *client;
	struct binder_write_read bwr;
	int ret;
};

static void do_combined(void *arg)
{
	struct combined *both = arg;

	both->ret = port_ioctl(both->client->port, BINDER_WRITE_READ, &both->bwr);
}

TEST(wait_signal_keeps_what_was_written,
     "An interrupted ioctl that had written returns that in write_consumed.", "kernel")
{
	struct client *manager = manager_new();
	struct client *client = client_open((struct client_options){ .blocking = true });
	struct combined *both = shared_alloc(sizeof(*both));

	catch_with(client, 0);
	send_cmd(client, BC_ENTER_LOOPER);
	put_txn(client, (struct txn){ .handle = 0, .code = 9 });
	both->client = client;
	both->bwr.write_size = client->out.size;
	both->bwr.write_buffer = (uintptr_t)shared_copy(client->out.bytes, client->out.size);
	both->bwr.read_size = 256;
	both->bwr.read_buffer = (uintptr_t)shared_alloc(256);
	client->out.size = 0;
	actor_start(client->by, do_combined, both);
	EXPECT(!actor_wait(client->by, 60));
	send_signal(client);
	EXPECT(actor_wait(client->by, STEP_TIMEOUT_MS));
	EXPECT_EQ(both->ret, -EINTR);
	EXPECT_EQ(both->bwr.write_consumed, both->bwr.write_size);
	EXPECT_EQ(both->bwr.read_consumed, 0);
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->txn.code, 9);
	expect_nothing(manager);
}

static void close_dup(void *arg)
{
	close(dup(((struct client *)arg)->port->fd));
}

TEST(wait_close_of_a_dup_wakes_all,
     "Closing any descriptor of the file lets every parked read return empty.", "kernel")
{
	struct client *manager = blocking_manager(), *first = parked_thread(manager);
	struct client *second = parked_thread(manager);

	client_run(manager, close_dup, manager);
	woken(first);
	woken(second);
	EXPECT_EQ(first->last.read_consumed, 4);
	park(first);
	call(client_new(), 0, .code = 2);
	woken(first);
	EXPECT_EQ(expect(first, BR_TRANSACTION)->txn.code, 2);
}

static void fork_and_exit(void *arg)
{
	pid_t pid = fork();

	(void)arg;
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

TEST(wait_exit_of_a_fork_wakes_all,
     "The exit of a forked child, which closes the file, lets every parked read return empty.",
     "kernel")
{
	struct client *manager = blocking_manager(), *thread = parked_thread(manager);

	client_run(manager, fork_and_exit, NULL);
	woken(thread);
	park(thread);
	call(client_new(), 0, .code = 2);
	woken(thread);
	EXPECT_EQ(expect(thread, BR_TRANSACTION)->txn.code, 2);
}

TEST(wait_kill_with_parked_threads,
     "A process with parked threads can be killed, and its device can be used again.")
{
	struct client *manager = blocking_manager(), *client = client_new();

	for (int i = 0; i < 8; i++)
		parked_thread(manager);
	client_kill(manager);
	manager = manager_new();
	round_trip(client, 0, manager);
}

static void set_nonblock(void *arg)
{
	struct client *client = arg;

	EXPECT(!fcntl(client->port->fd, F_SETFL, O_RDWR | O_NONBLOCK));
}

TEST(wait_nonblock_may_be_set_later,
     "O_NONBLOCK set with fcntl(2) applies from the next read on.", "fcntl_nonblock")
{
	struct client *client = client_open((struct client_options){ .blocking = true });
	struct binder_write_read nothing = { 0 };

	EXPECT_OK(write_read(client, &nothing));
	client_run(client, set_nonblock, client);
	read_begin(client);
	EXPECT_ERR(read_end(client, 1000), EAGAIN);
}

/* The server's thread has answered a call, and its completion was deferred. */
static void answer_deferred(struct client *server, bool sg)
{
	struct client *client = client_new();

	put_free(server, call_received(client, 0, server));
	reply(server, .flags = TF_DEFER_COMPLETE, .sg = sg);
	EXPECT_EQ(expect_sent(client, BR_REPLY)->txn.flags, TF_DEFER_COMPLETE);
}

TEST(defer_until_the_next_call,
     "With TF_DEFER_COMPLETE a reply's BR_TRANSACTION_COMPLETE comes with the next call.",
     "defer_complete")
{
	struct client *manager = blocking_manager();

	for (int sg = 0; sg < 2; sg++) {
		answer_deferred(manager, sg);
		park(manager);
		call(client_new(), 0, .code = 6);
		woken(manager);
		EXPECT_EQ(manager->last.read_consumed,
			  12 + sizeof(struct binder_transaction_data));
		answer(manager, expect_sent(manager, BR_TRANSACTION));
	}
}

TEST(defer_keeps_no_call_away, "A thread with a deferred completion gets calls of the process.",
     "defer_complete")
{
	struct client *manager = blocking_manager(), *thread;

	answer_deferred(manager, false);
	thread = parked_thread(manager);
	call(client_new(), 0, .code = 1);
	woken(thread);
	put_free(thread, expect(thread, BR_TRANSACTION));
	reply(thread, .flags = TF_DEFER_COMPLETE);
	call(client_new(), 0, .code = 2); /* no thread waits */
	answer(manager, expect_sent(manager, BR_TRANSACTION));
	answer_deferred(manager, false);
	park(thread);
	park(manager);
	call(client_new(), 0, .code = 3);
	call(client_new(), 0, .code = 4);
	woken(manager);
	EXPECT_EQ(expect_sent(manager, BR_TRANSACTION)->txn.code, 3);
	woken(thread);
	EXPECT_EQ(expect_sent(thread, BR_TRANSACTION)->txn.code, 4);
}

TEST(defer_read_without_waiting, "A read that does not wait returns a deferred completion.",
     "defer_complete")
{
	struct client *manager = manager_new();

	answer_deferred(manager, false);
	expect_only(manager, BR_TRANSACTION_COMPLETE);
}

TEST(defer_interrupted,
     "A deferred completion is returned instead of EINTR, and when a descriptor is closed.",
     "kernel defer_complete")
{
	struct client *manager = blocking_manager(), *closer = client_thread(manager);

	catch_with(manager, 0);
	answer_deferred(manager, false);
	park(manager);
	send_signal(manager);
	woken(manager);
	expect(manager, BR_TRANSACTION_COMPLETE);
	park(manager);
	send_signal(manager);
	EXPECT_ERR(read_end(manager, STEP_TIMEOUT_MS), EINTR);
	answer_deferred(manager, false);
	park(manager);
	client_run(closer, close_dup, closer);
	woken(manager);
	expect(manager, BR_TRANSACTION_COMPLETE);
}

TEST(defer_in_nested_calls,
     "A thread that waits for a reply gets a deferred completion with other work only.",
     "defer_complete")
{
	struct client *manager = manager_new(), *client = client_new();
	uint32_t handle = give(client, manager, 0x10, 0x20, 0);
	const struct returned *got = call_received(client, 0, manager);

	call(manager, handle);
	put_free(client, expect_sent(client, BR_TRANSACTION));
	reply(client, .flags = TF_DEFER_COMPLETE);
	expect_nothing(client);
	expect_sent(manager, BR_REPLY);
	answer(manager, got);
	finish_call(client);
}

TEST(defer_before_a_oneway_call,
     "A deferred completion comes before that of a later one-way call.",
     "defer_complete pending_frozen")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);

	EXPECT_OK(freeze(manager, server, true, 0));
	answer_deferred(manager, false);
	call_oneway(manager, handle);
	expect_sent(manager, BR_TRANSACTION_PENDING_FROZEN);
	expect_nothing(manager);
}

TEST(defer_in_a_small_buffer, "In a buffer of 80 bytes a deferred completion comes alone.",
     "defer_complete")
{
	struct client *manager = manager_new();

	answer_deferred(manager, false);
	call(client_new(), 0);
	EXPECT_OK(read_once(manager, 80));
	EXPECT_EQ(manager->last.read_consumed, 8);
	expect_sent(manager, BR_TRANSACTION);
}

TEST(defer_not_if_the_reply_fails, "A failed reply's completion is not deferred.", "defer_complete")
{
	struct client *manager = blocking_manager();
	struct client *client = client_open((struct client_options){ .map_size = 16 * 1024 });

	put_free(manager, call_received(client, 0, manager));
	reply(manager, .flags = TF_DEFER_COMPLETE, .size = 20 * 1024);
	read_begin(manager);
	woken(manager);
	expect(manager, BR_TRANSACTION_COMPLETE);
	expect_sent(client, BR_FAILED_REPLY);
}

TEST(defer_ends_with_the_thread, "A deferred completion ends with its thread.", "defer_complete")
{
	struct client *manager = manager_new();
	int32_t zero = 0;

	answer_deferred(manager, false);
	EXPECT_OK(client_ioctl(manager, BINDER_THREAD_EXIT, &zero));
	expect_nothing(manager);
	round_trip(client_new(), 0, manager);
}

TEST(defer_in_calls, "TF_DEFER_COMPLETE has no effect on calls.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .flags = TF_DEFER_COMPLETE | TF_ONE_WAY);
	expect_only(client, BR_TRANSACTION_COMPLETE);
	expect(manager, BR_TRANSACTION);
	call(client, 0, .flags = TF_DEFER_COMPLETE);
	expect_nothing(client);
	answer(manager, expect(manager, BR_TRANSACTION));
	finish_call(client);
}
