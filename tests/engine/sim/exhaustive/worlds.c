// SPDX-License-Identifier: GPL-2.0
/*
 * What happens in the small worlds. Process 0 is the manager, the others have a handle of its
 * object. A thread acts by the letters of its script; those before the bar are no part of the
 * search, and neither is the end, when all processes are killed and nothing may be left.
 */
#include "worlds.h"
#include "explore.h"

#include "entities/node.h"
#include "entities/ref.h"
#include "entities/world.h"

#include <stdlib.h>

const struct world worlds[] = {
	{ "options of one process", TINY, true, { { 0, "|m" }, { 0, "|m" } } },
	{ "options of two processes", TINY, true, { { 0, "|m" }, { 1, "|m" } } },
	{ "exit beside an option", CHECKED, false, { { 0, "|x" }, { 0, "|m" } } },
	{ "call", CHECKED, true, { { 0, "L|" }, { 1, "|c" } } },
	{ "call before the server waits", SHORT, true, { { 0, "|L" }, { 1, "|c" } } },
	{ "two calls in a row", SHORT, true, { { 0, "L|" }, { 1, "|cc" } } },
	{ "two callers", LONG, true, { { 0, "L|" }, { 1, "|c" }, { 1, "|c" } } },
	{ "two callers, two servers", LONG, true,
	  { { 0, "L|" }, { 0, "L|" }, { 1, "|c" }, { 1, "|c" } } },
	{ "nested call", SHORT, true, { { 0, "N|" }, { 1, "|C" } } },
	{ "nested call beside a server", LONG, true, { { 0, "N|" }, { 1, "|C" }, { 1, "L|" } } },
	{ "one-way queue", CHECKED, true, { { 0, "L|" }, { 1, "|oo" } } },
	{ "one-way queue of three", SHORT, true, { { 0, "L|" }, { 1, "|ooo" } } },
	{ "one-way queue, two servers", CHECKED, true, { { 0, "L|" }, { 0, "L|" }, { 1, "|oo" } } },
	{ "one-way calls of two", SHORT, true, { { 0, "L|" }, { 1, "|o" }, { 1, "|o" } } },
	{ "one-way call and call", LONG, true, { { 0, "L|" }, { 1, "|o" }, { 1, "|c" } } },
	{ "object sent and dropped", CHECKED, true, { { 0, "L|" }, { 1, "|Cr" } } },
	{ "object sent again", SHORT, true, { { 0, "L|" }, { 1, "C|C" } } },
	{ "object dropped and sent", SHORT, true, { { 0, "L|" }, { 0, "|h" }, { 1, "C|C" } } },
	{ "object gone and sent", SHORT, true, { { 0, "E|" }, { 1, "Cc|r" }, { 1, "|C" } } },
	{ "object dropped at once", CHECKED, true, { { 0, "D|" }, { 1, "|C" } } },
	{ "object dropped twice", SHORT, true, { { 0, "D|" }, { 1, "|CC" } } },
	{ "objects of two", LONG, true, { { 0, "L|" }, { 0, "L|" }, { 1, "|C" }, { 1, "|C" } } },
	{ "death and handle", CHECKED, false, { { 0, "L|" }, { 1, "d|dhr" }, { 2, "|k" } } },
	{ "death and request", CHECKED, false, { { 0, "L|" }, { 1, "|dr" }, { 2, "|k" } } },
	{ "death and clearing", CHECKED, false,
	  { { 0, "L|" }, { 1, "d|d" }, { 1, "L|" }, { 2, "|k" } } },
	{ "death and call", SHORT, false,
	  { { 0, "L|" }, { 1, "d|dr" }, { 1, "|o" }, { 2, "|k" } } },
	{ "freeze and call", SHORT, false, { { 0, "L|" }, { 1, "|c" }, { 2, "|zt" } } },
	{ "freeze and one-way call", SHORT, false, { { 0, "L|" }, { 1, "|o" }, { 2, "|zt" } } },
	{ "freeze and notice", CHECKED, false, { { 0, "L|" }, { 1, "|fr" }, { 2, "|zt" } } },
	{ "freeze and clearing", CHECKED, false, { { 0, "L|" }, { 1, "f|fr" }, { 2, "|z" } } },
	{ "two freezers", LONG, false, { { 0, "L|" }, { 1, "|z" }, { 2, "|zt" } } },
	{ "exit beside a call", SHORT, false, { { 0, "L|" }, { 0, "|rx" }, { 1, "|c" } } },
	{ "exit with a call", SHORT, false, { { 0, "|rx" }, { 1, "|c" } } },
	{ "exit or serve", SHORT, false, { { 0, "|rx" }, { 0, "|L" }, { 1, "|c" } } },
	{ "exit with one-way calls", SHORT, false, { { 0, "L|" }, { 0, "|rx" }, { 1, "|oo" } } },
	{ "killed caller", SHORT, false, { { 0, "L|" }, { 1, "|c" }, { 2, "|K" } } },
	{ "killed server", SHORT, false, { { 0, "L|" }, { 1, "|c" }, { 2, "|k" } } },
	{ "killed server of two", SHORT, false,
	  { { 0, "L|" }, { 0, "L|" }, { 1, "|c" }, { 2, "|k" } } },
	{ "killed receiver", SHORT, false, { { 0, "L|" }, { 1, "|oo" }, { 2, "|k" } } },
	{ "killed sender of an object", SHORT, false, { { 0, "L|" }, { 1, "|C" }, { 2, "|K" } } },
	{ "killed in a nested call", LONG, false, { { 0, "N|" }, { 1, "|C" }, { 2, "|K" } } },
	{ "killed both", LONG, false, { { 0, "L|" }, { 1, "|c" }, { 2, "|k" }, { 2, "|K" } } },
};
const u32 nr_worlds = sizeof(worlds) / sizeof(worlds[0]);

static const struct world *the_world;
static bool gate_open;
static u64 outcome;

static bool stopped(const struct actor *a)
{
	return a->process->dying;
}

/* ---- what a thread does ----------------------------------------------------------------- */

static struct handle *some_handle(struct process *process)
{
	u32 i;

	for (i = 0; i < HANDLES; i++)
		if (process->handles[i].strong)
			return &process->handles[i];
	return NULL;
}

static void drop_handle(struct actor *a)
{
	struct handle *h = some_handle(a->process);

	if (h)
		model_release_handle(a, h);
	actor_flush(a);
}

/* Replies to the call that it serves; @how: a letter of act_once(). */
static void serve(struct actor *a, char how)
{
	bool had_object = some_handle(a->process);
	u32 depth = a->depth;

	actor_flush(a); /* what it acquires from the call */
	if (how == 'N')
		actor_send_call(a);
	else if (how == 'D' || (how == 'E' && had_object))
		drop_handle(a);
	while (a->depth > depth && !stopped(a))
		actor_write_read(a, true, false);
	if (!stopped(a) && actor_innermost(a) == 'S')
		parcel_send(a, REPLY, 0);
}

static void serve_until_killed(struct actor *a, char how)
{
	if (!a->entered)
		actor_put(a, BC_ENTER_LOOPER, NULL);
	a->entered = true;
	while (!stopped(a)) {
		if (actor_innermost(a) == 'S')
			serve(a, how);
		actor_write_read(a, true, false);
	}
}

/* Until the call has its reply; serves what is called back meanwhile. */
static void call(struct actor *a)
{
	u32 depth = a->depth;

	actor_send_call(a);
	while (!stopped(a) && a->depth > depth) {
		if (actor_innermost(a) == 'S')
			serve(a, 'L');
		actor_write_read(a, true, false);
	}
}

static void kill_other(struct actor *a, u32 process)
{
	process_kill(a->process->scenario->processes[process]);
}

static void act_once(struct actor *a, char what)
{
	switch (what) {
	case 'L': /* serves, from then on */
	case 'N': /* the same, and calls back the object that it is sent */
	case 'D': /* the same, and drops the object that it is sent before it replies */
	case 'E': /* the same, at the next call */
		serve_until_killed(a, what);
		break;
	case 'C': /* a call that carries an object of its own; 'c': without */
		a->cargo = 1;
		call(a);
		break;
	case 'c':
		call(a);
		break;
	case 'o': /* a one-way call */
		actor_send_oneway(a);
		actor_flush(a);
		break;
	case 'r': /* returns that are there */
		actor_write_read(a, true, true);
		break;
	case 'd': /* requests a death notice, or clears it; 'f': a freeze notice */
	case 'f':
		model_toggle_notice(a, what == 'd' ? DEATH : FREEZE);
		actor_flush(a);
		break;
	case 'h': /* drops a handle */
		drop_handle(a);
		break;
	case 'm': /* sets an option of its process */
		actor_ioctl(a, BINDER_SET_MAX_THREADS, &(s32){ (s32)a->id }, false);
		break;
	case 'x': /* exits the driver */
		actor_exit_thread(a);
		a->out_len = 0;
		break;
	case 'k': /* kills the manager; 'K': process 1 */
	case 'K':
		kill_other(a, what == 'K');
		break;
	case 'z': /* freezes the manager; 't': thaws it */
	case 't':
		actor_freeze(a, a->process->scenario->processes[0], what == 'z', 0);
		break;
	default:
		scenario_fail("world %s: no action %c", the_world->name, what);
	}
}

static void world_act(struct actor *a)
{
	const char *at;

	for (at = a->script; *at && !stopped(a); at++) {
		if (*at != '|') {
			act_once(a, *at);
			continue;
		}
		a->at_gate = true;
		while (!gate_open && !stopped(a))
			fiber_wait(0);
		a->at_gate = false;
	}
	while (!stopped(a))
		fiber_wait(0);
}

/* ---- a world ---------------------------------------------------------------------------- */

static void start_process(struct scenario *scenario, u32 number)
{
	struct process *process = process_make(scenario, !number);
	const struct player *player;
	struct actor *a = NULL;

	/* What the model of the process counts decides nothing here. */
	access_ignore(process->handles, sizeof(*process) - offsetof(struct process, handles));
	process_open(process);
	for (player = the_world->players; player < the_world->players + PLAYERS; player++) {
		if (!player->script || player->process != number)
			continue;
		a = actor_make(process, CLIENT, false);
		a->script = player->script;
		a->entered = false;
		if (process->nr_actors == 1 && !number)
			become_manager(a);
		else if (process->nr_actors == 1)
			model_acquire_manager(a);
		actor_flush(a);
	}
}

static void start_all(struct scenario *scenario)
{
	u32 nr = 0, i;

	for (i = 0; i < PLAYERS && the_world->players[i].script; i++)
		if (the_world->players[i].process >= nr)
			nr = the_world->players[i].process + 1;
	for (i = 0; i < nr; i++)
		start_process(scenario, i);
	for (i = 0; i < scenario->nr_actors; i++)
		actor_start(scenario->actors[i]);
}

static void end_all(struct scenario *scenario)
{
	u32 i;

	scenario->over = true;
	for (i = 0; i < scenario->nr_processes; i++)
		process_kill(scenario->processes[i]);
}

static void direct(void *arg)
{
	struct scenario *scenario = arg;
	u32 i;

	start_all(scenario);
	director_wait_idle(scenario);
	scenario_log("the gate opens");
	gate_open = true;
	explore_start();
	for (i = 0; i < scenario->nr_actors; i++)
		if (scenario->actors[i]->at_gate)
			fiber_wake(scenario->actors[i]->sim.fiber);
	director_wait_idle(scenario);
	scenario_log("the end");
	end_all(scenario);
}

static void add_outcome(u64 value)
{
	outcome = (outcome ^ value) * 0x100000001b3;
	outcome ^= outcome >> 29;
}

/* Adds what is left of a process in the engine, but for names of things in reports. */
static void add_process(const struct binder_proc *proc)
{
	struct bt_node *n;

	add_outcome((u64)(u32)proc->max_threads << 32 | proc->nr_threads);
	add_outcome((u64)proc->is_frozen << 2 | (u64)proc->sync_recv << 1 | proc->async_recv);
	add_outcome((u64)(u32)proc->outstanding_txns << 32 | proc->alloc.nr_buffers);
	add_outcome(proc->alloc.async_free);
	bt_for_each (n, &proc->nodes) {
		const struct binder_node *node = bt_entry(n, struct binder_node, by_ptr);

		add_outcome(node->ptr);
		add_outcome((u64)node->internal_strong << 32 | node->local_strong << 16 |
			    node->local_weak << 8 | (u32)node->has_strong << 2 |
			    (u32)node->has_weak << 1 | node->async_busy);
	}
	bt_for_each (n, &proc->refs_by_desc) {
		const struct binder_ref *ref = bt_entry(n, struct binder_ref, by_desc);

		add_outcome((u64)ref->desc << 32 | ref->strong << 16 | ref->weak << 8 |
			    (u32)(ref->death != NULL) << 1 | (ref->freeze != NULL));
	}
}

static bool idle(void *arg)
{
	struct scenario *scenario = arg;
	u32 i;

	if (gate_open && !scenario->over) {
		explore_end();
		for (i = 0; i < scenario->nr_actors; i++)
			add_outcome(scenario->actors[i]->history);
		for (i = 0; i < scenario->nr_processes; i++)
			if (scenario->processes[i]->proc)
				add_process(scenario->processes[i]->proc);
	}
	audit(scenario, true);
	if (!scenario->director_waits)
		return false;
	fiber_wake(scenario->director);
	return true;
}

/* A schedule that was left early: what it has is forgotten. */
static void abandon(struct scenario *scenario)
{
	while (sim_procs)
		sim_proc_free(sim_procs);
	sim_heap_drop();
	sim_heap_check();
	sim_stats = (struct sim_stats){ 0 };
}

u64 world_run(const struct world *world)
{
	static struct scenario scenario;
	struct fiber_plan plan = { .max_points = 1000000, .choose = explore_choose };

	the_world = world;
	gate_open = false;
	outcome = 0;
	memory_begin();
	scenario = (struct scenario){ .act = world_act };
	scenario.traits = (struct traits){ .map_size = 16 * 4096, .calm = world->calm };
	access_ignore(NULL, 0);
	access_ignore(&scenario, sizeof(scenario));
	access_ignore(&sim_stats, sizeof(sim_stats));
	access_ignore(&binder_stats_world, sizeof(binder_stats_world));
	access_ignore(&binder_world.last_id, sizeof(binder_world.last_id));
	fiber_begin(&plan);
	hand_over_begin(&scenario, NULL);
	scenario_begin(&scenario);
	scenario.director = fiber_new("director", 0, direct, &scenario);
	fiber_run(idle, &scenario);
	if (explore_was_pruned())
		abandon(&scenario);
	else
		scenario_check_nothing_left(&scenario);
	return outcome;
}
