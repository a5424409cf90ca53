// SPDX-License-Identifier: GPL-2.0
/*
 * Timestamps of the stages of round trips: a reader of the stream of events that wants EVENT_STAGE
 * alone, and whose events become lines when the text is read.
 *
 * The lines have the format of the module's tracepoint (host/linux/own_events.h), so that one
 * parser reads both.
 */
#include "events/stage_records.h"

#include "base/clock.h"
#include "base/locks.h"
#include "events/event_stream.h"
#include "events/events_ring.h"
#include "host.h"
#include "memory/text.h"

#define PORTION 256u

struct stages {
	pthread_mutex_t lock;		/* guards the rest */
	struct events_reader *reader;	/* which the ring exists for; NULL: it was never on */
	struct events_position first;	/* the first event after it was switched on */
	u64 end;			/* the event after the last; UINT64_MAX: it is on */
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

int stages_start(void)
{
	struct stages *stages = daemon_self->stages;
	int error = 0;

	guard_mutex(&stages->lock);
	if (!stages->reader)
		error = events_open(0, 0, &stages->reader);
	if (error)
		return error;
	events_select(stages->reader, 1u << EVENT_STAGE);
	stages->first =
		(struct events_position){ .number = events_ring_end(), .mask = 1u << EVENT_STAGE };
	stages->end = UINT64_MAX;
	return 0;
}

void stages_stop(void)
{
	struct stages *stages = daemon_self->stages;

	guard_mutex(&stages->lock);
	if (!stages->reader || stages->end != UINT64_MAX)
		return;
	events_select(stages->reader, 0);
	stages->end = events_ring_end();
}

bool stages_are_on(void)
{
	guard_mutex(&daemon_self->stages->lock);
	return daemon_self->stages->end == UINT64_MAX;
}

static void write_line(struct text *text, const struct event_record *record)
{
	const struct event_stage *stage = &record->stage;

	if (record->kind == EVENT_LOST)
		text_print(text, "# %llu lost\n", (u64)record->lost.count);
	else
		text_print(text,
			   "stage=%s time=%llu transaction=%u reply_to=%u proc=%d thread=%d\n",
			   stage_names[stage->stage], (u64)record->time_ns, stage->id,
			   stage->reply_to, stage->proc, stage->thread);
}

void stages_write(struct text *text)
{
	struct stages *stages = daemon_self->stages;
	struct event_record records[PORTION];
	struct events_position at;
	u64 end = events_ring_end();
	size_t count;

	guard_mutex(&stages->lock);
	at = stages->first;
	if (stages->end < end)
		end = stages->end;
	while (at.number < end && (count = events_ring_copy(&at, clock_now_ns(), records, PORTION)))
		for (size_t i = 0; i < count && records[i].number < end; i++)
			write_line(text, &records[i]);
}
