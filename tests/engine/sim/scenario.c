// SPDX-License-Identifier: GPL-2.0
/*
 * One scenario, from its seed alone: its traits, the processes that start, and the end. The
 * director is a fiber like the others. It runs when no other fiber can run, changes something so
 * that they go on, and at the end kills all processes.
 */
#include "scenario.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool scenario_verbose;

void scenario_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	abort();
}

void scenario_log(const char *fmt, ...)
{
	va_list args;

	if (!scenario_verbose)
		return;
	va_start(args, fmt);
	fprintf(stderr, "%8llu ", (unsigned long long)fiber_now_ns());
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
}

static u64 hash_on(u64 hash, const void *bytes, size_t size)
{
	const u8 *byte = bytes;
	size_t i;

	for (i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3;
	return hash;
}

void scenario_note(struct scenario *scenario, const void *bytes, size_t size)
{
	scenario->history = hash_on(scenario->history, bytes, size);
}

void actor_note(struct actor *a, const void *bytes, size_t size)
{
	if (a->process->scenario->act)
		a->history = hash_on(a->history, bytes, size);
	else
		scenario_note(a->process->scenario, bytes, size);
}

/* Without chance: the answer that means nothing special to all who ask. */
u32 scenario_random(struct scenario *scenario, u32 sides)
{
	if (scenario->act)
		return sides - 1;
	return fiber_dice(&scenario->dice, sides);
}

/* ---- processes ------------------------------------------------------------------- */

static void release_if_last(struct process *process)
{
	if (!process->dying || process->nr_actors || process->outside_users || process->released)
		return;
	process->released = true;
	scenario_log("process %u is released", process->id);
	engine_enter(process->scenario, NULL);
	if (process->proc)
		binder_release(process->proc);
	process->proc = NULL;
	engine_leave(process->scenario, NULL);
}

bool process_open(struct process *process)
{
	engine_enter(process->scenario, NULL);
	if (binder_open(process->scenario->context, process->sim, &process->proc))
		process->proc = NULL;
	engine_leave(process->scenario, NULL);
	return process->proc;
}

bool process_enter(struct process *process)
{
	if (process->dying || !process->proc)
		return false;
	process->outside_users++;
	return true;
}

void process_leave(struct process *process)
{
	process->outside_users--;
	release_if_last(process);
}

void process_kill(struct process *process)
{
	u32 i;

	if (process->dying)
		return;
	scenario_log("process %u is killed", process->id);
	process->dying = true;
	process->frozen = false;
	process->sim->holes = ~0ull;
	process->sim->unmapped = true;
	for (i = 0; i < process->nr_actors; i++)
		fiber_wake(process->actors[i]->sim.fiber);
	release_if_last(process);
}

static void end_actor(struct actor *a)
{
	struct process *process = a->process;
	u32 i;

	for (i = 0; process->actors[i] != a;)
		i++;
	process->actors[i] = process->actors[--process->nr_actors];
	if (process->sim->poller == a->sim.fiber)
		process->sim->poller = NULL;
	a->sim.fiber = NULL;
	release_if_last(process);
}

static void actor_main(void *arg)
{
	struct actor *a = arg;

	actor_run(a);
	end_actor(a);
}

static u32 free_slot(const struct process *process)
{
	u32 taken = 0, i;

	for (i = 0; i < process->nr_actors; i++)
		taken |= 1u << process->actors[i]->slot;
	for (i = 0; taken >> i & 1;)
		i++;
	return i;
}

static struct host_priority some_priority(struct scenario *scenario, bool may_rt)
{
	struct host_priority p = { 0, 0 };

	if (!scenario->traits.realtime)
		return p;
	if (may_rt && one_in(scenario, 3))
		return (struct host_priority){ .policy = 1, .prio = 5 };
	p.prio = (s8)((s32)scenario_random(scenario, 3) * 5 - 5);
	return p;
}

struct actor *actor_make(struct process *process, enum role role, bool registered)
{
	struct scenario *scenario = process->scenario;
	struct actor *a = calloc(1, sizeof(*a));

	scenario->actors[scenario->nr_actors] = a;
	a->id = scenario->nr_actors++;
	a->process = process;
	a->slot = free_slot(process);
	a->tid = process->sim->pid + (s32)process->nr_born++;
	a->area = SIM_BASE + AREA * (u64)a->slot;
	a->role = role;
	a->registered = registered;
	a->steps = 1 + scenario_random(scenario, scenario->traits.steps);
	a->base = a->priority = some_priority(scenario, process->sim->may_rt);
	a->sim.proc = process->sim;
	a->sim.priority = &a->priority;
	process->actors[process->nr_actors++] = a;
	return a;
}

void actor_start(struct actor *a)
{
	a->sim.fiber = fiber_new("actor %d", (int)a->id, actor_main, a);
}

void actor_new(struct process *process, enum role role, bool registered)
{
	struct scenario *scenario = process->scenario;

	if (process->dying || process->nr_actors == ACTORS_MAX ||
	    scenario->nr_actors == ACTORS_TOTAL)
		return;
	actor_start(actor_make(process, role, registered));
}

void become_manager(struct actor *a)
{
	struct flat_binder_object manager = {
		.hdr.type = BINDER_TYPE_BINDER,
		.flags = FLAT_BINDER_FLAG_ACCEPTS_FDS,
		.binder = object_ptr(0),
		.cookie = object_cookie(a->process, 0),
	};

	if (a->process->scenario->traits.secctx)
		manager.flags |= FLAT_BINDER_FLAG_TXN_SECURITY_CTX;
	if (actor_ioctl(a, BINDER_SET_CONTEXT_MGR_EXT, &manager, false))
		return;
	/* The driver takes a reference without a return that says so. */
	a->process->objects[0].strong++;
	a->process->objects[0].weak++;
	a->process->scenario->manager_ready = true;
}

/* Each process takes a handle of the manager, if there ever is one. */
static void acquire_manager(struct actor *a)
{
	u32 tries = 100;

	while (!a->process->scenario->manager_ready && tries-- && !a->process->dying)
		fiber_pause(500);
	if (a->process->scenario->manager_ready)
		model_acquire_manager(a);
}

/* The first thread of a process: opens the device and starts the others. */
static void first_main(void *arg)
{
	struct actor *a = arg;
	struct process *process = a->process;
	const struct traits *g = &process->scenario->traits;
	u32 tries = 0, i;

	while (!process->dying && !process->proc && tries++ < 50)
		process_open(process);
	if (!process->proc) {
		process->dying = true;
		end_actor(a);
		return;
	}
	if (process->manager)
		become_manager(a);
	else
		acquire_manager(a);
	for (i = 1; i < g->loopers; i++)
		actor_new(process, LOOPER, false);
	for (i = 0; i < g->clients; i++)
		actor_new(process, CLIENT, false);
	if (g->pollers)
		actor_new(process, POLLER, false);
	actor_main(a);
}

struct process *process_make(struct scenario *scenario, bool manager)
{
	struct process *process = calloc(1, sizeof(*process));

	process->scenario = scenario;
	process->id = scenario->nr_processes;
	process->manager = manager;
	scenario->last_pid += 1000;
	process->sim = sim_proc_new(scenario->last_pid, 1000 + one_in(scenario, 3),
				    scenario->traits.map_size);
	while (sim_file_open(process->sim) < 2)
		;
	process->sim->fds_later = scenario->traits.late_files && one_in(scenario, 2);
	process->sim->may_rt = one_in(scenario, 2);
	process->sim->secctx = scenario->traits.secctx ? "u:r:player:s0" : NULL;
	process->sim->opener = some_priority(scenario, false);
	scenario->processes[scenario->nr_processes++] = process;
	scenario_log("process %u starts, pid %d", process->id, process->sim->pid);
	return process;
}

struct process *process_new(struct scenario *scenario, bool manager)
{
	struct process *process;
	struct actor *a;

	if (scenario->nr_processes == PROCESSES_MAX ||
	    scenario->nr_actors + ACTORS_MAX > ACTORS_TOTAL)
		return NULL;
	process = process_make(scenario, manager);
	a = actor_make(process, LOOPER, false);
	a->sim.fiber = fiber_new("actor %d", (int)a->id, first_main, a);
	return process;
}

/* ---- the director ----------------------------------------------------------------- */

static bool idle(void *arg)
{
	struct scenario *scenario = arg;

	audit(scenario, true);
	hand_over_if_due(scenario);
	if (!scenario->director_waits)
		return false;
	fiber_wake(scenario->director);
	return true;
}

void director_wait_idle(struct scenario *scenario)
{
	scenario->director_waits = true;
	fiber_wait(0);
	scenario->director_waits = false;
}

/* The director's own process, which thaws those that were left frozen. */
static struct actor *own_actor(struct scenario *scenario)
{
	struct process *process = calloc(1, sizeof(*process));
	struct actor *a;

	scenario->processes[scenario->nr_processes++] = process;
	process->scenario = scenario;
	process->permanent = true;
	process->sim = sim_proc_new(100, 0, 4096);
	while (!process_open(process))
		;
	a = actor_make(process, CLIENT, false);
	a->sim.fiber = scenario->director;
	return a;
}

static void thaw_all(struct scenario *scenario, struct actor *a)
{
	u32 i;

	for (i = 0; i < scenario->nr_processes; i++) {
		struct process *process = scenario->processes[i];
		struct binder_freeze_info info = { .pid = (u32)process->sim->pid };

		if (process->dying || process->permanent)
			continue;
		process->frozen = false;
		process->freezes++;
		process->freezing++;
		while (actor_ioctl(a, BINDER_FREEZE, &info, false) == -ENOMEM)
			;
		process->freezing--;
		process->freezes++;
	}
}

static void intervene(struct scenario *scenario, struct actor *a)
{
	struct process *process;

	thaw_all(scenario, a);
	if (scenario->traits.calm)
		return;
	process = pick_process(scenario, true);
	if (process && scenario->traits.kills)
		process_kill(process);
	if (one_in(scenario, 2))
		process_new(scenario, false);
}

static void direct(void *arg)
{
	struct scenario *scenario = arg;
	struct actor *a = own_actor(scenario);
	u32 rounds = scenario_random(scenario, 4), i;

	process_new(scenario, true);
	if (scenario->traits.rivals)
		process_new(scenario, true);
	for (i = 1; i < scenario->traits.processes; i++) {
		fiber_pause(scenario_random(scenario, 3000));
		process_new(scenario, false);
	}
	accidents_begin(scenario);
	for (i = 0; i < rounds; i++) {
		director_wait_idle(scenario);
		scenario_log("the director intervenes");
		intervene(scenario, a);
	}
	director_wait_idle(scenario);
	scenario->over = true;
	thaw_all(scenario, a);
	director_wait_idle(scenario);
	scenario_log("the end");
	for (i = 0; i < scenario->nr_processes; i++) {
		struct process *process = scenario->processes[i];

		if (process != a->process)
			process_kill(process);
		if (one_in(scenario, 2))
			fiber_pause(scenario_random(scenario, 2000));
	}
	director_wait_idle(scenario);
	end_actor(a);
	process_kill(a->process);
}

/* ---- one seed ------------------------------------------------------------------------ */

static void choose_faults(struct scenario *scenario)
{
	struct traits *g = &scenario->traits;

	if (scenario_random(scenario, 3))
		return;
	g->fault = one_in(scenario, 2) ? SIM_ANY
				       : (enum sim_op)scenario_random(scenario, SIM_OP_COUNT);
	g->faults_one_in = g->fault == SIM_ANY ? 40u << scenario_random(scenario, 7)
					       : 3u << scenario_random(scenario, 5);
}

static void choose_traits(struct scenario *scenario)
{
	struct traits *g = &scenario->traits;
	bool big = one_in(scenario, 64);

	g->processes = big ? 24 + scenario_random(scenario, 17) : 2 + scenario_random(scenario, 4);
	g->loopers = 1 + scenario_random(scenario, big ? 2 : 3);
	g->clients = scenario_random(scenario, 3) + !big;
	g->steps = big ? 5 : 4 + scenario_random(scenario, 24);
	g->map_size = 4096 * (size_t)(one_in(scenario, 3) ? 2 + scenario_random(scenario, 4)
							  : 16 + scenario_random(scenario, 17));
	g->pollers = one_in(scenario, 4);
	g->late_files = one_in(scenario, 3);
	g->realtime = one_in(scenario, 3);
	g->secctx = one_in(scenario, 4);
	g->reclaim = one_in(scenario, 2);
	g->reports = one_in(scenario, 4);
	g->signals = one_in(scenario, 3);
	g->scribbles = one_in(scenario, 5);
	g->calm = one_in(scenario, 8);
	if (g->calm) {
		g->map_size = 32 * 4096;
		g->scribbles = false;
		return;
	}
	g->pressure = one_in(scenario, 10);
	if (g->pressure) {
		g->reclaim = true;
		g->map_size = 4096 * (size_t)(3 + scenario_random(scenario, 4));
	}
	g->kills = one_in(scenario, 2);
	g->freezes = one_in(scenario, 2);
	g->holes = one_in(scenario, 6);
	g->misbehaves = one_in(scenario, 6);
	g->rivals = g->misbehaves && one_in(scenario, 2);
	choose_faults(scenario);
}

void scenario_begin(struct scenario *scenario)
{
	sim_heap_keep();
	sim_stats = (struct sim_stats){ 0 };
	binder_world_init();
	binder_stats_world = (struct binder_stats){ 0 };
	host_atomic_set(&binder_world.last_id, 0);
	sim_fail_sometimes(SIM_ANY, 0, 0);
	scenario->context = binder_context_new("stage");
	if (scenario->traits.faults_one_in)
		sim_fail_sometimes(scenario->traits.fault, scenario->traits.faults_one_in,
				   scenario->seed);
	scenario->exact = !scenario->traits.faults_one_in && !scenario->traits.misbehaves &&
			  (scenario->traits.calm || scenario_random(scenario, 4));
}

void scenario_check_nothing_left(struct scenario *scenario)
{
	u32 i;

	sim_fail_sometimes(SIM_ANY, 0, 0);
	audit(scenario, true);
	for (i = 0; i < scenario->nr_processes; i++) {
		sim_proc_free(scenario->processes[i]->sim);
		free(scenario->processes[i]);
	}
	for (i = 0; i < scenario->nr_actors; i++)
		free(scenario->actors[i]);
	binder_context_put(scenario->context);
	if (sim_stats.allocs || sim_stats.files || sim_stats.secctxs)
		scenario_fail("left over: %u allocations, %u files, %u security contexts",
			      sim_stats.allocs, sim_stats.files, sim_stats.secctxs);
	sim_heap_check();
}

u64 scenario_run(u64 seed, struct scenario *scenario, const struct hand_overs *plan)
{
	struct fiber_plan fibers = { .max_points = 20 * 1000 * 1000 };

	*scenario = (struct scenario){ .seed = seed, .dice = seed * 0x9e3779b97f4a7c15 };
	choose_traits(scenario);
	fibers.seed = fiber_next(&scenario->dice);
	fibers.policy = (enum fiber_policy)scenario_random(scenario, FIBER_POLICIES);
	fibers.switch_one_in = 1u << scenario_random(scenario, 8);
	if (fibers.policy == FIBER_RANKS)
		fibers.switch_one_in *= 4;
	if (scenario->traits.pressure) { /* the interesting windows are short */
		fibers.policy = FIBER_DICE;
		fibers.switch_one_in = 2;
	}
	fiber_begin(&fibers);
	hand_over_begin(scenario, plan);
	scenario_begin(scenario);
	scenario->director = fiber_new("director", 0, direct, scenario);
	fiber_run(idle, scenario);
	scenario_check_nothing_left(scenario);
	scenario_note(scenario, &scenario->calls, sizeof(scenario->calls));
	return fiber_trace() ^ fiber_points() ^ scenario->calls << 32;
}
