// SPDX-License-Identifier: GPL-2.0
/*
 * The texts contain lines `NAME: active N total M` in the global part, ` NAME: N` in that of a
 * process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storm.h"
#include "test.h"
#include "tests/lib/uapi.h"

#define TEXT_SIZE (4u << 20)
#define PATIENCE_MS 60000
#define PAUSE_MS 20

static const char *dir;
static char text[TEXT_SIZE];

void audit_begin(const char *logs_dir)
{
	dir = logs_dir;
}

static const char *read_log(const char *name)
{
	char path[512];
	int err;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	err = test_read_text(path, text, sizeof(text));
	if (err)
		FAIL("%s: %s", path, test_errno_name(-err));
	return text;
}

/* The number in the first line that begins with this, -1 if there is none. */
static long number(const char *from, const char *beginning)
{
	const char *at = strstr(from, beginning);

	return at ? atol(at + strlen(beginning)) : -1;
}

static long lines_with(const char *beginning)
{
	long nr = 0;

	for (const char *at = text; (at = strstr(at, beginning)); at++)
		nr++;
	return nr;
}

/* A missing line means 0: the driver omits zeros. */
static long active(const char *beginning)
{
	long found = number(text, beginning);

	return found < 0 ? 0 : found;
}

struct population audit_population(void)
{
	struct population found = { 0 };

	read_log("stats");
	found.proc = active("\nproc: active ");
	found.thread = active("\nthread: active ");
	found.node = active("\nnode: active ");
	found.ref = active("\nref: active ");
	found.death = active("\ndeath: active ");
	found.transaction = active("\ntransaction: active ");
	found.complete = active("\ntransaction_complete: active ");
	read_log("state");
	found.reported_procs = lines_with("\nproc ");
	found.dead_nodes = lines_with("\ndead nodes:");
	return found;
}

void audit_expect(struct population want, const char *when)
{
	int64_t deadline = now_ms() + PATIENCE_MS;
	struct population found;

	for (;;) {
		found = audit_population();
		if (!memcmp(&found, &want, sizeof(found)))
			return;
		if (now_ms() > deadline)
			break;
		sleep_ms(PAUSE_MS);
	}
	FAIL("%s: found (wanted) proc %ld (%ld) thread %ld (%ld) node %ld (%ld) ref %ld (%ld) "
	     "death %ld (%ld) transaction %ld (%ld) complete %ld (%ld); in the state, "
	     "proc %ld (%ld) dead nodes %ld (%ld):\n%s",
	     when, found.proc, want.proc, found.thread, want.thread, found.node, want.node,
	     found.ref, want.ref, found.death, want.death, found.transaction, want.transaction,
	     found.complete, want.complete, found.reported_procs, want.reported_procs,
	     found.dead_nodes, want.dead_nodes, text);
}

/*
 * Compares one direction of a tally with the lines of the process, where the driver may have
 * counted @again of the numbers once more; returns the sum of the driver's counts.
 */
static uint64_t compare(const char *lines, const _Atomic uint32_t *ids,
			const _Atomic uint32_t *counts, long again)
{
	uint64_t sum = 0;

	for (int i = 0; i < NR_NUMBERS; i++) {
		char beginning[64];
		long more;

		if (!counts[i])
			continue;
		snprintf(beginning, sizeof(beginning), "\n  %s: ", command_name(ids[i]));
		more = number(lines, beginning) - (long)counts[i];
		if (more < 0 || more > again)
			FAIL("the process counted %s %u times, the driver %ld more, "
			     "with %ld to spare",
			     command_name(ids[i]), counts[i], more, again);
		again -= more;
		sum += (uint64_t)(counts[i] + more);
	}
	return sum;
}

/* The sum of the driver's counts in lines that begin with this. */
static uint64_t total(const char *lines, const char *beginning)
{
	uint64_t sum = 0;

	for (const char *at = lines; (at = strstr(at, beginning)); at++)
		sum += strtoull(strchr(at, ':') + 1, NULL, 10);
	return sum;
}

void audit_member(const struct member *member)
{
	const struct tally *tally = &member->tally;
	char heading[32];
	char *lines, *end;
	int pages = -1;

	read_log("stats");
	snprintf(heading, sizeof(heading), "\nproc %d\n", member->pid);
	lines = strstr(text, heading);
	EXPECT(lines != NULL);
	end = strstr(lines + 1, "\nproc ");
	if (end)
		*end = '\0';
	EXPECT(strstr(lines, "\n  refs: 0 s 0 w 0\n") != NULL);
	EXPECT_EQ(number(lines, "\n  buffers: "), 0);
	EXPECT_EQ(number(lines, "\n  pending transactions: "), 0);
	EXPECT(sscanf(strstr(lines, "\n  pages: "), "\n  pages: %d:", &pages) == 1);
	EXPECT_EQ(pages, 0);
	EXPECT_EQ(compare(lines, tally->ids[0], tally->commands, tally->rewritten),
		  total(lines, "\n  BC_"));
	EXPECT_EQ(compare(lines, tally->ids[1], tally->returns, 0), total(lines, "\n  BR_"));
}
