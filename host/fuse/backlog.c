// SPDX-License-Identifier: GPL-2.0
/* Calls that are put back behind those of other clients. */
#include "backlog.h"

#include "host.h"

/* A call in the backlog is not parked, so it is in no worker's queue and next_woken is free. */
static struct host_spinlock backlog_lock;
static struct host_thread *first;
static struct host_thread **end = &first;

void backlog_push(struct host_thread *thread)
{
	thread->next_woken = NULL;
	host_spin_lock(&backlog_lock);
	*end = thread;
	end = &thread->next_woken;
	host_spin_unlock(&backlog_lock);
}

struct host_thread *backlog_pop(void)
{
	struct host_thread *thread;

	if (backlog_is_empty())
		return NULL;
	host_spin_lock(&backlog_lock);
	thread = first;
	if (thread)
		first = thread->next_woken;
	if (!first)
		end = &first;
	host_spin_unlock(&backlog_lock);
	return thread;
}

bool backlog_is_empty(void)
{
	return !__atomic_load_n(&first, __ATOMIC_RELAXED);
}
