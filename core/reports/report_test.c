// SPDX-License-Identifier: GPL-2.0
/*
 * Reports of more than one batch and of dead processes, counters, and the transaction logs.
 * Tests report.c, report_batch.c, report_stats.c, common/stats.c and
 * common/translog.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls/transaction.h"
#include "common/translog.h"
#include "pair.h"
#include "reports/report_batch.h"
#include "reports.h"
#include "check.h"

/* The number of lines of @text that begin with @start. */
static u32 count(const char *text, const char *start)
{
	u32 nr = 0;

	while (text && *text) {
		nr += !strncmp(text, start, strlen(start));
		text = strchr(text, '\n');
		text += text && *text == '\n';
	}
	return nr;
}

static char *report(enum binder_report_kind kind)
{
	struct host_out out = { 0 };

	test_report(&out, kind, 0);
	return out.text;
}

static char *log_text(void (*fn)(struct host_out *out))
{
	struct host_out out = { 0 };

	fn(&out);
	return out.text;
}

PAIR_TEST(report_of_several_batches)
{
	enum { CALLS = 3 * REPORT_BATCH_LINES + 7 };
	char *text;
	u32 i;

	world_resume(p->s, RESUME_INTERRUPTED);
	for (i = 0; i < CALLS; i++)
		CHECK(pair_call(p, 0, i, TF_ONE_WAY, "x") == 0);
	text = report(REPORT_STATE);
	CHECK(count(text, "  pending transaction ") == 1);
	CHECK(count(text, "    pending async transaction ") == CALLS - 1);
	CHECK(count(text, "  buffer ") == CALLS);
	CHECK(count(text, "  node ") == 1);
	free(text);
	text = report(REPORT_TRANSACTIONS);
	CHECK(count(text, "proc ") == 1);
	CHECK(count(text, "    pending async transaction ") == CALLS - 1);
	free(text);
}

PAIR_TEST(report_of_the_age_of_calls)
{
	char *text;

	world_resume(p->s, RESUME_INTERRUPTED);
	sim_stats.calls += 2000000; /* which is the time, in ns */
	CHECK(pair_call(p, 0, 1, TF_ONE_WAY, "x") == 0);
	CHECK(pair_call(p, 0, 2, TF_ONE_WAY, "x") == 0);
	text = report(REPORT_STATE);
	CHECK(strstr(text, " elapsed 0ms"));
	CHECK(!strstr(text, " elapsed 2ms"));
	free(text);
}

/* Counters of all processes, also of dead ones, are added up; zeros are not printed. */
PAIR_TEST(report_of_counters)
{
	char *text;

	CHECK(pair_call(p, 0, 1, 0, "x") == BINDER_WOULD_BLOCK);
	world_run(&p->w);
	pair_reply(p, "y");
	text = report(REPORT_STATS);
	CHECK(count(text, "proc: active 2 total 2") == 1);
	CHECK(count(text, "thread: active 2 total 2") == 1);
	CHECK(count(text, "transaction: active 0 total 2") == 1);
	CHECK(count(text, "freeze: ") == 0);
	CHECK(count(text, "BC_REPLY: 1") == 1);
	CHECK(count(text, "  BC_REPLY: 1") == 1);
	CHECK(count(text, "  transaction: ") == 0);
	free(text);
	world_kill(p->client);
	text = report(REPORT_STATS);
	CHECK(count(text, "proc: active 1 total 2") == 1);
	CHECK(count(text, "transaction: active 0 total 2") == 1); /* one of each process */
	CHECK(count(text, "BC_TRANSACTION: 1") == 1);
	CHECK(count(text, "  BC_TRANSACTION: 1") == 0);
	free(text);
}

/* Unread completions of one thread fill several batches under one heading. */
PAIR_TEST(report_of_a_thread_with_many_completions)
{
	enum { CALLS = 2 * REPORT_BATCH_LINES };
	struct world_call call = { .flags = TF_ONE_WAY };
	char *text;
	u32 i;

	for (i = 0; i < CALLS; i++) {
		world_call(p->c, &call);
		CHECK(world_write_read(p->c, false) == 0);
	}
	text = report(REPORT_STATE);
	CHECK(count(text, "    transaction complete") == CALLS);
	CHECK(count(text, "  thread ") == 2);
	free(text);
}

/* The lines of a deep stack come in batches, each of which goes on where the last one ended. */
PAIR_TEST(report_of_a_deep_stack)
{
	enum { CALLS = 3 * REPORT_BATCH_LINES + 7 };
	struct binder_transaction *calls = calloc(CALLS, sizeof(*calls));
	struct binder_thread thread = { .stack = calls };
	struct report_batch batch;
	u32 nr = 0;

	thread.proc = p->s->parked->proc;
	bl_init(&thread.todo);
	for (u32 i = 0; i < CALLS; i++) {
		binder_lock_init(&calls[i].lock, RANK_TRANSACTION);
		calls[i].debug_id = i + 1;
		calls[i].from = &thread;
		calls[i].from_parent = i + 1 < CALLS ? &calls[i + 1] : NULL;
	}
	report_batch_first(&batch);
	do {
		binder_lock(&thread.proc->inner_lock);
		report_batch_add_thread_ilocked(&batch, thread.proc, &thread);
		binder_unlock(&thread.proc->inner_lock);
		for (u32 i = nr ? 0 : 1; i < batch.nr; i++)
			CHECK(batch.lines[i].txn.id == ++nr);
		/* What was visited is not visited again, unless another call is the innermost. */
		calls[1].from = NULL;
	} while (report_batch_next(&batch));
	CHECK(nr == CALLS);
	calls[0].debug_id = CALLS + 1;
	batch.nr = batch.skip = 0;
	binder_lock(&thread.proc->inner_lock);
	report_batch_add_thread_ilocked(&batch, thread.proc, &thread);
	binder_unlock(&thread.proc->inner_lock);
	CHECK(batch.nr == 3);
	free(calls);
}

PAIR_TEST(report_of_one_process)
{
	struct host_out out = { 0 };

	CHECK(test_report(&out, REPORT_PROC, p->client->sim->pid) == 1);
	CHECK(count(out.text, "binder proc state:") == 1);
	CHECK(count(out.text, "proc ") == 1);
	free(out.text);
	out = (struct host_out){ 0 };
	CHECK(test_report(&out, REPORT_PROC, -1) == 1);
	CHECK(!out.len);
	free(out.text);
}

PAIR_TEST(report_of_a_dead_node)
{
	char *text;
	u32 handle;

	handle = pair_send_object(p, 0x1234, 0x5678);
	CHECK(handle == 1);
	world_kill(p->client);
	text = report(REPORT_STATE);
	CHECK(count(text, "dead nodes:") == 1);
	CHECK(strstr(text, "u0000000000001234 c0000000000005678"));
	CHECK(strstr(text, "desc 1 dead node "));
	free(text);
	text = report(REPORT_STATE_HASHED);
	CHECK(count(text, "dead nodes:") == 1);
	CHECK(strstr(text, "desc 1 dead node "));
	CHECK(!strstr(text, "1234 c") && !strstr(text, "5678 hs"));
	free(text);
}

/* The line of a node as tools of Android read it: the process of a reference is word 22. */
PAIR_TEST(report_with_priorities_as_android)
{
	u64 ptr, cookie;
	u32 policy, prio;
	char *text, *line;
	s32 holder = 0;

	CHECK(pair_send_object(p, 0x1234, 0x5678) == 1);
	text = report(REPORT_STATE);
	CHECK(!strstr(text, " pri 0:"));
	free(text);
	binder_report_show_priorities(true);
	text = report(REPORT_STATE);
	line = strstr(text, ": u0000000000001234");
	REQUIRE(line);
	CHECK(sscanf(line, ": u%llx c%llx pri %u:%u hs %*d hw %*d ls %*u lw %*u is %*u iw %*u "
			   "tr %*d proc %d",
		     (unsigned long long *)&ptr, (unsigned long long *)&cookie, &policy, &prio,
		     &holder) == 5);
	CHECK(policy == 0 && prio == 120);
	CHECK(holder == p->server->proc->pid);
	free(text);
	binder_report_show_priorities(false);
}

/* Objects of the client, to which the server has a handle each. */
static void send_many_objects(struct pair *p, u32 first, u32 nr)
{
	struct flat_binder_object objects[16];
	u64 offsets[16];
	struct world_call call = { .flags = TF_ONE_WAY, .data = objects, .offsets = offsets,
				   .nr_offsets = nr, .size = nr * sizeof(objects[0]) };
	u32 i;

	for (i = 0; i < nr; i++) {
		objects[i] = pair_binder(0x1000 + 16 * (first + i), 1, 0);
		offsets[i] = i * sizeof(objects[0]);
	}
	world_call(p->c, &call);
	while (world_poll_read(p->c) == 0)
		while (world_next(p->c, NULL))
			;
}

PAIR_TEST(report_of_many_objects)
{
	enum { OBJECTS = 20 * 16 };
	char *text;
	u32 i;

	for (i = 0; i < OBJECTS; i += 16)
		send_many_objects(p, i, 16);
	text = report(REPORT_STATE);
	CHECK(count(text, "  node ") == OBJECTS + 1);
	CHECK(count(text, "  ref ") == OBJECTS);
	free(text);
	world_kill(p->client);
	text = report(REPORT_STATE);
	CHECK(count(text, "dead nodes:") == 1);
	CHECK(count(text, "  node ") == OBJECTS + 1);
	free(text);
}

static void log_one(u32 id, bool failed)
{
	static const char context[] = "a-device";
	const struct binder_log_entry e = {
		.debug_id = id,
		.call_type = LOG_ONEWAY,
		.from_proc = 7,
	};

	binder_log_add(failed, &e, context, sizeof(context));
}

TEST(translog_keeps_the_last_entries)
{
	char expected[32];
	char *text;
	u32 i;

	for (i = 1; i <= 2 * BINDER_LOG_ENTRIES + 3; i++) {
		log_one(1000 + i, false);
		if (i == 5)
			log_one(1000 + i, true);
	}
	text = log_text(binder_report_transaction_log);
	CHECK(count(text, "") == BINDER_LOG_ENTRIES);
	snprintf(expected, sizeof(expected), "%u: async from 7:0", 1000 + BINDER_LOG_ENTRIES + 4);
	CHECK(!strncmp(text, expected, strlen(expected)));
	free(text);
	text = log_text(binder_report_failed_transaction_log);
	CHECK(count(text, "1005: async from 7:0 to 0:0 context a-device node 0 handle 0 ") == 1);
	free(text);
}

static void log_at(u64 start_ns, u32 id, u32 shard)
{
	const struct binder_log_entry e = {
		.start_ns = start_ns,
		.debug_id = id,
		.call_type = LOG_CALL,
	};

	sim_shard = shard;
	binder_log_add(false, &e, "a", 2);
	sim_shard = 0;
}

/* Threads on different CPUs write to different rings, the text has all in the order of time. */
TEST(translog_merges_its_rings)
{
	u32 nr = 3 * BINDER_LOG_ENTRIES, wanted, i, id = 0, lines = 0;
	char *text, *line;

	binder_world_init();
	for (i = 1; i <= nr; i++)
		log_at(i, i, i * i % (2 * BINDER_LOG_RINGS));
	/* of a thread that was preempted on its way to the log: out of order, and too old */
	log_at(nr - 1, nr + 1, 5);
	log_at(1, nr + 2, 6);
	text = log_text(binder_report_transaction_log);
	for (line = text; *line; line = strchr(line, '\n') + 1) {
		id = (u32)strtoul(line, NULL, 10);
		wanted = nr - BINDER_LOG_ENTRIES + 2 + lines++;
		wanted = wanted == nr ? nr + 1 : wanted > nr ? nr : wanted;
		CHECK(id == wanted);
	}
	CHECK(lines == BINDER_LOG_ENTRIES && id == nr);
	free(text);
}

/* Between two slices processes end, and others open the device. */
PAIR_TEST(report_goes_on_when_processes_end)
{
	enum { CALLS = 3 * REPORT_BATCH_LINES };
	struct world_call call = { .flags = TF_ONE_WAY };
	struct host_out out = { 0 };
	struct binder_report *report;
	struct world_proc *late;
	u32 i;

	for (i = 0; i < CALLS; i++) {
		world_call(p->c, &call);
		CHECK(world_write_read(p->c, false) == 0);
	}
	report = binder_report_new(REPORT_STATE, 0);
	REQUIRE(report);
	CHECK(binder_report_next(report, &out));
	CHECK(count(out.text, "    transaction complete") < CALLS);
	CHECK(count(out.text, "proc ") == 1); /* the client, which opened last */
	world_kill(p->client);
	late = world_proc(&p->w);
	CHECK(late->proc);
	while (binder_report_next(report, &out))
		;
	CHECK(count(out.text, "    transaction complete") < CALLS);
	CHECK(count(out.text, "proc ") == 2);
	binder_report_free(report);
	free(out.text);
}

/* A report that is given up in the middle of the dead nodes keeps none of them. */
PAIR_TEST(report_is_given_up)
{
	enum { NODES = 100 };
	struct host_out out = { 0 };
	struct binder_report *report;
	u32 i;

	for (i = 0; i < NODES; i++)
		REQUIRE(pair_send_object(p, 0x1000 + 16 * i, 1));
	world_kill(p->client);
	report = binder_report_new(REPORT_STATE, 0);
	REQUIRE(report);
	CHECK(binder_report_next(report, &out));
	CHECK(count(out.text, "dead nodes:") == 1);
	CHECK(count(out.text, "  node ") > 0 && count(out.text, "  node ") < NODES);
	world_kill(p->server);
	CHECK(!binder_report_next(report, &out)); /* they are gone */
	CHECK(count(out.text, "  node ") < NODES);
	binder_report_free(report);
	free(out.text);
}
