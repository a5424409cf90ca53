// SPDX-License-Identifier: GPL-2.0
/*
 * Timestamps of the stages of round trips.
 *
 * A writer draws a number from an atomic counter, which selects the slot. It clears the slot's
 * signature, fills the slot and then sets the signature to the number + 1. A reader copies the
 * slot and drops the copy unless the signature was right before and after: the slot was reused
 * meanwhile.
 *
 * The lines have the format of the module's tracepoint (host/linux/own_events.h), so that one
 * parser reads both.
 */
#include "events/stages.h"

#include "base/clock.h"
#include "base/switches.h"
#include "core.h"
#include "memory/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* The words are atomic because a reader may copy them while they are written. */
struct record {
	_Atomic u64 signature; /* number + 1; 0: empty, or being written */
	_Atomic u64 time_ns;
	atomic_uint stage, id, answers;
	atomic_int pid, tid;
};

static const char *const names[HOST_STAGE_COUNT] = {
	[HOST_STAGE_IOC] = "K_IOC",
	[HOST_STAGE_WR_IN] = "K_WR_IN",
	[HOST_STAGE_ENQ] = "K_ENQ",
	[HOST_STAGE_DEQ] = "K_DEQ",
	[HOST_STAGE_COPY] = "K_COPY",
};

static struct record *ring;
static _Atomic u64 next;
static pthread_mutex_t switch_lock = PTHREAD_MUTEX_INITIALIZER;

static void put(atomic_uint *word, u32 value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

void stages_record(u32 stage, u32 id, u32 answers, s32 pid, s32 tid)
{
	u64 number = atomic_fetch_add(&next, 1);
	struct record *r = &ring[number % STAGES_SLOTS];
	u64 now = clock_now_ns();

	atomic_store_explicit(&r->signature, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&r->time_ns, now, memory_order_relaxed);
	put(&r->stage, stage);
	put(&r->id, id);
	put(&r->answers, answers);
	atomic_store_explicit(&r->pid, pid, memory_order_relaxed);
	atomic_store_explicit(&r->tid, tid, memory_order_relaxed);
	atomic_store_explicit(&r->signature, number + 1, memory_order_release);
}

int stages_start(void)
{
	int error = 0;

	pthread_mutex_lock(&switch_lock);
	switch_stages = false;
	if (!ring)
		ring = calloc(STAGES_SLOTS, sizeof(*ring));
	if (!ring)
		error = -ENOMEM;
	for (u32 i = 0; ring && i < STAGES_SLOTS; i++)
		atomic_store(&ring[i].signature, 0);
	atomic_store(&next, 0);
	switch_stages = !error;
	pthread_mutex_unlock(&switch_lock);
	return error;
}

void stages_stop(void)
{
	switch_stages = false;
}

static void write_line(struct text *text, const struct record *r, u64 number)
{
	u64 time_ns;
	u32 stage, id, answers;
	s32 pid, tid;

	if (atomic_load_explicit(&r->signature, memory_order_acquire) != number + 1)
		return;
	time_ns = atomic_load_explicit(&r->time_ns, memory_order_relaxed);
	stage = atomic_load_explicit(&r->stage, memory_order_relaxed);
	id = atomic_load_explicit(&r->id, memory_order_relaxed);
	answers = atomic_load_explicit(&r->answers, memory_order_relaxed);
	pid = atomic_load_explicit(&r->pid, memory_order_relaxed);
	tid = atomic_load_explicit(&r->tid, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&r->signature, memory_order_relaxed) != number + 1)
		return;
	text_print(text, "stage=%s time=%llu transaction=%u reply_to=%u proc=%d thread=%d\n",
		   names[stage], time_ns, id, answers, pid, tid);
}

void stages_write(struct text *text)
{
	u64 end = atomic_load(&next);
	u64 number = end > STAGES_SLOTS ? end - STAGES_SLOTS : 0;

	if (number)
		text_print(text, "# %llu lost\n", number);
	for (; ring && number < end; number++)
		write_line(text, &ring[number % STAGES_SLOTS], number);
}
