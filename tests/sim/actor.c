// SPDX-License-Identifier: GPL-2.0
/*
 * What a thread does: the part of the system around a driver call (parking, waking,
 * signals, time), the reading of returns, and a life of calls, one-way calls, answers
 * and odd jobs.
 */
#include "stage.h"

static bool is_stopping(struct actor *a)
{
	return a->player->dying;
}

/* ---- one ioctl ------------------------------------------------------------------ */

/* Until it is woken, or the time or a signal ends the wait. */
static enum binder_resume_reason park(struct actor *a, const struct binder_thread *thread, u32 cmd)
{
	u64 until = 0;

	if (cmd == BINDER_FREEZE && thread->wait_timeout_ms)
		until = fiber_now_ns() + 1000 * (u64)thread->wait_timeout_ms; /* time runs */
	a->waiting = true;
	while (!a->sim.woken && !a->interrupted && !is_stopping(a)) {
		u64 now = fiber_now_ns();

		if (until && now >= until)
			break;
		fiber_wait(until ? until - now : 0);
	}
	a->waiting = false;
	if (is_stopping(a) || a->interrupted)
		return RESUME_INTERRUPTED;
	if (!a->sim.woken)
		return RESUME_TIMED_OUT;
	a->sim.woken = false;
	return RESUME_WOKEN;
}

/* What was written has been heard, though the call may go on. */
static void written(struct actor *a, u32 cmd, const void *arg)
{
	size_t consumed;

	if (cmd != BINDER_WRITE_READ || !a->writing)
		return;
	a->writing = false;
	consumed = ((const struct binder_write_read *)arg)->write_consumed;
	model_heard(a, consumed);
	memmove(a->out, a->out + consumed, a->out_len - consumed);
	a->out_len -= consumed;
}

int actor_ioctl(struct actor *a, u32 cmd, void *arg, bool nonblock)
{
	struct binder_thread *thread;
	int ret;

	if (is_stopping(a))
		return -ESHUTDOWN;
	a->inside = true;
	a->interrupted = false;
	thread = binder_thread_find_or_new(a->player->proc, a->tid, &a->sim);
	if (!thread) {
		a->inside = false;
		return -ENOMEM;
	}
	a->player->stage->calls++;
	a->sim.woken = false;
	ret = binder_ioctl(thread, cmd, arg, nonblock);
	for (;;) {
		if (ret == BINDER_RESTART && is_stopping(a))
			ret = -EINTR;
		else if (ret == BINDER_RESTART)
			ret = binder_ioctl(thread, cmd, arg, nonblock);
		else if (ret == BINDER_WOULD_BLOCK) {
			written(a, cmd, arg);
			ret = binder_resume(thread, cmd, arg, park(a, thread, cmd));
		} else {
			break;
		}
	}
	binder_thread_put(thread);
	a->inside = false;
	written(a, cmd, arg);
	return ret;
}

/* ---- commands and returns ----------------------------------------------------------- */

bool actor_say(struct actor *a, u32 bc, const void *arg)
{
	size_t size = ABI_IOC_SIZE(bc);

	if (a->out_len + sizeof(bc) + size > OUT_SIZE)
		stage_wrong("actor %u says too much at once", a->id);
	memcpy(a->out + a->out_len, &bc, sizeof(bc));
	if (size)
		memcpy(a->out + a->out_len + sizeof(bc), arg, size);
	a->out_len += sizeof(bc) + size;
	return true;
}

/* A registration for which there was no memory: the last that was heard. */
static void no_memory(struct actor *a)
{
	u32 i;

	for (i = 0; i < HANDLES; i++)
		if (a->player->handles[i].notice[DEATH] == ASKED ||
		    a->player->handles[i].notice[DEATH] == ASKING)
			a->player->confused = true;
}

static void answer(struct actor *a, u32 br, const u8 *arg)
{
	switch (br) {
	case BR_TRANSACTION:
	case BR_TRANSACTION_SEC_CTX:
	case BR_REPLY:
		parcel_take(a, br, (const void *)arg);
		break;
	case BR_TRANSACTION_COMPLETE:
	case BR_TRANSACTION_PENDING_FROZEN:
	case BR_ONEWAY_SPAM_SUSPECT:
		model_completed(a, br);
		break;
	case BR_FAILED_REPLY:
	case BR_DEAD_REPLY:
	case BR_FROZEN_REPLY:
		model_failed(a, br);
		break;
	case BR_INCREFS:
	case BR_ACQUIRE:
		actor_say(a, br == BR_ACQUIRE ? BC_ACQUIRE_DONE : BC_INCREFS_DONE, arg);
		model_object(a, br, (const void *)arg);
		break;
	case BR_RELEASE:
	case BR_DECREFS:
		model_object(a, br, (const void *)arg);
		break;
	case BR_DEAD_BINDER:
	case BR_CLEAR_DEATH_NOTIFICATION_DONE:
	case BR_FROZEN_BINDER:
	case BR_CLEAR_FREEZE_NOTIFICATION_DONE:
		model_notice(a, br, arg);
		break;
	case BR_SPAWN_LOOPER:
		actor_new(a->player, LOOPER, true);
		break;
	case BR_ERROR:
		no_memory(a);
		break;
	case BR_NOOP:
		break;
	default:
		stage_wrong("actor %u: unknown return %x", a->id, br);
	}
}

static void read_returns(struct actor *a, u64 consumed)
{
	_Alignas(8) u8 in[IN_SIZE], arg[80];
	size_t at = 0;

	memcpy(in, a->player->sim->memory + (a->area - SIM_BASE) + IN_AT, consumed);
	while (at + sizeof(u32) <= consumed && !is_stopping(a)) {
		u32 br, size;

		memcpy(&br, in + at, sizeof(br));
		size = ABI_IOC_SIZE(br);
		if (at + sizeof(br) + size > consumed || size > sizeof(arg))
			stage_wrong("actor %u: half a return", a->id);
		memcpy(arg, in + at + sizeof(br), size);
		at += sizeof(br) + size;
		answer(a, br, arg);
	}
}

/* Nobody knows what the read that failed took with it: the thread begins anew. */
static void begin_anew(struct actor *a)
{
	stage_log("actor %u begins anew", a->id);
	a->player->confused = true;
	actor_ioctl(a, BINDER_THREAD_EXIT, &(s32){ 0 }, false);
	model_forget_thread(a);
	a->entered = false;
}

/* Passes over a command that the engine does not take. */
static void skip_command(struct actor *a)
{
	u32 bc;
	size_t size;

	if (a->out_len < sizeof(bc))
		return;
	memcpy(&bc, a->out, sizeof(bc));
	size = sizeof(bc) + ABI_IOC_SIZE(bc);
	if (size > a->out_len)
		size = a->out_len;
	model_heard(a, size);
	memmove(a->out, a->out + size, a->out_len - size);
	a->out_len -= size;
}

int actor_write_read(struct actor *a, bool read, bool nonblock)
{
	size_t len = a->out_len;
	struct binder_write_read bwr = {
		.write_size = len,
		.write_buffer = a->area,
		.read_size = read ? IN_SIZE : 0,
		.read_buffer = a->area + IN_AT,
	};
	int ret;

	memcpy(a->player->sim->memory + (a->area - SIM_BASE), a->out, len);
	a->writing = true;
	ret = actor_ioctl(a, BINDER_WRITE_READ, &bwr, nonblock);
	a->writing = false;
	if (bwr.read_consumed > IN_SIZE)
		stage_wrong("actor %u: more returns than there is room", a->id);
	stage_log("actor %u: %d, wrote %llu of %zu, read %llu", a->id, ret,
		  (unsigned long long)bwr.write_consumed, len,
		  (unsigned long long)bwr.read_consumed);
	read_returns(a, bwr.read_consumed);
	if (ret == -ENOMEM || ret == -ESHUTDOWN || ret == -EINTR || ret == -EAGAIN)
		return ret;
	if (ret == -EINVAL && bwr.write_consumed < len)
		skip_command(a);
	else if (ret && (read || bwr.write_consumed == len))
		begin_anew(a); /* else the write will be tried again */
	if (ret)
		fiber_pause(500);
	return ret;
}

/* Writes what was said; an error that nobody has read yet stops that. */
static void flush(struct actor *a)
{
	actor_write_read(a, false, false);
	if (a->out_len)
		actor_write_read(a, true, true);
}

/* ---- what a thread comes to do ---------------------------------------------------------- */

static char innermost(const struct actor *a)
{
	return a->depth ? a->stack[a->depth - 1].what : 0;
}

static bool has_room(const struct actor *a)
{
	/* The last numbers are left for replies. */
	return a->out_len < OUT_SIZE / 2 && a->nr_sent < SENDS - 2 &&
	       a->player->stage->nr_messages < MESSAGES_MAX / 2;
}

static void call_somebody(struct actor *a)
{
	struct handle *h = model_use(a);

	if (!has_room(a) || a->depth + 2 > DEPTH || (!h && a->player->manager))
		return;
	parcel_send(a, CALL, h ? h->desc : 0);
}

static void send_oneway(struct actor *a)
{
	struct handle *h = model_use(a);
	u32 nr = one_in(a->player->stage, 8) ? 6 : 1;

	if (!h && a->player->manager)
		return;
	for (; nr && has_room(a); nr--)
		parcel_send(a, ONEWAY, h ? h->desc : 0);
}

static void freeze_somebody(struct actor *a)
{
	struct stage *stage = a->player->stage;
	struct player *target = fate_pick(stage, false);
	struct binder_freeze_info info = {
		.enable = stage_dice(stage, 3) > 0,
		.timeout_ms = stage_dice(stage, 3) * 20,
	};
	struct binder_frozen_status_info state = { 0 };
	bool frozen;
	u32 epoch;

	if (!target || target == a->player)
		return;
	info.pid = (u32)target->sim->pid;
	epoch = ++target->freezes;
	target->frozen = false;
	stage_log("actor %u %s player %u", a->id, info.enable ? "freezes" : "thaws", target->id);
	target->freezing++;
	frozen = !actor_ioctl(a, BINDER_FREEZE, &info, false) && info.enable;
	/* Only if nobody else was at it meanwhile. */
	target->freezing--;
	if (target->freezes++ == epoch && !target->freezing && !target->dying)
		target->frozen = frozen;
	state.pid = info.pid;
	actor_ioctl(a, BINDER_GET_FROZEN_INFO, &state, false);
}

static void look_around(struct actor *a)
{
	struct binder_node_debug_info info = { 0 };
	struct binder_node_info_for_ref ref = { .handle = 1 };
	struct binder_extended_error ee = { 0 };

	do {
		if (actor_ioctl(a, BINDER_GET_NODE_DEBUG_INFO, &info, false))
			break;
	} while (info.ptr);
	actor_ioctl(a, BINDER_GET_NODE_INFO_FOR_REF, &ref, false);
	actor_ioctl(a, BINDER_GET_EXTENDED_ERROR, &ee, false);
}

/* Only where no model is kept of it. */
static void misbehave(struct actor *a)
{
	static const u32 commands[] = { BC_ENTER_LOOPER, BC_REGISTER_LOOPER,
					BC_FREE_BUFFER, BC_INCREFS_DONE, BC_ACQUIRE_DONE,
					BC_RELEASE, BC_DECREFS, BC_DEAD_BINDER_DONE,
					BC_CLEAR_DEATH_NOTIFICATION,
					BC_CLEAR_FREEZE_NOTIFICATION,
					BC_REQUEST_FREEZE_NOTIFICATION, BC_ACQUIRE, BC_INCREFS,
					BC_REQUEST_DEATH_NOTIFICATION, BC_EXIT_LOOPER, 0x4242 };
	struct stage *stage = a->player->stage;
	u64 args[10] = { stage_dice(stage, 6), 0x1000 + 0x10 * (u64)stage_dice(stage, 5) };

	a->player->confused = true;
	if (one_in(stage, 2))
		args[0] = SIM_MAP_BASE + 8 * (u64)(stage_dice(stage, 2) * stage_dice(stage, 64));
	actor_say(a, commands[stage_dice(stage, sizeof(commands) / sizeof(commands[0]))], args);
}

static void leave_and_return(struct actor *a)
{
	if (a->depth || a->nr_sent || a->out_len)
		return;
	actor_ioctl(a, BINDER_THREAD_EXIT, &(s32){ 0 }, false);
	model_forget_thread(a);
	a->entered = false;
}

/* Something that may be done at any time. */
static void odd_job(struct actor *a)
{
	struct stage *stage = a->player->stage;
	const struct genre *g = &stage->genre;
	u32 what = stage_dice(stage, 100);

	if (what < 30)
		send_oneway(a);
	else if (what < 45)
		model_ask_notice(a);
	else if (what < 60)
		model_let_go(a);
	else if (what < 75)
		parcel_free_later(a);
	else if (what < 79)
		look_around(a);
	else if (what < 83 && g->freezes)
		freeze_somebody(a);
	else if (what < 87 && g->rude)
		misbehave(a);
	else if (what < 90)
		leave_and_return(a);
	else if (what < 92)
		actor_ioctl(a, BINDER_SET_MAX_THREADS, &(s32){ (s32)stage_dice(stage, 3) },
			    false);
	else if (what < 93)
		actor_ioctl(a, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &(u32){ 1 }, false);
	else
		fiber_pause(stage_dice(stage, 20000));
}

/* While it serves a call: answer it, or first ask others. */
static void serve(struct actor *a)
{
	struct stage *stage = a->player->stage;

	if (one_in(stage, 5))
		odd_job(a);
	if (innermost(a) != 'S' || a->nr_sent > SENDS - 2 || a->out_len > OUT_SIZE / 2) {
		flush(a);
		return;
	}
	if (a->depth < 6 && has_room(a) && one_in(stage, 4))
		call_somebody(a);
	else
		parcel_send(a, REPLY, 0);
	/* With what comes next, or by itself. */
	if (innermost(a) == 'S' || one_in(stage, 3))
		flush(a);
}

/* Waits in poll, as an event loop does, and reads without waiting. */
static void poll_and_read(struct actor *a)
{
	struct sim_proc *sim = a->player->sim;
	struct binder_thread *thread;
	bool readable;

	if (a->out_len)
		flush(a);
	if (is_stopping(a) || a->out_len)
		return;
	thread = binder_thread_find_or_new(a->player->proc, a->tid, &a->sim);
	if (!thread)
		return;
	sim->poller = a->sim.fiber;
	sim->polled = false;
	readable = binder_poll(thread);
	a->polling = true;
	while (!readable && !sim->polled && !is_stopping(a) && !a->interrupted)
		fiber_wait(0);
	a->polling = false;
	a->interrupted = false;
	binder_thread_put(thread);
	if (!is_stopping(a))
		actor_write_read(a, true, true);
}

static void enter(struct actor *a)
{
	a->entered = true;
	if (a->role == LOOPER)
		actor_say(a, a->registered ? BC_REGISTER_LOOPER : BC_ENTER_LOOPER, NULL);
	a->registered = false;
}

/* A client does its steps and leaves; others serve for ever. */
static bool live(struct actor *a)
{
	struct stage *stage = a->player->stage;

	if (!a->entered)
		enter(a);
	if (innermost(a) == 'S') {
		serve(a);
		return true;
	}
	if (!innermost(a) && stage_dice(stage, 4) == 0 && has_room(a))
		odd_job(a);
	if (!innermost(a) && a->role == CLIENT) {
		if ((!a->steps || stage->over) && !a->out_len &&
		    (!a->nr_sent || a->player->confused))
			return false;
		if (a->steps && has_room(a)) {
			a->steps--;
			call_somebody(a);
		}
	}
	if (innermost(a) == 'C' || a->role == LOOPER)
		actor_write_read(a, true, false);
	else if (a->role == POLLER)
		poll_and_read(a);
	else if (a->nr_sent)
		actor_write_read(a, true, true);
	else
		flush(a);
	return true;
}

void actor_act(struct actor *a)
{
	while (!is_stopping(a) && live(a))
		;
	if (!is_stopping(a) && one_in(a->player->stage, 2)) {
		actor_ioctl(a, BINDER_THREAD_EXIT, &(s32){ 0 }, false);
		model_forget_thread(a);
	}
}
