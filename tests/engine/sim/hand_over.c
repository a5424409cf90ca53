// SPDX-License-Identifier: GPL-2.0
/*
 * The engine is handed over as from one daemon to the next: written, destroyed with all of its
 * memory, and restored, while the simulated processes, their memory and their files stay.
 *
 * Most hand-overs wait for a moment when no fiber is inside the engine, and must not be noticed by
 * anything: the run goes on as it does without them, to the last scheduling point. The others leave
 * behind the calls that are in an operation on the memory or the files of a client, as the daemon
 * does with a call that does not come to rest in time. Such a call fails with -ECONNREFUSED, and
 * the model of its process is unreliable from then on; that of the others is not.
 */
#include "scenario.h"
#include "calls/transaction.h"
#include "state.h"

#include <stdio.h>
#include <stdlib.h>

/* Scheduling points after which no more calls are waited for that could be left behind. */
#define PATIENCE 20000

static struct scenario *running;

static void write_all(struct binder_state *state)
{
	if (binder_state_write(BINDER_STATE_VERSION, state))
		scenario_fail("hand-over: the state is not written");
	sim_state_keep(state);
}

/* ---- memory for the next ---------------------------------------------------------------- */

/*
 * Structs that the engine keeps for the next call are not handed over, nor how many handles there
 * is room for. Here that is allocated again, since without it the next call would pass other
 * scheduling points.
 */
enum { SPARE_COMPLETION = 1, SPARE_TRANSACTION = 2, SPARE_BUFFER = 4 };
static u8 spares[PROCESSES_MAX + ACTORS_TOTAL];
static u32 rooms[PROCESSES_MAX];

static void spares_of(struct binder_thread *thread, u8 *spare)
{
	*spare = (thread->spare ? SPARE_COMPLETION : 0) |
		 (thread->spare_transaction ? SPARE_TRANSACTION : 0);
}

static void give_spares(struct binder_thread *thread, u8 *spare)
{
	const struct host_proc *owner = &thread->proc->host;

	if (*spare & SPARE_COMPLETION)
		thread->spare = host_alloc(owner, sizeof(*thread->spare));
	if (*spare & SPARE_TRANSACTION)
		thread->spare_transaction = host_alloc(owner, sizeof(*thread->spare_transaction));
}

static void give_room(struct binder_proc *proc, u32 bits)
{
	size_t size = bm_words(bits) * sizeof(u64);

	if (bits > proc->descs.nbits)
		host_free(bm_grow(&proc->descs, host_alloc(&proc->host, size), bits));
}

static void visit_spares(void (*visit)(struct binder_thread *thread, u8 *spare), bool give)
{
	struct binder_proc *proc;
	u32 *room = rooms;
	u8 *spare = spares;
	struct bt_node *n;

	bl_for_each (proc, &binder_world.procs, world_link) {
		if (give)
			give_room(proc, *room++);
		else
			*room++ = proc->descs.nbits;
		if (!give)
			*spare = proc->alloc.spare ? SPARE_BUFFER : 0;
		else if (*spare)
			proc->alloc.spare = host_alloc(&proc->host, sizeof(*proc->alloc.spare));
		spare++;
		bt_for_each (n, &proc->threads)
			visit(bt_entry(n, struct binder_thread, by_tid), spare++);
	}
}

/* ---- the old world ------------------------------------------------------------------- */

static struct sim_thread *find_thread(struct sim_proc *sim, s32 tid)
{
	u32 i;

	for (i = 0; i < running->nr_actors; i++)
		if (running->actors[i]->process->sim == sim && running->actors[i]->tid == tid)
			return &running->actors[i]->sim;
	return NULL;
}

static void leave_behind(struct scenario *scenario)
{
	u32 i;

	for (i = 0; i < scenario->nr_actors; i++) {
		struct actor *a = scenario->actors[i];

		if (!a->in_engine)
			continue;
		scenario_log("actor %u is left behind in %s", a->id, fiber_sleeps_in(a->sim.fiber));
		fiber_leave_behind(a->sim.fiber);
		a->in_engine = false;
		a->inside = false;
		a->thread = NULL;
		a->process->confused = true;
		scenario->hand_overs.left++;
	}
	scenario->inside = 0;
	scenario->exact = false;
	scenario->traits.calm = false;
}

/* ---- the new one ----------------------------------------------------------------------- */

static void relink(struct scenario *scenario)
{
	u32 i;

	for (i = 0; i < scenario->nr_processes; i++) {
		struct process *process = scenario->processes[i];

		if (!process->proc)
			continue;
		if (!process->sim->restored)
			scenario_fail("hand-over: process %u is lost", i);
		process->proc = binder_proc_of_host(process->sim->restored);
	}
	for (i = 0; i < scenario->nr_actors; i++) {
		struct actor *a = scenario->actors[i];

		if (!a->thread)
			continue;
		a->thread = binder_thread_find(a->process->proc, a->tid);
		if (!a->thread)
			scenario_fail("hand-over: the thread of actor %u is lost", a->id);
		binder_thread_get(a->thread);
	}
}

static void restore(struct scenario *scenario, const struct binder_state *from, bool quiet)
{
	struct host_out why = { NULL };
	struct binder_state again;

	scenario->context = sim_device;
	if (binder_state_restore(from->bytes, from->size, &why))
		scenario_fail("hand-over: refused: %s", why.text);
	if (quiet && scenario->hand_overs.compare) {
		write_all(&again);
		if (again.size != from->size || memcmp(again.bytes, from->bytes, from->size))
			scenario_fail("hand-over: the restored state is not the one that was "
				      "written (%zu, %zu bytes)",
				      from->size, again.size);
		free(again.bytes);
	}
	sim_state_forget();
	binder_state_settle();
	relink(scenario);
}

static void hand_over(void *arg)
{
	struct scenario *scenario = arg;
	bool quiet = !scenario->inside;
	u32 allocs = sim_stats.allocs;
	struct binder_state state;

	scenario_log("the engine is handed over");
	running = scenario;
	sim_never_fails = true;
	sim_device = scenario->context;
	sim_thread_of = find_thread;
	if (quiet)
		audit(scenario, false);
	else
		leave_behind(scenario);
	write_all(&state);
	visit_spares(spares_of, false);
	sim_state_drop();
	restore(scenario, &state, quiet);
	free(state.bytes);
	if (quiet)
		visit_spares(give_spares, true);
	if (quiet && scenario->hand_overs.compare && sim_stats.allocs != allocs)
		scenario_fail("hand-over: of %u allocations %u are there again", allocs,
			      sim_stats.allocs);
	audit(scenario, false);
	sim_never_fails = false;
	scenario->hand_overs.done++;
	scenario->hand_overs.bytes += state.size;
}

/* ---- when -------------------------------------------------------------------------------- */

static bool is_due(const struct scenario *scenario)
{
	const struct hand_overs *h = &scenario->hand_overs;

	return h->always || (h->done < h->nr && fiber_points() >= h->at[h->done]);
}

/* Whether @a is in an operation that depends on its client, and takes as long as that wants. */
static bool may_be_left(const struct actor *a)
{
	static const char *const operations[] = { "host_read_caller", "host_write_caller",
						  "host_map_copy",    "host_file_get",
						  "host_files_install", "host_fds_close" };
	const char *in = a->in_engine ? fiber_sleeps_in(a->sim.fiber) : NULL;
	u32 i;

	for (i = 0; in && i < sizeof(operations) / sizeof(operations[0]); i++)
		if (!strcmp(in, operations[i]))
			return true;
	return false;
}

/* Every call that is inside can be left behind. */
static bool can_leave(const struct scenario *scenario)
{
	u32 nr = 0, i;

	for (i = 0; i < scenario->nr_actors; i++)
		nr += may_be_left(scenario->actors[i]);
	return nr == scenario->inside;
}

static void at_sleep(void)
{
	struct scenario *scenario = running;

	if (is_due(scenario) && can_leave(scenario))
		fiber_outside(hand_over, scenario);
}

void engine_enter(struct scenario *scenario, struct actor *a)
{
	scenario->inside++;
	if (a)
		a->in_engine = true;
}

void hand_over_if_due(struct scenario *scenario)
{
	const struct hand_overs *h = &scenario->hand_overs;

	if (!scenario->inside && is_due(scenario) &&
	    (!h->leaves || fiber_points() >= h->at[h->done] + PATIENCE))
		fiber_outside(hand_over, scenario);
}

void engine_leave(struct scenario *scenario, struct actor *a)
{
	scenario->inside--;
	if (a)
		a->in_engine = false;
	hand_over_if_due(scenario);
}

void hand_over_begin(struct scenario *scenario, const struct hand_overs *plan)
{
	static const struct hand_overs none;

	running = scenario;
	scenario->hand_overs = plan ? *plan : none;
	fiber_at_sleep = scenario->hand_overs.leaves ? at_sleep : NULL;
}
