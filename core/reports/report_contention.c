// SPDX-License-Identifier: GPL-2.0
/*
 * The text of binder_logs/lock_contention, and the words that may be written to it.
 *
 * Tested in: core/common/contention_test.c
 */
#include "core.h"

#include "common/contention.h"

static const char *const rank_names[RANK_COUNT] = {
	[RANK_GLOBAL] = "global",
	[RANK_WORLD] = "world",
	[RANK_PAGES] = "pages",
	[RANK_CONTEXT] = "context",
	[RANK_OUTER] = "outer",
	[RANK_NODE] = "node",
	[RANK_INNER] = "inner",
	[RANK_TRANSACTION] = "transaction",
	[RANK_ALLOC] = "alloc",
	[RANK_LOG] = "log",
};

void binder_report_contention(struct host_out *out)
{
	u32 rank;

	host_out(out, "locking %s\n", binder_locking_mode_name(binder_locking_mode_chosen()));
	host_out(out, "counting %s\n", host_is_counting_locks() ? "on" : "off");
	for (rank = RANK_GLOBAL; rank < RANK_COUNT; rank++) {
		struct binder_contention c = binder_contention_of((enum binder_lock_rank)rank);

		host_out(out, "%s taken %llu waited %llu\n", rank_names[rank],
			 (unsigned long long)c.taken, (unsigned long long)c.waited);
	}
}

static void contention_start(void)
{
	host_count_locks(true);
}

static void contention_stop(void)
{
	host_count_locks(false);
}

int binder_contention_command(const char *word)
{
	static const struct {
		const char *word;
		void (*run)(void);
	} commands[] = { { "on", contention_start },
			 { "off", contention_stop },
			 { "reset", binder_contention_reset } };
	size_t size = host_strlen(word) + 1;
	u32 i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (size == host_strlen(commands[i].word) + 1 &&
		    !host_memcmp(word, commands[i].word, size)) {
			commands[i].run();
			return 0;
		}
	}
	return -EINVAL;
}
