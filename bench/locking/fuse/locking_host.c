// SPDX-License-Identifier: GPL-2.0
/*
 * anybinderd-locking: the daemon, whose locking mode is ANYBINDER_LOCKING of the environment. With
 * ANYBINDER_COUNT_LOCKS it counts; binder_logs/lock_contention has the result.
 */
#include "locking.h"

#include "memory/text.h"

#include <stdio.h>
#include <stdlib.h>

enum locking_mode locking_mode;
bool locking_counted;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void __attribute__((constructor)) choose(void)
{
	const char *name = getenv("ANYBINDER_LOCKING");

	locking_mode = name ? locking_mode_by_name(name) : MODE_FINE;
	if (locking_mode > MODE_GLOBAL) {
		fprintf(stderr, "ANYBINDER_LOCKING=%s: expected fine or global\n", name);
		exit(2);
	}
	locking_counted = getenv("ANYBINDER_COUNT_LOCKS") != NULL;
}

void locking_mutex_lock(void)
{
	pthread_mutex_lock(&mutex);
}

bool locking_mutex_trylock(void)
{
	return !pthread_mutex_trylock(&mutex);
}

void locking_mutex_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

void locking_write(struct text *text, uint64_t arg)
{
	struct locking_counts counts;

	(void)arg;
	text_print(text, "locking %s\n", locking_mode_names[locking_mode]);
	for (u32 i = 0; locking_counts(i, &counts); i++)
		text_print(text, "%s taken %u waited %u\n", counts.name, counts.taken,
			   counts.waited);
}
