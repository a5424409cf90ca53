// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"
#include "scheduling.h"
#include "test.h"

struct change {
	int policy;
	int value;
	struct rlimit nice, rtprio;
};

void sched_need(void)
{
	struct sched_param one = { 1 };

	if (setpriority(PRIO_PROCESS, 0, -1) || setpriority(PRIO_PROCESS, 0, 0) ||
	    sched_setscheduler(0, SCHED_FIFO, &one))
		test_skip("priorities may not be raised here");
	one.sched_priority = 0;
	if (sched_setscheduler(0, SCHED_OTHER, &one))
		FAIL("sched_setscheduler: %s", test_errno_name(errno));
}

static void do_look(void *arg)
{
	struct scheduling *found = arg;
	struct sched_param param;

	found->policy = sched_getscheduler(0);
	found->nice = getpriority(PRIO_PROCESS, 0);
	EXPECT_EQ(sched_getparam(0, &param), 0);
	found->prio = param.sched_priority;
}

struct scheduling sched_of(struct client *client)
{
	struct scheduling *found = shared_alloc(sizeof(*found));

	client_run(client, do_look, found);
	return *found;
}

static void do_set_nice(void *arg)
{
	struct change *change = arg;

	EXPECT_EQ(setpriority(PRIO_PROCESS, 0, change->value), 0);
}

static void do_set(void *arg)
{
	struct change *change = arg;
	struct sched_param param = { change->value };

	EXPECT_EQ(sched_setscheduler(0, change->policy, &param), 0);
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
	struct change *change = arg;

	if (setrlimit(RLIMIT_NICE, &change->nice) || setrlimit(RLIMIT_RTPRIO, &change->rtprio))
		test_skip("limits may not be raised here");
	EXPECT_EQ(setresuid(65534, 65534, 65534), 0);
}

void sched_unprivileged(struct client *client, unsigned int rlimit_nice,
			unsigned int rlimit_rtprio)
{
	struct change change = {
		.nice = { rlimit_nice, rlimit_nice },
		.rtprio = { rlimit_rtprio, rlimit_rtprio },
	};

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
