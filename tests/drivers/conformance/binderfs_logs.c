// SPDX-License-Identifier: GPL-2.0
/*
 * binder_logs: the contents of the texts, and their layout, which is that of the C driver,
 * line for line. <n> stands for any decimal number, <x> for any hexadecimal one.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdarg.h>
#include <string.h>

#include "expect.h"
#include "test.h"

#define TEXT_SIZE (1 << 20)

/* The contents of a file in binder_logs/; NULL if it does not exist. */
static char *read_log(const char *name)
{
	static char text[TEXT_SIZE];
	char path[512];
	int err;

	snprintf(path, sizeof(path), "%s/binder_logs/%s", test_device_dir(), name);
	err = test_read_text(path, text, sizeof(text));
	EXPECT(!err || err == -ENOENT);
	return err ? NULL : text;
}

static char *proc_log(struct client *client)
{
	char name[32];

	snprintf(name, sizeof(name), "proc/%d", actor_pid(client->by));
	return read_log(name);
}

/* Does the line match? */
static bool matches(const char *line, const char *pattern)
{
	while (*pattern) {
		bool decimal = !strncmp(pattern, "<n>", 3), hex = !strncmp(pattern, "<x>", 3);

		if (decimal || hex) {
			int (*digit)(int) = decimal ? isdigit : isxdigit;

			line += decimal && *line == '-';
			if (!digit((unsigned char)*line))
				return false;
			while (digit((unsigned char)*line))
				line++;
			pattern += 3;
		} else if (*line++ != *pattern++) {
			return false;
		}
	}
	return *line == '\n' || *line == '\0';
}

/* How many lines of the text match; *first is the first of them. */
static int count_lines(const char *text, const char *pattern, const char **first)
{
	int count = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!matches(line, pattern))
			continue;
		if (!count++ && first)
			*first = line;
	}
	return count;
}

/* The text has a line that matches a pattern made as by printf. */
static void expect_line(const char *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void expect_line(const char *text, const char *format, ...)
{
	char pattern[512];
	va_list args;

	va_start(args, format);
	vsnprintf(pattern, sizeof(pattern), format, args);
	va_end(args);
	if (!count_lines(text, pattern, NULL))
		FAIL("no line `%s` in:\n%.3000s", pattern, text);
}

TEST(logs_are_there, "Each of the texts exists and begins with its heading.", "binderfs")
{
	static const struct {
		const char *name, *heading;
	} logs[] = {
		{ "state", "binder state:" },
		{ "stats", "binder stats:" },
		{ "transactions", "binder transactions:" },
	};

	manager_new();
	for (size_t i = 0; i < 3; i++) {
		char *text = read_log(logs[i].name);

		EXPECT(text != NULL);
		EXPECT(matches(text, logs[i].heading));
	}
	EXPECT(read_log("transaction_log") != NULL);
	EXPECT(read_log("failed_transaction_log") != NULL);
}

TEST(logs_proc_comes_and_goes,
     "proc/PID exists as long as the process has a device open.", "binderfs")
{
	struct client *client = client_new();
	int64_t deadline;
	char *text = proc_log(client);

	EXPECT(text != NULL);
	EXPECT(matches(text, "binder proc state:"));
	expect_line(text, "proc %d", actor_pid(client->by));
	expect_line(text, "context %s", strrchr(test_device(), '/') + 1);
	client_kill(client);
	deadline = now_ms() + EXPECT_TIMEOUT_MS;
	while (proc_log(client) && now_ms() < deadline)
		sleep_ms(2);
	EXPECT(!proc_log(client));
}

TEST(logs_proc_of_two_opens, "proc/PID shows each open of the process.", "binderfs")
{
	struct client *client = client_new();
	char *text;

	client_again(client);
	text = proc_log(client);
	EXPECT(text != NULL);
	EXPECT_EQ(count_lines(text, "context <any>", NULL), 0);
	EXPECT_EQ(count_lines(text, "binder proc state:", NULL), 2);
}

/* With two opens the C driver lets proc/PID go with the first: so that one is closed last. */
TEST(logs_proc_goes_with_the_opens, "proc/PID is removed when all opens are closed.", "binderfs")
{
	struct client *client = client_new(), *again = client_again(client);

	client_close(again);
	sleep_ms(50);
	EXPECT(proc_log(client) != NULL);
	client_close(client);
	sleep_ms(50);
	EXPECT(!proc_log(client));
}

TEST(logs_state_of_a_quiet_pair, "state shows threads, nodes and handles.", "binderfs")
{
	struct client *manager = manager_new(), *client = client_new();
	uint32_t handle = give(client, manager, 0xabc0, 0xdef0, 0);
	int mpid = actor_pid(manager->by), cpid = actor_pid(client->by);
	char *text;

	text = proc_log(manager);
	expect_line(text, "  thread %d: l <x> need_return 0 tr <n>", mpid);
	expect_line(text,
		    "  node <n>: u0000000000000000 c0000000000000000 hs 1 hw 1 ls 1 lw 1 is 0 "
		    "iw 0 tr <n>");
	expect_line(text, "  ref <n>: desc %u node <n> s 1 w 0 d 0000000000000000", handle);
	text = proc_log(client);
	expect_line(text,
		    "  node <n>: u000000000000abc0 c000000000000def0 hs 1 hw 1 ls 0 lw 0 is 1 "
		    "iw 1 tr <n> proc %d", mpid);
	text = read_log("state");
	expect_line(text, "proc %d", mpid);
	expect_line(text, "proc %d", cpid);
}

TEST(logs_state_youngest_first,
     "Processes are listed in the order of their opens, the newest first.", "binderfs")
{
	struct client *first = client_new(), *second = client_new();
	const char *a, *b;
	char pattern[64];
	char *text = read_log("state");

	snprintf(pattern, sizeof(pattern), "proc %d", actor_pid(first->by));
	EXPECT_EQ(count_lines(text, pattern, &a), 1);
	snprintf(pattern, sizeof(pattern), "proc %d", actor_pid(second->by));
	EXPECT_EQ(count_lines(text, pattern, &b), 1);
	EXPECT(b < a);
}

/* @call_kind, @reply_kind: what the driver prints of a call and of a reply. */
static void expect_call_in_logs(const char *call_kind, const char *reply_kind)
{
	struct client *manager = manager_new(), *client = client_new();
	int mpid = actor_pid(manager->by), cpid = actor_pid(client->by);
	const struct returned *got;
	char *text;

	call(client, 0, .code = 0x1f, .flags = TF_ACCEPT_FDS, .data = "eleven bytes", .size = 11);
	text = proc_log(client);
	expect_line(text,
		    "    outgoing transaction <n>: <x> from %d:%d to %d:0 code 1f flags 10 "
		    "pri <n> %s elapsed <n>ms", cpid, cpid, mpid, call_kind);
	expect_line(text, "    transaction complete");
	text = proc_log(manager);
	expect_line(text,
		    "  pending transaction <n>: <x> from %d:%d to %d:0 code 1f flags 10 pri <n> "
		    "%s elapsed <n>ms node <n> size 11:0 offset 0", cpid, cpid, mpid, call_kind);
	expect_line(text, "  buffer <n>: 0 size 11:0:0 active");
	got = expect(manager, BR_TRANSACTION);
	text = proc_log(manager);
	expect_line(text,
		    "    incoming transaction <n>: <x> from %d:%d to %d:%d code 1f flags 10 "
		    "pri <n> %s elapsed <n>ms node <n> size 11:0 offset 0",
		    cpid, cpid, mpid, mpid, call_kind);
	text = proc_log(client);
	expect_line(text,
		    "    outgoing transaction <n>: <x> from %d:%d to %d:%d code 1f flags 10 "
		    "pri <n> %s elapsed <n>ms", cpid, cpid, mpid, mpid, call_kind);
	free_buffer(manager, got);
	text = proc_log(manager);
	expect_line(text,
		    "    incoming transaction <n>: <x> from %d:%d to %d:%d code 1f flags 10 "
		    "pri <n> %s elapsed <n>ms buffer free", cpid, cpid, mpid, mpid, call_kind);
	reply(manager, .data = "1234", .size = 4);
	text = proc_log(client);
	expect_line(text,
		    "    pending transaction <n>: <x> from %d:%d to %d:%d code 0 flags 0 pri <n> "
		    "%s elapsed <n>ms size 4:0 offset 0", mpid, mpid, cpid, cpid, reply_kind);
	expect_sent(client, BR_REPLY);
	expect_line(proc_log(client), "  buffer <n>: 0 size 4:0:0 delivered");
}

TEST(logs_state_of_a_call, "A call shows at both ends, queued and then delivered.",
     "binderfs reports_7")
{
	expect_call_in_logs("a0 r0", "a0 r1");
}

TEST(logs_state_of_a_call_6, "Before 7.x r1 stands for a call that wants a reply.",
     "binderfs reports_6")
{
	expect_call_in_logs("r1", "r0");
}

static void expect_oneway_calls_in_logs(const char *kind)
{
	struct client *manager = manager_new(), *client = client_new();
	int mpid = actor_pid(manager->by), cpid = actor_pid(client->by);
	char *text;

	call_oneway(client, 0, .code = 1, .data = "0123456789abcdef", .size = 16);
	call_oneway(client, 0, .code = 2);
	call_oneway(client, 0, .code = 3);
	text = proc_log(manager);
	expect_line(text,
		    "  pending transaction <n>: <x> from %d:%d to %d:0 code 1 flags 1 pri <n> %s "
		    "elapsed <n>ms node <n> size 16:0 offset 0", cpid, cpid, mpid, kind);
	expect_line(text,
		    "    pending async transaction <n>: <x> from %d:%d to %d:0 code 2 flags 1 "
		    "pri <n> %s elapsed <n>ms node <n> size 0:0 offset 10", cpid, cpid, mpid, kind);
	expect_line(text,
		    "    pending async transaction <n>: <x> from %d:%d to %d:0 code 3 flags 1 "
		    "pri <n> %s elapsed <n>ms node <n> size 0:0 offset 18", cpid, cpid, mpid, kind);
	text = read_log("transactions");
	expect_line(text, "proc %d", mpid);
	EXPECT_EQ(count_lines(text, "    transaction complete", NULL), 3);
}

TEST(logs_state_of_oneway_calls, "Waiting one-way calls show below their node.",
     "binderfs reports_7")
{
	expect_oneway_calls_in_logs("a1 r0");
}

TEST(logs_state_of_oneway_calls_6,
     "Before 7.x waiting one-way calls show below their node with r0.", "binderfs reports_6")
{
	expect_oneway_calls_in_logs("r0");
}

TEST(logs_hashed,
     "state_hashed and transactions_hashed show no address of an object that is not 0.",
     "binderfs reports_7")
{
	struct client *manager = manager_new(), *client = client_new();
	int mpid = actor_pid(manager->by), cpid = actor_pid(client->by);
	char *text;

	give(client, manager, 0xabc0, 0xdef0, 0);
	call_oneway(client, 0, .code = 1);
	EXPECT(strstr(read_log("state"), "u000000000000abc0 c000000000000def0"));
	text = read_log("state_hashed");
	EXPECT(text != NULL);
	EXPECT(matches(text, "binder state:"));
	EXPECT(!strstr(text, "abc0 c") && !strstr(text, "def0 hs"));
	expect_line(text, "  node <n>: u<x> c<x> hs 1 hw 1 ls 0 lw 0 is 1 iw 1 tr <n> proc %d",
		    mpid);
	expect_line(text,
		    "  node <n>: u0000000000000000 c0000000000000000 hs 1 hw 1 ls 2 lw 1 is 0 "
		    "iw 0 tr <n>");
	text = read_log("transactions_hashed");
	EXPECT(matches(text, "binder transactions:"));
	expect_line(text,
		    "  pending transaction <n>: <x> from %d:%d to %d:0 code 1 flags 1 pri <n> a1 "
		    "r0 elapsed <n>ms node <n> size 0:0 offset 0", cpid, cpid, mpid);
}

TEST(logs_transactions_leaves_the_quiet_out, "transactions omits what is idle.", "binderfs")
{
	struct client *manager = manager_new(), *client = client_new();
	char pattern[64];

	round_trip(client, 0, manager);
	snprintf(pattern, sizeof(pattern), "proc %d", actor_pid(client->by));
	EXPECT_EQ(count_lines(read_log("transactions"), pattern, NULL), 0);
	EXPECT_EQ(count_lines(read_log("state"), pattern, NULL), 1);
}

TEST(logs_state_of_the_dead, "Dead nodes with references come first in state.", "binderfs")
{
	static const char dead[] = "  node <n>: u000000000deadb0d c0000000000001d1d hs 1 hw 1 ls 0 "
				   "lw 0 is 1 iw 1 tr <n> proc <n>";
	struct client *manager = manager_new(), *client = client_new();
	int64_t deadline = now_ms() + EXPECT_TIMEOUT_MS;
	const char *line = NULL;
	char *text;

	put_handle_cookie(manager, BC_REQUEST_DEATH_NOTIFICATION,
			  give(client, manager, 0xdeadb0d, 0x1d1d, 0), 1);
	flush(manager);
	client_kill(client);
	do {
		sleep_ms(5);
		text = read_log("state");
	} while (!count_lines(text, dead, &line) && now_ms() < deadline);
	EXPECT(line != NULL);
	EXPECT(count_lines(text, "dead nodes:", NULL) == 1);
	text = proc_log(manager);
	expect_line(text, "  ref <n>: desc 1 dead node <n> s 1 w 0 d <x>");
	expect_line(text, "  has dead binder");
	expect(manager, BR_DEAD_BINDER);
	expect_line(proc_log(manager), "  has delivered dead binder");
}

TEST(logs_stats, "stats counts commands and returns, in total and for each process.", "binderfs")
{
	struct client *manager = manager_new(), *client = client_new();
	size_t pages = (MAP_SIZE + page_size() - 1) / page_size();
	const char *at = NULL;
	char pattern[64];
	char *text;

	give(client, manager, 0x10, 0x20, 0);
	round_trip(client, 0, manager);
	text = read_log("stats");
	expect_line(text, "BC_TRANSACTION: <n>");
	expect_line(text, "BR_TRANSACTION_COMPLETE: <n>");
	expect_line(text, "proc: active <n> total <n>");
	expect_line(text, "thread: active <n> total <n>");
	expect_line(text, "node: active <n> total <n>");
	expect_line(text, "ref: active <n> total <n>");
	expect_line(text, "transaction: active <n> total <n>");
	expect_line(text, "transaction_complete: active <n> total <n>");
	snprintf(pattern, sizeof(pattern), "proc %d", actor_pid(client->by));
	EXPECT_EQ(count_lines(text, pattern, &at), 1);
	expect_line(at, "  threads: 1");
	expect_line(at, "  requested threads: 0+0/0");
	expect_line(at, "  ready threads 0");
	expect_line(at, "  free async space %zu", pages * page_size() / 2);
	expect_line(at, "  nodes: 1");
	expect_line(at, "  refs: 0 s 0 w 0");
	expect_line(at, "  buffers: 0");
	expect_line(at, "  pages: 0:1:%zu", pages - 1);
	expect_line(at, "  pages high watermark: 1");
	expect_line(at, "  pending transactions: 0");
	expect_line(at, "  BC_TRANSACTION: 2");
	expect_line(at, "  BC_FREE_BUFFER: 2");
	expect_line(at, "  BR_REPLY: 2");
	expect_line(at, "  BR_TRANSACTION_COMPLETE: 2");
}

TEST(logs_transaction_log,
     "transaction_log has the last transactions, the newest last.", "binderfs")
{
	struct client *manager = manager_new(), *client = client_new();
	int mpid = actor_pid(manager->by), cpid = actor_pid(client->by);
	const char *device = strrchr(test_device(), '/') + 1;
	const char *at = NULL;
	char last[512];
	char *text;
	int lines = 0;

	for (int i = 0; i < 20; i++)
		round_trip(client, 0, manager);
	call_oneway(client, 0, .data = "12345", .size = 5);
	text = read_log("transaction_log");
	expect_line(text,
		    "<n>: call  from %d:%d to %d:0 context %s node <n> handle 0 size 0:0 ret "
		    "0/0 l=0", cpid, cpid, mpid, device);
	expect_line(text,
		    "<n>: reply from %d:%d to %d:%d context %s node 0 handle 0 size 0:0 ret "
		    "0/0 l=0", mpid, mpid, cpid, cpid, device);
	snprintf(last, sizeof(last),
		 "<n>: async from %d:%d to %d:0 context %s node <n> handle 0 size 5:0 ret 0/0 l=0",
		 cpid, cpid, mpid, device);
	for (const char *byte = text; *byte; byte++)
		lines += *byte == '\n';
	EXPECT_EQ(lines, 32);
	EXPECT_EQ(count_lines(text, last, &at), 1);
	EXPECT(!strchr(at, '\n')[1]);
}

TEST(logs_failed_transaction_log, "failed_transaction_log shows what failed and why.", "binderfs")
{
	struct client *manager = manager_new(), *client = client_new();
	int cpid = actor_pid(client->by);
	const char *device = strrchr(test_device(), '/') + 1;
	char *text;

	call_fails(client, 77, .data = "12345678", .size = 8);
	call_fails(client, 0, .objects = { OBJ_HANDLE(5) });
	reply(client);
	expect(client, BR_FAILED_REPLY);
	text = read_log("failed_transaction_log");
	expect_line(text,
		    "<n>: call  from %d:%d to 0:0 context %s node 0 handle 77 size 8:0 ret "
		    "29201/-22 l=<n>", cpid, cpid, device);
	expect_line(text,
		    "<n>: call  from %d:%d to %d:0 context %s node <n> handle 0 size 24:8 ret "
		    "29201/-22 l=<n>", cpid, cpid, actor_pid(manager->by), device);
	expect_line(text,
		    "<n>: reply from %d:%d to 0:0 context %s node 0 handle 0 size 0:0 ret "
		    "29201/-71 l=<n>", cpid, cpid, device);
}

TEST(logs_read_while_all_is_busy,
     "The texts can be read while calls are made and processes die.", "binderfs")
{
	struct client *manager = manager_new();

	for (int i = 0; i < 15; i++) {
		struct client *client = client_new();

		call_received(client, 0, manager, .objects = { OBJ_BINDER(0x10, 0x20) });
		EXPECT(read_log("state") != NULL);
		client_kill(client);
		EXPECT(read_log("transactions") != NULL);
		EXPECT(read_log("stats") != NULL);
		reply(manager);
		expect(manager, BR_TRANSACTION_COMPLETE);
		EXPECT(proc_log(manager) != NULL);
	}
	round_trip(client_new(), 0, manager);
}

TEST(logs_state_of_unread_work, "Unread work is shown by its kind.", "binderfs")
{
	struct client *manager = manager_new(), *client = client_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);
	struct client *thread;

	/* an error of the thread's own */
	call(client, 55);
	expect_line(proc_log(client), "    transaction error: %u", (uint32_t)BR_FAILED_REPLY);
	expect(client, BR_FAILED_REPLY);
	/* a cleared request, and one that was cleared too late */
	put_handle_cookie(manager, BC_REQUEST_DEATH_NOTIFICATION, handle, 0xd0);
	send_handle_cookie(manager, BC_CLEAR_DEATH_NOTIFICATION, handle, 0xd0);
	expect_line(proc_log(manager), "    has cleared death notification");
	expect(manager, BR_CLEAR_DEATH_NOTIFICATION_DONE);
	send_handle_cookie(manager, BC_REQUEST_DEATH_NOTIFICATION, handle, 0xd0);
	client_kill_and_wait(server);
	send_handle_cookie(manager, BC_CLEAR_DEATH_NOTIFICATION, handle, 0xd0);
	expect_line(proc_log(manager), "  has cleared dead binder");
	/* an object with work for its owner */
	thread = client_thread(client);
	call_oneway(thread, 0, .objects = { OBJ_BINDER(0x30, 0x40) });
	expect_line(proc_log(client), "    node work <n>: u0000000000000030 c0000000000000040");
}

TEST(logs_state_of_freeze_notices,
     "Freeze notifications show until they are acknowledged.", "binderfs freeze_notification")
{
	struct client *manager = manager_new(), *holder = client_new();

	put_u32(holder, BC_ACQUIRE, 0);
	send_handle_cookie(holder, BC_REQUEST_FREEZE_NOTIFICATION, 0, 0xf0);
	expect_line(proc_log(holder), "  has frozen binder");
	expect(holder, BR_FROZEN_BINDER);
	expect_line(proc_log(holder), "  has delivered freeze binder");
	put_u64(holder, BC_FREEZE_NOTIFICATION_DONE, 0xf0);
	send_handle_cookie(holder, BC_CLEAR_FREEZE_NOTIFICATION, 0, 0xf0);
	expect_line(proc_log(holder), "  has cleared freeze notification");
	expect(holder, BR_CLEAR_FREEZE_NOTIFICATION_DONE);
	EXPECT_EQ(count_lines(proc_log(holder), "  has cleared freeze notification", NULL), 0);
	round_trip(holder, 0, manager);
}

TEST(logs_stats_of_the_busy, "stats counts waiting threads and pending calls.", "binderfs")
{
	struct client *manager = manager_open((struct client_options){ .blocking = true });
	struct client *thread = client_thread(manager), *client = client_new();
	const char *at = NULL;
	char pattern[64];

	send_cmd(thread, BC_ENTER_LOOPER);
	read_begin(thread);
	EXPECT_EQ(read_end(thread, 100), -EINPROGRESS);
	snprintf(pattern, sizeof(pattern), "proc %d", actor_pid(manager->by));
	EXPECT_EQ(count_lines(read_log("stats"), pattern, &at), 1);
	expect_line(at, "  ready threads 1");
	expect_line(at, "  pending transactions: 0");
	call_oneway(client, 0);
	EXPECT_OK(read_end(thread, STEP_TIMEOUT_MS));
	for (int i = 0; i < 3; i++)
		call(client_new(), 0);
	EXPECT_EQ(count_lines(read_log("stats"), pattern, &at), 1);
	expect_line(at, "  ready threads 0");
	expect_line(at, "  pending transactions: 3");
}

/* How many of these objects there have been: "WHAT: active N total N" of stats. */
static int total_of(const char *what)
{
	const char *line = NULL;
	char format[64], pattern[64];
	int total;

	snprintf(pattern, sizeof(pattern), "%s: active <n> total <n>", what);
	if (!count_lines(read_log("stats"), pattern, &line))
		return 0;
	snprintf(format, sizeof(format), "%s: active %%*d total %%d", what);
	EXPECT_EQ(sscanf(line, format, &total), 1);
	return total;
}

/* Requests for an unknown handle, then for one handle: one of them is accepted. */
static void expect_one_accepted(uint32_t request, const char *what)
{
	struct holding s = holding_new();
	int before = total_of(what);
	char pattern[64];

	for (int i = 0; i < 3; i++) {
		put_handle_cookie(s.holder, request, 99, 1);
		try_flush(s.holder);
	}
	EXPECT_EQ(total_of(what), before);
	for (int i = 0; i < 3; i++) {
		put_handle_cookie(s.holder, request, s.handle, 1);
		try_flush(s.holder);
	}
	EXPECT_EQ(total_of(what), before + 1);
	snprintf(pattern, sizeof(pattern), "  %s: 6", command_name(request));
	EXPECT_EQ(count_lines(read_log("stats"), pattern, NULL), 1);
}

TEST(logs_stats_of_deaths, "stats counts the death notifications that were accepted.", "binderfs")
{
	expect_one_accepted(BC_REQUEST_DEATH_NOTIFICATION, "death");
}

TEST(logs_stats_of_freezes, "stats counts the freeze notifications that were accepted.",
     "binderfs freeze_notification")
{
	expect_one_accepted(BC_REQUEST_FREEZE_NOTIFICATION, "freeze");
}
