// SPDX-License-Identifier: GPL-2.0
/*
 * The life of one world, from its seed alone: what kind it is, who is born, and how
 * it ends.  The director is a fiber like the others; it comes when nobody else has
 * anything left to do, does something about that, and in the end has everybody die.
 */
#include "stage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool stage_verbose;

void stage_wrong(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	abort();
}

void stage_log(const char *fmt, ...)
{
	va_list args;

	if (!stage_verbose)
		return;
	va_start(args, fmt);
	fprintf(stderr, "%8llu ", (unsigned long long)fiber_now_ns());
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
}

u32 stage_dice(struct stage *stage, u32 sides)
{
	return fiber_dice(&stage->dice, sides);
}

/* ---- players -------------------------------------------------------------------- */

static void release_if_last(struct player *player)
{
	if (!player->dying || player->nr_actors || player->guests || player->released)
		return;
	player->released = true;
	stage_log("player %u is released", player->id);
	if (player->proc)
		binder_release(player->proc);
	player->proc = NULL;
}

bool player_enter(struct player *player)
{
	if (player->dying || !player->proc)
		return false;
	player->guests++;
	return true;
}

void player_leave(struct player *player)
{
	player->guests--;
	release_if_last(player);
}

void player_kill(struct player *player)
{
	u32 i;

	if (player->dying)
		return;
	stage_log("player %u is killed", player->id);
	player->dying = true;
	player->frozen = false;
	player->sim->holes = ~0ull;
	player->sim->unmapped = true;
	for (i = 0; i < player->nr_actors; i++)
		fiber_wake(player->actors[i]->sim.fiber);
	release_if_last(player);
}

static void end_actor(struct actor *a)
{
	struct player *player = a->player;
	u32 i;

	for (i = 0; player->actors[i] != a;)
		i++;
	player->actors[i] = player->actors[--player->nr_actors];
	if (player->sim->poller == a->sim.fiber)
		player->sim->poller = NULL;
	a->sim.fiber = NULL;
	release_if_last(player);
}

static void actor_main(void *arg)
{
	struct actor *a = arg;

	actor_act(a);
	end_actor(a);
}

static u32 free_slot(const struct player *player)
{
	u32 taken = 0, i;

	for (i = 0; i < player->nr_actors; i++)
		taken |= 1u << player->actors[i]->slot;
	for (i = 0; taken >> i & 1;)
		i++;
	return i;
}

static struct host_priority some_priority(struct stage *stage, bool may_rt)
{
	struct host_priority p = { 0, 0 };

	if (!stage->genre.realtime)
		return p;
	if (may_rt && one_in(stage, 3))
		return (struct host_priority){ .policy = 1, .prio = 5 };
	p.prio = (s8)((s32)stage_dice(stage, 3) * 5 - 5);
	return p;
}

static struct actor *new_actor(struct player *player, enum role role, bool registered)
{
	struct stage *stage = player->stage;
	struct actor *a = calloc(1, sizeof(*a));

	stage->actors[stage->nr_actors] = a;
	a->id = stage->nr_actors++;
	a->player = player;
	a->slot = free_slot(player);
	a->tid = player->sim->pid + (s32)player->nr_born++;
	a->area = SIM_BASE + AREA * (u64)a->slot;
	a->role = role;
	a->registered = registered;
	a->steps = 1 + stage_dice(stage, stage->genre.steps);
	a->base = a->priority = some_priority(stage, player->sim->may_rt);
	a->sim.proc = player->sim;
	a->sim.priority = &a->priority;
	player->actors[player->nr_actors++] = a;
	return a;
}

void actor_new(struct player *player, enum role role, bool registered)
{
	struct stage *stage = player->stage;
	struct actor *a;

	if (player->dying || player->nr_actors == ACTORS_MAX || stage->nr_actors == TEAMS)
		return;
	a = new_actor(player, role, registered);
	a->sim.fiber = fiber_new("actor %d", (int)a->id, actor_main, a);
}

static void become_manager(struct actor *a)
{
	struct flat_binder_object manager = {
		.hdr.type = BINDER_TYPE_BINDER,
		.flags = FLAT_BINDER_FLAG_ACCEPTS_FDS,
		.binder = object_ptr(0),
		.cookie = object_cookie(a->player, 0),
	};

	if (a->player->stage->genre.secctx)
		manager.flags |= FLAT_BINDER_FLAG_TXN_SECURITY_CTX;
	if (actor_ioctl(a, BINDER_SET_CONTEXT_MGR_EXT, &manager, false))
		return;
	/* The driver holds it, and does not say so. */
	a->player->objects[0].strong++;
	a->player->objects[0].weak++;
	a->player->stage->manager_ready = true;
}

/* Everybody holds the manager, if there ever is one. */
static void hold_manager(struct actor *a)
{
	u32 tries = 100;

	while (!a->player->stage->manager_ready && tries-- && !a->player->dying)
		fiber_pause(500);
	if (a->player->stage->manager_ready)
		model_take_manager(a);
}

/* The first thread of a player: opens the device, and calls the others. */
static void first_main(void *arg)
{
	struct actor *a = arg;
	struct player *player = a->player;
	const struct genre *g = &player->stage->genre;
	u32 tries = 0, i;

	while (!player->dying && !player->proc && tries++ < 50)
		if (binder_open(player->stage->context, player->sim, &player->proc))
			player->proc = NULL;
	if (!player->proc) {
		player->dying = true;
		end_actor(a);
		return;
	}
	if (player->manager)
		become_manager(a);
	else
		hold_manager(a);
	for (i = 1; i < g->loopers; i++)
		actor_new(player, LOOPER, false);
	for (i = 0; i < g->clients; i++)
		actor_new(player, CLIENT, false);
	if (g->pollers)
		actor_new(player, POLLER, false);
	actor_main(a);
}

struct player *player_new(struct stage *stage, bool manager)
{
	struct player *player;
	struct actor *a;

	if (stage->nr_players == PLAYERS_MAX || stage->nr_actors + ACTORS_MAX > TEAMS)
		return NULL;
	player = calloc(1, sizeof(*player));
	player->stage = stage;
	player->id = stage->nr_players;
	player->manager = manager;
	stage->last_pid += 1000;
	player->sim = sim_proc_new(stage->last_pid, 1000 + one_in(stage, 3),
				   stage->genre.map_size);
	while (sim_file_open(player->sim) < 2)
		;
	player->sim->fds_later = stage->genre.late_files && one_in(stage, 2);
	player->sim->may_rt = one_in(stage, 2);
	player->sim->secctx = stage->genre.secctx ? "u:r:player:s0" : NULL;
	player->sim->opener = some_priority(stage, false);
	stage->players[stage->nr_players++] = player;
	stage_log("player %u is born, pid %d", player->id, player->sim->pid);
	a = new_actor(player, LOOPER, false);
	a->sim.fiber = fiber_new("actor %d", (int)a->id, first_main, a);
	return player;
}

/* ---- the director ----------------------------------------------------------------- */

static bool idle(void *arg)
{
	struct stage *stage = arg;

	audit(stage);
	if (!stage->director_waits)
		return false;
	fiber_wake(stage->director);
	return true;
}

/* Until nobody else can go on. */
static void wait_idle(struct stage *stage)
{
	stage->director_waits = true;
	fiber_wait(0);
	stage->director_waits = false;
}

/* A player of the director's own, who thaws what was left frozen. */
static struct actor *own_actor(struct stage *stage)
{
	struct player *player = calloc(1, sizeof(*player));
	struct actor *a;

	stage->players[stage->nr_players++] = player;
	player->stage = stage;
	player->eternal = true;
	player->sim = sim_proc_new(100, 0, 4096);
	while (binder_open(stage->context, player->sim, &player->proc))
		;
	a = new_actor(player, CLIENT, false);
	a->sim.fiber = stage->director;
	return a;
}

static void thaw_all(struct stage *stage, struct actor *a)
{
	u32 i;

	for (i = 0; i < stage->nr_players; i++) {
		struct player *player = stage->players[i];
		struct binder_freeze_info info = { .pid = (u32)player->sim->pid };

		if (player->dying || player->eternal)
			continue;
		player->frozen = false;
		player->freezes++;
		player->freezing++;
		while (actor_ioctl(a, BINDER_FREEZE, &info, false) == -ENOMEM)
			;
		player->freezing--;
		player->freezes++;
	}
}

static void intervene(struct stage *stage, struct actor *a)
{
	struct player *player;

	thaw_all(stage, a);
	if (stage->genre.calm)
		return;
	player = fate_pick(stage, true);
	if (player && stage->genre.killings)
		player_kill(player);
	if (one_in(stage, 2))
		player_new(stage, false);
}

static void direct(void *arg)
{
	struct stage *stage = arg;
	struct actor *a = own_actor(stage);
	u32 rounds = stage_dice(stage, 4), i;

	player_new(stage, true);
	if (stage->genre.rivals)
		player_new(stage, true);
	for (i = 1; i < stage->genre.players; i++) {
		fiber_pause(stage_dice(stage, 3000));
		player_new(stage, false);
	}
	fate_begin(stage);
	for (i = 0; i < rounds; i++) {
		wait_idle(stage);
		stage_log("the director intervenes");
		intervene(stage, a);
	}
	wait_idle(stage);
	stage->over = true;
	thaw_all(stage, a);
	wait_idle(stage);
	stage_log("the end");
	for (i = 0; i < stage->nr_players; i++) {
		struct player *player = stage->players[i];

		if (player != a->player)
			player_kill(player);
		if (one_in(stage, 2))
			fiber_pause(stage_dice(stage, 2000));
	}
	wait_idle(stage);
	end_actor(a);
	player_kill(a->player);
}

/* ---- one seed ------------------------------------------------------------------------ */

static void choose_faults(struct stage *stage)
{
	struct genre *g = &stage->genre;

	if (stage_dice(stage, 3))
		return;
	g->fault = one_in(stage, 2) ? SIM_ANY : (enum sim_op)stage_dice(stage, SIM_OP_COUNT);
	g->faults_one_in = g->fault == SIM_ANY ? 40u << stage_dice(stage, 7) :
						 3u << stage_dice(stage, 5);
}

static void choose_genre(struct stage *stage)
{
	struct genre *g = &stage->genre;
	bool big = one_in(stage, 64);

	g->players = big ? 24 + stage_dice(stage, 17) : 2 + stage_dice(stage, 4);
	g->loopers = 1 + stage_dice(stage, big ? 2 : 3);
	g->clients = stage_dice(stage, 3) + !big;
	g->steps = big ? 5 : 4 + stage_dice(stage, 24);
	g->map_size = 4096 * (size_t)(one_in(stage, 3) ? 2 + stage_dice(stage, 4) :
							 16 + stage_dice(stage, 17));
	g->pollers = one_in(stage, 4);
	g->late_files = one_in(stage, 3);
	g->realtime = one_in(stage, 3);
	g->secctx = one_in(stage, 4);
	g->reclaim = one_in(stage, 2);
	g->reports = one_in(stage, 4);
	g->signals = one_in(stage, 3);
	g->scribbles = one_in(stage, 5);
	g->calm = one_in(stage, 8);
	if (g->calm) {
		g->map_size = 32 * 4096;
		g->scribbles = false;
		return;
	}
	g->pressure = one_in(stage, 10);
	if (g->pressure) {
		g->reclaim = true;
		g->map_size = 4096 * (size_t)(3 + stage_dice(stage, 4));
	}
	g->killings = one_in(stage, 2);
	g->freezes = one_in(stage, 2);
	g->holes = one_in(stage, 6);
	g->rude = one_in(stage, 6);
	g->rivals = g->rude && one_in(stage, 2);
	choose_faults(stage);
}

static void begin_engine(struct stage *stage)
{
	sim_heap_keep();
	sim_stats = (struct sim_stats){ 0 };
	binder_world_init();
	binder_world.stats = (struct binder_stats){ 0 };
	host_atomic_set(&binder_world.last_id, 0);
	sim_fail_sometimes(SIM_ANY, 0, 0);
	stage->context = binder_context_new("stage");
	if (stage->genre.faults_one_in)
		sim_fail_sometimes(stage->genre.fault, stage->genre.faults_one_in, stage->seed);
	stage->exact = !stage->genre.faults_one_in && !stage->genre.rude &&
		       (stage->genre.calm || stage_dice(stage, 4));
}

static void check_nothing_left(struct stage *stage)
{
	u32 i;

	sim_fail_sometimes(SIM_ANY, 0, 0);
	audit(stage);
	for (i = 0; i < stage->nr_players; i++) {
		sim_proc_free(stage->players[i]->sim);
		free(stage->players[i]);
	}
	for (i = 0; i < stage->nr_actors; i++)
		free(stage->actors[i]);
	binder_context_put(stage->context);
	if (sim_stats.allocs || sim_stats.files || sim_stats.secctxs)
		stage_wrong("left over: %u pieces of memory, %u files, %u security contexts",
			    sim_stats.allocs, sim_stats.files, sim_stats.secctxs);
	sim_heap_check();
}

u64 stage_play(u64 seed, struct stage *stage)
{
	struct fiber_plan plan = { .max_points = 20 * 1000 * 1000 };

	*stage = (struct stage){ .seed = seed, .dice = seed * 0x9e3779b97f4a7c15 };
	choose_genre(stage);
	plan.seed = fiber_next(&stage->dice);
	plan.policy = (enum fiber_policy)stage_dice(stage, FIBER_POLICIES);
	plan.switch_one_in = 1u << stage_dice(stage, 8);
	if (plan.policy == FIBER_RANKS)
		plan.switch_one_in *= 4;
	if (stage->genre.pressure) { /* the moments in question are short */
		plan.policy = FIBER_DICE;
		plan.switch_one_in = 2;
	}
	fiber_begin(&plan);
	begin_engine(stage);
	stage->director = fiber_new("director", 0, direct, stage);
	fiber_run(idle, stage);
	check_nothing_left(stage);
	return fiber_trace() ^ fiber_points() ^ stage->calls << 32;
}
