// SPDX-License-Identifier: GPL-2.0
/* The gate by itself: who is waited for when it closes. */
#include "base/clock.h"
#include "base/daemon_state.h"
#include "base/gate.h"
#include "base/thread.h"
#include "check.h"

#include <stdatomic.h>
#include <unistd.h>

#define CLIENT_MS 20
#define MOST_MS 30000

static int gate_pipe[2];

struct member {
	void (*in_client)(struct member *self);
	atomic_bool begun;
	atomic_bool passed;	/* what the client could delay, and the gate */
	atomic_bool over;
};

static void wait_for(atomic_bool *flag)
{
	while (!atomic_load(flag))
		usleep(1000);
}

static void member_main(void *arg)
{
	struct member *self = arg;
	unsigned int before = gate_begin_client();

	atomic_store(&self->begun, true);
	self->in_client(self);
	gate_end_client(before);
	atomic_store(&self->passed, true);
	while (!atomic_load(&self->over)) {
		gate_rest();
		usleep(1000);
	}
}

static void start_member(struct member *member)
{
	CHECK(!thread_start(member_main, member));
	wait_for(&member->begun);
}

static bool settle(bool late)
{
	(void)late;
	return true;
}

/* Longer than a client may delay. */
static void use_processor(struct member *self)
{
	u64 end_ns = clock_now_ns() + 4 * CLIENT_MS * 1000000ull;

	(void)self;
	while (clock_now_ns() < end_ns)
		;
}

static void wait_for_client(struct member *self)
{
	char byte;

	(void)self;
	CHECK(read(gate_pipe[0], &byte, 1) == 1);
}

TEST(gate_waits_for_a_member_that_is_runnable)
{
	static struct member busy = { .in_client = use_processor };

	start_member(&busy);
	CHECK(gate_close(CLIENT_MS, MOST_MS, settle));
	CHECK(atomic_load(&busy.passed));
	atomic_store(&busy.over, true);
}

TEST(gate_freezes_a_member_that_its_client_delays)
{
	static struct member delayed = { .in_client = wait_for_client };

	CHECK(!pipe(gate_pipe));
	start_member(&delayed);
	CHECK(gate_close(CLIENT_MS, MOST_MS, settle));
	CHECK(write(gate_pipe[1], "x", 1) == 1);
	usleep(1000 * CLIENT_MS);
	CHECK(!atomic_load(&delayed.passed));
	gate_open();
	wait_for(&delayed.passed);
	atomic_store(&delayed.over, true);
	close(gate_pipe[0]);
	close(gate_pipe[1]);
}

int main(int argc, char **argv)
{
	static struct daemon daemon;

	(void)argc;
	daemon_self = &daemon;
	gate_init();
	return unit_run(argv + 1, gate_open, gate_open);
}
