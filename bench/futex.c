// SPDX-License-Identifier: GPL-2.0
/*
 * Two words in shared memory and a futex on each: the least that waking another process and being
 * woken costs. Nothing is moved, so payloads are refused.
 */
#include "bench/fail.h"
#include "bench/peer.h"
#include "bench/stage.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rung by one side, answered by the other. */
struct bell {
	_Atomic uint32_t rung;
	_Atomic uint32_t answered;
};

static void *futex_prepare(const struct cell *cell)
{
	struct bell *bells;

	if (cell->request_bytes || cell->reply_bytes)
		fail("futex carries nothing");
	bells = mmap(NULL, (size_t)cell->nr_pairs * sizeof(*bells), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bells == MAP_FAILED)
		fail_errno("mmap");
	return bells;
}

static void ring(_Atomic uint32_t *word)
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
	struct bell *bell = (struct bell *)state + pair;
	uint32_t seen = 0;

	(void)cell;
	stage_up();
	for (;;) {
		await(&bell->rung, seen++);
		ring(&bell->answered);
	}
}

static void *futex_connect(void *state, const struct cell *cell, int pair)
{
	(void)cell;
	return (struct bell *)state + pair;
}

static void futex_call(void *connection)
{
	struct bell *bell = connection;
	uint32_t answered = atomic_load(&bell->answered);

	ring(&bell->rung);
	await(&bell->answered, answered);
}

const struct peer peer_futex = {
	.name = "futex",
	.prepare = futex_prepare,
	.serve = futex_serve,
	.connect = futex_connect,
	.call = futex_call,
};
