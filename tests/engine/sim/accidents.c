// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to processes from outside. Each kind of disturbance is a fiber that acts a number
 * of times, at random moments.
 */
#include "scenario.h"
#include "reports.h"

#include <stdlib.h>

/*
 * Any live process; if @killable, only one that may be killed. The exact scenarios keep the
 * manager, because taking a handle of a dead manager fails without a return.
 */
struct process *pick_process(struct scenario *scenario, bool killable)
{
	u32 at = scenario_random(scenario, scenario->nr_processes), i;

	for (i = 0; i < scenario->nr_processes; i++) {
		struct process *process = scenario->processes[(at + i) % scenario->nr_processes];

		if (!process->dying && !process->permanent && process->proc &&
		    !(killable && process->manager &&
		      (scenario->exact || scenario_random(scenario, 4))))
			return process;
	}
	return NULL;
}

void actor_freeze(struct actor *a, struct process *target, bool enable, u32 timeout_ms)
{
	struct binder_freeze_info info = {
		.pid = (u32)target->sim->pid, .enable = enable, .timeout_ms = timeout_ms
	};
	struct binder_frozen_status_info state = { .pid = info.pid };
	u32 epoch = ++target->freezes;
	bool frozen;

	target->frozen = false;
	scenario_log("actor %u %s process %u", a->id, enable ? "freezes" : "thaws", target->id);
	target->freezing++;
	frozen = !actor_ioctl(a, BINDER_FREEZE, &info, false) && enable;
	/* Only if no other freeze or thaw overlapped. */
	target->freezing--;
	if (target->freezes++ == epoch && !target->freezing && !target->dying)
		target->frozen = frozen;
	actor_ioctl(a, BINDER_GET_FROZEN_INFO, &state, false);
}

static void kill_process(struct scenario *scenario)
{
	struct process *process = pick_process(scenario, true);

	if (process)
		process_kill(process);
	if (scenario_random(scenario, 4))
		process_new(scenario, false);
}

static void signal_thread(struct scenario *scenario)
{
	struct process *process = pick_process(scenario, false);
	struct actor *a;

	if (!process || !process->nr_actors)
		return;
	a = process->actors[scenario_random(scenario, process->nr_actors)];
	a->interrupted = true;
	fiber_wake(a->sim.fiber);
}

static void unmap_pages(struct scenario *scenario)
{
	struct process *process = pick_process(scenario, false);
	u64 holes = fiber_next(&scenario->dice);

	if (!process)
		return;
	/*
	 * The pages that returns are written to only now and then: what is lost there cannot be
	 * read again.
	 */
	if (scenario_random(scenario, 4))
		holes &= ~0x0202020202020202ull;
	process->sim->holes = holes;
	fiber_pause(scenario_random(scenario, 3000));
	if (!process->dying)
		process->sim->holes = 0;
}

static void scribble(struct scenario *scenario)
{
	u32 times = 1 + scenario_random(scenario, 20);

	while (times--) {
		parcel_scribble(scenario);
		fiber_point();
	}
}

static void reclaim(struct scenario *scenario)
{
	u32 times = one_in(scenario, 2) ? 6 : 1;

	engine_enter(scenario, NULL);
	binder_idle_pages();
	while (times--)
		binder_shrink(one_in(scenario, 2) ? 1 + scenario_random(scenario, 6) : 1000);
	engine_leave(scenario, NULL);
}

static void read_reports(struct scenario *scenario)
{
	static const enum binder_report_kind kinds[] = { REPORT_STATE, REPORT_STATS,
							 REPORT_TRANSACTIONS };
	struct process *process = pick_process(scenario, false);
	struct host_out out = { 0 };

	engine_enter(scenario, NULL);
	test_report(&out, kinds[scenario_random(scenario, 3)], 0);
	if (process)
		test_report(&out, REPORT_PROC, process->sim->pid);
	binder_report_transaction_log(&out);
	binder_report_failed_transaction_log(&out);
	scenario_note(scenario, out.text, out.len);
	free(out.text);
	engine_leave(scenario, NULL);
	if (process && process_enter(process)) {
		engine_enter(scenario, NULL);
		binder_flush(process->proc);
		engine_leave(scenario, NULL);
		process_leave(process);
	}
}

static const struct disturbance {
	const char *name;
	size_t wanted; /* offset of the switch in struct traits */
	u32 times;
	u32 pause_ns; /* at most, between two */
	void (*strike)(struct scenario *scenario);
} disturbances[] = {
	{ "killer", offsetof(struct traits, kills), 4, 60000, kill_process },
	{ "signals", offsetof(struct traits, signals), 20, 10000, signal_thread },
	{ "holes", offsetof(struct traits, holes), 10, 20000, unmap_pages },
	{ "overwriter", offsetof(struct traits, scribbles), 60, 3000, scribble },
	{ "reclaim", offsetof(struct traits, reclaim), 60, 4000, reclaim },
	{ "reclaim", offsetof(struct traits, reclaim), 30, 4000, reclaim },
	{ "pressure", offsetof(struct traits, pressure), 1500, 400, reclaim },
	{ "reader", offsetof(struct traits, reports), 4, 40000, read_reports },
};

struct strike {
	struct scenario *scenario;
	const struct disturbance *disturbance;
};

static void run(void *arg)
{
	struct strike *s = arg;
	u32 times = scenario_random(s->scenario, s->disturbance->times + 1);

	while (times-- && !s->scenario->over) {
		fiber_pause(scenario_random(s->scenario, s->disturbance->pause_ns));
		s->disturbance->strike(s->scenario);
	}
}

void accidents_begin(struct scenario *scenario)
{
	static struct strike strikes[sizeof(disturbances) / sizeof(disturbances[0])];
	u32 i;

	for (i = 0; i < sizeof(disturbances) / sizeof(disturbances[0]); i++) {
		strikes[i] =
			(struct strike){ .scenario = scenario, .disturbance = &disturbances[i] };
		if (*((const bool *)((const u8 *)&scenario->traits + disturbances[i].wanted)))
			fiber_new(disturbances[i].name, 0, run, &strikes[i]);
	}
}
