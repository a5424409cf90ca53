// SPDX-License-Identifier: GPL-2.0
/* A thread looks at its own scheduling, and changes it, in a step of its actor. */
#include "actor_scheduling.h"
#include "expect.h"
#include "test.h"

struct change {
	int policy, value;
	unsigned int nice, rtprio; /* limits */
};

static void do_look(void *arg)
{
	thread_scheduling(arg);
}

struct scheduling sched_of(struct client *client)
{
	struct scheduling *found = shared_alloc(sizeof(*found));

	client_run(client, do_look, found);
	return *found;
}

static void do_set_nice(void *arg)
{
	const struct change *change = arg;

	thread_set_nice(change->value);
}

static void do_set(void *arg)
{
	const struct change *change = arg;

	thread_set_policy(change->policy, change->value);
}

void sched_set_nice(struct client *client, int nice)
{
	struct change change = { .value = nice };

	client_run(client, do_set_nice, shared_copy(&change, sizeof(change)));
}

void sched_set(struct client *client, int policy, int prio)
{
	struct change change = { .policy = policy, .value = prio };

	client_run(client, do_set, shared_copy(&change, sizeof(change)));
}

static void do_unprivileged(void *arg)
{
	const struct change *change = arg;

	thread_drop_privileges(change->nice, change->rtprio);
}

void sched_unprivileged(struct client *client, unsigned int rlimit_nice,
			unsigned int rlimit_rtprio)
{
	struct change change = { .nice = rlimit_nice, .rtprio = rlimit_rtprio };

	client_run(client, do_unprivileged, shared_copy(&change, sizeof(change)));
}

void sched_expect(struct client *client, int policy, int value, const char *file, int line)
{
	struct scheduling is = sched_of(client);
	int has_policy = is.policy & ~SCHED_RESET_ON_FORK;
	bool realtime = has_policy == SCHED_FIFO || has_policy == SCHED_RR;
	int has = realtime ? is.prio : is.nice;

	if (has_policy != policy || has != value)
		test_fail(file, line, "scheduled by policy %d at %d, expected policy %d at %d",
			  has_policy, has, policy, value);
}

struct sched_pair sched_pair_new(uint32_t flags)
{
	struct sched_pair pair;

	sched_need();
	pair.caller = manager_new();
	pair.server = client_new();
	put_cmd(pair.server, BC_ENTER_LOOPER);
	flush(pair.server);
	pair.handle = give(pair.server, pair.caller, 0x10, 0x20, flags);
	return pair;
}

const struct returned *sched_pair_serve(struct sched_pair *pair)
{
	call(pair->caller, pair->handle);
	return expect(pair->server, BR_TRANSACTION);
}

void sched_pair_end(struct sched_pair *pair, const struct returned *got)
{
	answer(pair->server, got);
	finish_call(pair->caller);
}
