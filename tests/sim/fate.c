// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to players without their doing.  Each kind of fate is a fiber that
 * strikes a number of times, at random moments.
 */
#include "stage.h"

#include <stdlib.h>

/* Any that lives; only one that may be killed, if @killable.  Who takes a handle to a
 * manager that has died gets none, and is not told. */
struct player *fate_pick(struct stage *stage, bool killable)
{
	u32 at = stage_dice(stage, stage->nr_players), i;

	for (i = 0; i < stage->nr_players; i++) {
		struct player *player = stage->players[(at + i) % stage->nr_players];

		if (!player->dying && !player->eternal && player->proc &&
		    !(killable && player->manager && (stage->exact || stage_dice(stage, 4))))
			return player;
	}
	return NULL;
}

static void kill_somebody(struct stage *stage)
{
	struct player *player = fate_pick(stage, true);

	if (player)
		player_kill(player);
	if (stage_dice(stage, 4))
		player_new(stage, false);
}

static void signal_somebody(struct stage *stage)
{
	struct player *player = fate_pick(stage, false);
	struct actor *a;

	if (!player || !player->nr_actors)
		return;
	a = player->actors[stage_dice(stage, player->nr_actors)];
	a->interrupted = true;
	fiber_wake(a->sim.fiber);
}

static void unmap_something(struct stage *stage)
{
	struct player *player = fate_pick(stage, false);
	u64 holes = fiber_next(&stage->dice);

	if (!player)
		return;
	/* The pages where returns go only now and then: what is lost there is lost. */
	if (stage_dice(stage, 4))
		holes &= ~0x0202020202020202ull;
	player->sim->holes = holes;
	fiber_pause(stage_dice(stage, 3000));
	if (!player->dying)
		player->sim->holes = 0;
}

static void scribble(struct stage *stage)
{
	u32 times = 1 + stage_dice(stage, 20);

	while (times--) {
		parcel_scribble(stage);
		fiber_point();
	}
}

static void reclaim(struct stage *stage)
{
	u32 times = one_in(stage, 2) ? 6 : 1;

	binder_idle_pages();
	while (times--)
		binder_shrink(one_in(stage, 2) ? 1 + stage_dice(stage, 6) : 1000);
}

static void read_reports(struct stage *stage)
{
	static void (*const reports[])(struct host_out *) = {
		binder_report_state, binder_report_stats, binder_report_transactions,
		binder_report_transaction_log, binder_report_failed_transaction_log,
	};
	struct player *player = fate_pick(stage, false);
	struct host_out out = { 0 };

	reports[stage_dice(stage, sizeof(reports) / sizeof(reports[0]))](&out);
	if (player)
		binder_report_proc(&out, player->sim->pid);
	free(out.text);
	if (player && player_enter(player)) {
		binder_flush(player->proc);
		player_leave(player);
	}
}

static const struct fate {
	const char *name;
	size_t wanted; /* the genre's switch */
	u32 times;
	u32 pause_ns; /* at most, between two */
	void (*strike)(struct stage *stage);
} fates[] = {
	{ "killer", offsetof(struct genre, killings), 4, 60000, kill_somebody },
	{ "signals", offsetof(struct genre, signals), 20, 10000, signal_somebody },
	{ "holes", offsetof(struct genre, holes), 10, 20000, unmap_something },
	{ "scribbler", offsetof(struct genre, scribbles), 60, 3000, scribble },
	{ "reclaim", offsetof(struct genre, reclaim), 60, 4000, reclaim },
	{ "reclaim", offsetof(struct genre, reclaim), 30, 4000, reclaim },
	{ "pressure", offsetof(struct genre, pressure), 1500, 400, reclaim },
	{ "reader", offsetof(struct genre, reports), 4, 40000, read_reports },
};

struct strike {
	struct stage *stage;
	const struct fate *fate;
};

static void run(void *arg)
{
	struct strike *s = arg;
	u32 times = stage_dice(s->stage, s->fate->times + 1);

	while (times-- && !s->stage->over) {
		fiber_pause(stage_dice(s->stage, s->fate->pause_ns));
		s->fate->strike(s->stage);
	}
}

void fate_begin(struct stage *stage)
{
	static struct strike strikes[sizeof(fates) / sizeof(fates[0])];
	u32 i;

	for (i = 0; i < sizeof(fates) / sizeof(fates[0]); i++) {
		strikes[i] = (struct strike){ .stage = stage, .fate = &fates[i] };
		if (*((const bool *)((const u8 *)&stage->genre + fates[i].wanted)))
			fiber_new(fates[i].name, 0, run, &strikes[i]);
	}
}
