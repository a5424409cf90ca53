// SPDX-License-Identifier: GPL-2.0
/*
 * Two words in shared memory and a futex on each: a lower bound for waking another process and
 * being woken. No data is moved.
 */
#include "bench/fail.h"
#include "bench/peer.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Each is incremented by one side and awaited by the other. */
struct counters {
	_Atomic uint32_t requests;
	_Atomic uint32_t replies;
};

static void *futex_prepare(const struct cell *cell)
{
	return cell_shared_memory((size_t)cell->nr_pairs * sizeof(struct counters));
}

static void increment(_Atomic uint32_t *word)
{
	atomic_fetch_add(word, 1);
	if (syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0) < 0)
		fail_errno("FUTEX_WAKE");
}

/* Sleeps while @word is @old. */
static void await(_Atomic uint32_t *word, uint32_t old)
{
	while (atomic_load(word) == old) {
		if (syscall(SYS_futex, word, FUTEX_WAIT, old, NULL, NULL, 0) < 0 &&
		    errno != EAGAIN && errno != EINTR)
			fail_errno("FUTEX_WAIT");
	}
}

static void futex_serve(void *state, const struct cell *cell, int pair)
{
	struct counters *counters = (struct counters *)state + pair;
	uint32_t seen = 0;

	cell_process_ready();
	for (;;) {
		await(&counters->requests, seen++);
		increment(&counters->replies);
	}
}

static void *futex_connect(void *state, const struct cell *cell, int pair)
{
	return (struct counters *)state + pair;
}

static void futex_call(void *connection)
{
	struct counters *counters = connection;
	uint32_t replies = atomic_load(&counters->replies);

	increment(&counters->requests);
	await(&counters->replies, replies);
}

const struct peer peer_futex = {
	.name = "futex",
	.has_no_payload = true,
	.prepare = futex_prepare,
	.serve = futex_serve,
	.connect = futex_connect,
	.call = futex_call,
};
