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
#include "events/stage_records.h"

#include "base/clock.h"
#include "base/locks.h"
#include "core.h"
#include "memory/text.h"

#include <errno.h>
#include <stdlib.h>

/* The words are atomic because a reader may copy them while they are written. */
struct stages_record {
	_Atomic u64 signature; /* number + 1; 0: empty, or being written */
	_Atomic u64 time_ns;
	atomic_uint stage, id, answers;
	atomic_int pid, tid;
};

static const char *const stage_names[HOST_STAGE_COUNT] = {
	[HOST_STAGE_IOC] = "K_IOC",
	[HOST_STAGE_WR_IN] = "K_WR_IN",
	[HOST_STAGE_ENQ] = "K_ENQ",
	[HOST_STAGE_DEQ] = "K_DEQ",
	[HOST_STAGE_COPY] = "K_COPY",
};

void stages_init(void)
{
	pthread_mutex_init(&daemon_part(stages)->lock, NULL);
}

static void put_word(atomic_uint *word, u32 value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

void stages_record(u32 stage, u32 id, u32 answers, s32 pid, s32 tid)
{
	u64 number = atomic_fetch_add(&daemon_self->stages->next, 1);
	struct stages_record *r = &daemon_self->stages->ring[number % STAGES_SLOTS];
	u64 now = clock_now_ns();

	atomic_store_explicit(&r->signature, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&r->time_ns, now, memory_order_relaxed);
	put_word(&r->stage, stage);
	put_word(&r->id, id);
	put_word(&r->answers, answers);
	atomic_store_explicit(&r->pid, pid, memory_order_relaxed);
	atomic_store_explicit(&r->tid, tid, memory_order_relaxed);
	atomic_store_explicit(&r->signature, number + 1, memory_order_release);
}

int stages_start(void)
{
	struct stages *stages = daemon_self->stages;
	int error = 0;

	guard_mutex(&stages->lock);
	atomic_store(&stages->is_on, false);
	if (!stages->ring)
		stages->ring = calloc(STAGES_SLOTS, sizeof(*stages->ring));
	if (!stages->ring)
		error = -ENOMEM;
	for (u32 i = 0; stages->ring && i < STAGES_SLOTS; i++)
		atomic_store(&stages->ring[i].signature, 0);
	atomic_store(&stages->next, 0);
	atomic_store(&stages->is_on, !error);
	return error;
}

void stages_stop(void)
{
	atomic_store(&daemon_self->stages->is_on, false);
}

static void write_line(struct text *text, const struct stages_record *r, u64 number)
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
		   stage_names[stage], time_ns, id, answers, pid, tid);
}

void stages_write(struct text *text)
{
	u64 end = atomic_load(&daemon_self->stages->next);
	u64 number = end > STAGES_SLOTS ? end - STAGES_SLOTS : 0;

	if (number)
		text_print(text, "# %llu lost\n", number);
	for (; daemon_self->stages->ring && number < end; number++)
		write_line(text, &daemon_self->stages->ring[number % STAGES_SLOTS], number);
}
