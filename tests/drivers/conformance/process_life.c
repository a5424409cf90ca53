// SPDX-License-Identifier: GPL-2.0
/* The life of a binder process: it ends with the last close of its file, of whatever kind. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "test.h"

struct child {
	struct client *client;
	bool close_first;
	pid_t pid;
};

static void fork_child(void *arg)
{
	struct child *child = arg;
	pid_t pid = fork();

	if (pid == 0) {
		if (child->close_first)
			close(child->client->port->fd);
		for (;;)
			pause();
	}
	child->pid = pid;
}

/* Give the client's process a child that outlives it, with or without the file. */
static pid_t child_of(struct client *client, bool close_first)
{
	struct child *child = shared_alloc(sizeof(*child));

	child->client = client;
	child->close_first = close_first;
	client_run(client, fork_child, child);
	sleep_ms(CLEANUP_MS);
	return child->pid;
}

static void expect_dead(struct client *caller)
{
	expect_sent(caller, BR_DEAD_REPLY);
	expect_nothing(caller);
}

/* A manager that serves a call of this client. */
static struct client *serving(struct client **caller)
{
	struct client *manager = manager_new();

	*caller = client_new();
	call(*caller, 0);
	expect(manager, BR_TRANSACTION);
	return manager;
}

TEST(process_exit_is_its_end, "A process that exits is dead to its callers.")
{
	struct client *caller;
	struct client *manager = serving(&caller);

	actor_exit(manager->by);
	expect_dead(caller);
}

TEST(process_kill_with_many_threads, "Killing a process with many busy threads ends all its calls.")
{
	struct client *manager = manager_new();
	struct client *callers[6];

	for (int i = 0; i < 6; i++) {
		callers[i] = client_new();
		call(callers[i], 0);
		expect(client_thread(manager), BR_TRANSACTION);
	}
	client_kill(manager);
	for (int i = 0; i < 6; i++)
		expect_dead(callers[i]);
}

TEST(process_thread_end_is_not_noticed,
     "A thread that ends without BINDER_THREAD_EXIT keeps its callers waiting.")
{
	struct client *manager = manager_new(), *thread = client_thread(manager);
	struct client *caller = client_new();

	call_received(caller, 0, thread);
	client_end_thread(thread);
	expect_nothing(caller);
	round_trip(client_new(), 0, manager);
	client_kill(manager);
	expect_dead(caller);
}

TEST(process_first_thread_may_end,
     "A process whose first thread has ended is served as before by its others.")
{
	struct client *manager = manager_new(), *thread = client_thread(manager);

	client_end_thread(manager);
	round_trip(client_new(), 0, thread);
	client_kill(manager);
}

static void unmap_only(void *arg)
{
	struct client *client = arg;

	munmap(client->port->map, client->port->map_bytes);
}

static void close_only(void *arg)
{
	close(((struct client *)arg)->port->fd);
}

TEST(process_map_keeps_the_file_open,
     "A mapping keeps the process alive beyond close; munmap then ends it.",
     "map_keeps_open")
{
	struct client *caller;
	struct client *manager = serving(&caller);

	client_run(manager, close_only, manager);
	sleep_ms(CLEANUP_MS);
	expect_nothing(caller);
	client_run(manager, unmap_only, manager);
	expect_dead(caller);
}

TEST(process_child_with_the_file_keeps_it,
     "While a forked child has the file open the process is not dead.",
     "fork_keeps_open")
{
	struct client *caller;
	struct client *manager = serving(&caller);
	pid_t child = child_of(manager, false);

	client_kill_and_wait(manager);
	expect_nothing(caller);
	kill(child, SIGKILL);
	expect_dead(caller);
}

TEST(process_child_without_the_file_does_not,
     "A forked child that has closed the file does not keep the process.")
{
	struct client *caller;
	struct client *manager = serving(&caller);
	pid_t child = child_of(manager, true);

	client_kill(manager);
	expect_dead(caller);
	kill(child, SIGKILL);
}

static void exec_pause(void *arg)
{
	(void)arg;
	execl("/proc/self/exe", "anybinder-conformance", "--pause", (char *)NULL);
	FAIL("execl: %s", test_errno_name(errno));
}

TEST(process_exec_is_its_end, "With O_CLOEXEC an exec ends the binder process.", "kernel")
{
	struct client *caller;
	struct client *manager = serving(&caller);

	actor_start(manager->by, exec_pause, NULL);
	expect_dead(caller);
	EXPECT(!kill(actor_pid(manager->by), 0));
	client_kill(manager);
}

TEST(process_many_come_and_go, "Hundreds of processes may start and end.")
{
	struct client *manager = manager_new();

	for (int i = 0; i < 120; i++) {
		struct client *client = client_new();

		round_trip(client, 0, manager);
		if (i % 3 == 0)
			client_kill(client);
		else if (i % 3 == 1)
			actor_exit(client->by);
		else
			client_close(client);
	}
}

TEST(process_open_again_after_close,
     "A process may open the device again; it is a new binder process.")
{
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);
	struct client *again;

	client_close(server);
	again = client_again(server);
	sleep_ms(CLEANUP_MS);
	call(manager, handle);
	expect(manager, BR_DEAD_REPLY);
	round_trip(manager, give(again, manager, 0x10, 0x20, 0), again);
}
