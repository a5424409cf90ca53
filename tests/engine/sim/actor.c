// SPDX-License-Identifier: GPL-2.0
/*
 * What a thread does: the part of the system around a driver call (parking, waking, signals,
 * time), the reading of returns, and a random sequence of calls, one-way calls, replies and other
 * operations.
 */
#include "scenario.h"

static bool is_stopping(struct actor *a)
{
	return a->process->dying;
}

/* ---- one ioctl ------------------------------------------------------------------ */

/* Waits until the thread is woken, the time is up or a signal arrives. */
static enum binder_resume_reason park(struct actor *a, u32 cmd)
{
	u64 until = 0;

	if (cmd == BINDER_FREEZE && a->thread->wait_timeout_ms)
		until = fiber_now_ns() + 1000 * (u64)a->thread->wait_timeout_ms;
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

/* The engine has consumed the commands, though the call may go on. */
static void written(struct actor *a, u32 cmd, const void *arg)
{
	size_t consumed;

	if (cmd != BINDER_WRITE_READ || !a->writing)
		return;
	a->writing = false;
	consumed = ((const struct binder_write_read *)arg)->write_consumed;
	model_consumed(a, consumed);
	memmove(a->out, a->out + consumed, a->out_len - consumed);
	a->out_len -= consumed;
}

/* How a call goes on. */
enum step { FIRST_STEP, RESUME_STEP };

struct step_args {
	u32 cmd;
	void *arg;
	bool nonblock;
	enum binder_resume_reason reason;
};

static void drop_thread(struct actor *a)
{
	binder_thread_put(a->thread);
	a->thread = NULL;
	a->inside = false;
}

/*
 * One run of the engine; its last one includes the end of the reference to the thread, which may
 * have exited. -ECONNREFUSED: the call was left behind in it.
 */
static int step(struct actor *a, enum step what, const struct step_args *s)
{
	struct scenario *scenario = a->process->scenario;
	jmp_buf escape;
	int ret;

	engine_enter(scenario, a);
	if (setjmp(escape)) /* it was taken out of the engine by the hand-over */
		return -ECONNREFUSED;
	if (s->cmd == BINDER_WRITE_READ)
		fiber_set_escape(&escape);
	if (what == FIRST_STEP)
		ret = binder_ioctl(a->thread, s->cmd, s->arg, s->nonblock);
	else
		ret = binder_resume(a->thread, s->cmd, s->arg, s->reason);
	fiber_set_escape(NULL);
	if (ret != BINDER_WOULD_BLOCK && ret != BINDER_AGAIN && ret != BINDER_RESTART)
		drop_thread(a);
	engine_leave(scenario, a);
	return ret;
}

/* Takes the reference of a call to its thread; false: there is no memory. */
static bool begin_call(struct actor *a)
{
	struct scenario *scenario = a->process->scenario;

	engine_enter(scenario, NULL);
	a->thread = binder_thread_find_or_new(a->process->proc, a->tid, &a->sim);
	a->inside = a->thread;
	engine_leave(scenario, NULL);
	return a->thread;
}

/* Drops it, where the engine did not end the call. */
static void end_call(struct actor *a)
{
	struct scenario *scenario = a->process->scenario;

	if (!a->thread)
		return;
	engine_enter(scenario, NULL);
	drop_thread(a);
	engine_leave(scenario, NULL);
}

static void note_result(struct actor *a, u32 cmd, const void *arg, int ret)
{
	actor_note(a, &ret, sizeof(ret));
	actor_note(a, &a->priority, sizeof(a->priority));
	actor_note(a, arg, ABI_IOC_SIZE(cmd));
}

int actor_ioctl(struct actor *a, u32 cmd, void *arg, bool nonblock)
{
	struct step_args s = { .cmd = cmd, .arg = arg, .nonblock = nonblock };
	int ret;

	if (is_stopping(a))
		return -ESHUTDOWN;
	a->interrupted = false;
	if (!begin_call(a))
		return -ENOMEM;
	a->process->scenario->calls++;
	a->sim.woken = false;
	ret = step(a, FIRST_STEP, &s);
	for (;;) {
		if (ret == BINDER_RESTART && is_stopping(a))
			ret = -EINTR;
		else if (ret == BINDER_RESTART)
			ret = step(a, FIRST_STEP, &s);
		else if (ret == BINDER_AGAIN) {
			fiber_pause(5000); /* other calls come first */
			s.reason = is_stopping(a) ? RESUME_INTERRUPTED : RESUME_WOKEN;
			ret = step(a, RESUME_STEP, &s);
		} else if (ret == BINDER_WOULD_BLOCK) {
			written(a, cmd, arg);
			s.reason = park(a, cmd);
			ret = step(a, RESUME_STEP, &s);
		} else {
			break;
		}
	}
	if (ret == -ECONNREFUSED)
		return ret;
	end_call(a);
	note_result(a, cmd, arg, ret);
	written(a, cmd, arg);
	return ret;
}

/* ---- commands and returns ----------------------------------------------------------- */

bool actor_put(struct actor *a, u32 bc, const void *arg)
{
	size_t size = ABI_IOC_SIZE(bc);

	if (a->out_len + sizeof(bc) + size > OUT_SIZE)
		scenario_fail("actor %u queues too many commands", a->id);
	memcpy(a->out + a->out_len, &bc, sizeof(bc));
	if (size)
		memcpy(a->out + a->out_len + sizeof(bc), arg, size);
	a->out_len += sizeof(bc) + size;
	return true;
}

/* A registration for which there was no memory: the last one that was consumed. */
static void no_memory(struct actor *a)
{
	u32 i;

	for (i = 0; i < HANDLES; i++)
		if (a->process->handles[i].notice[DEATH] == REQUESTED ||
		    a->process->handles[i].notice[DEATH] == REQUESTING)
			a->process->confused = true;
}

static void answer(struct actor *a, u32 br, const u8 *arg)
{
	switch (br) {
	case BR_TRANSACTION:
	case BR_TRANSACTION_SEC_CTX:
	case BR_REPLY:
		parcel_receive(a, br, (const void *)arg);
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
		actor_put(a, br == BR_ACQUIRE ? BC_ACQUIRE_DONE : BC_INCREFS_DONE, arg);
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
		actor_new(a->process, LOOPER, true);
		break;
	case BR_ERROR:
		no_memory(a);
		break;
	case BR_NOOP:
		break;
	default:
		scenario_fail("actor %u: unknown return %x", a->id, br);
	}
}

static void read_returns(struct actor *a, u64 consumed)
{
	_Alignas(8) u8 in[IN_SIZE], arg[80];
	size_t at = 0;

	memcpy(in, a->process->sim->memory + (a->area - SIM_BASE) + IN_AT, consumed);
	actor_note(a, in, consumed);
	while (at + sizeof(u32) <= consumed && !is_stopping(a)) {
		u32 br, size;

		memcpy(&br, in + at, sizeof(br));
		size = ABI_IOC_SIZE(br);
		if (at + sizeof(br) + size > consumed || size > sizeof(arg))
			scenario_fail("actor %u: half a return", a->id);
		memcpy(arg, in + at + sizeof(br), size);
		at += sizeof(br) + size;
		answer(a, br, arg);
	}
}

void actor_exit_thread(struct actor *a)
{
	actor_ioctl(a, BINDER_THREAD_EXIT, &(s32){ 0 }, false);
	model_forget_thread(a);
}

/* What the failed read consumed is unknown: the thread exits the driver and starts again. */
static void restart_thread(struct actor *a)
{
	scenario_log("actor %u exits the driver and starts again", a->id);
	a->process->confused = true;
	actor_exit_thread(a);
	a->entered = false;
}

/* It is not known which commands were consumed, and what was returned is lost. */
static void was_left_behind(struct actor *a)
{
	scenario_log("actor %u was left behind", a->id);
	model_consumed(a, a->out_len);
	a->out_len = 0;
	restart_thread(a);
}

/* Skips a command that the engine refuses. */
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
	model_consumed(a, size);
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

	memcpy(a->process->sim->memory + (a->area - SIM_BASE), a->out, len);
	a->writing = true;
	ret = actor_ioctl(a, BINDER_WRITE_READ, &bwr, nonblock);
	a->writing = false;
	if (ret == -ECONNREFUSED) {
		was_left_behind(a);
		return ret;
	}
	if (bwr.read_consumed > IN_SIZE)
		scenario_fail("actor %u: more returns than there is room", a->id);
	scenario_log("actor %u: %d, wrote %llu of %zu, read %llu", a->id, ret,
		     (unsigned long long)bwr.write_consumed, len,
		     (unsigned long long)bwr.read_consumed);
	if ((ret == -EAGAIN || ret == -EINTR) && bwr.write_consumed == len)
		model_not_read(a);
	read_returns(a, bwr.read_consumed);
	if (ret == -ENOMEM || ret == -ESHUTDOWN || ret == -EINTR || ret == -EAGAIN)
		return ret;
	if (ret == -EINVAL && bwr.write_consumed < len)
		skip_command(a);
	else if (ret && (read || bwr.write_consumed == len))
		restart_thread(a); /* otherwise the write is tried again */
	if (ret)
		fiber_pause(500);
	return ret;
}

void actor_flush(struct actor *a)
{
	actor_write_read(a, false, false);
	if (a->out_len)
		actor_write_read(a, true, true);
}

/* ---- operations -------------------------------------------------------------------------- */

char actor_innermost(const struct actor *a)
{
	return a->depth ? a->stack[a->depth - 1].what : 0;
}

static bool has_room(const struct actor *a)
{
	/* The last entries are kept for replies. */
	return a->out_len < OUT_SIZE / 2 && a->nr_sent < SENDS - 2 &&
	       a->process->scenario->nr_messages < MESSAGES_MAX / 2;
}

void actor_send_call(struct actor *a)
{
	struct handle *h = model_use(a);

	if (!has_room(a) || a->depth + 2 > DEPTH || (!h && a->process->manager))
		return;
	parcel_send(a, CALL, h ? h->desc : 0);
}

void actor_send_oneway(struct actor *a)
{
	struct handle *h = model_use(a);
	u32 nr = one_in(a->process->scenario, 8) ? 6 : 1;

	if (!h && a->process->manager)
		return;
	for (; nr && has_room(a); nr--)
		parcel_send(a, ONEWAY, h ? h->desc : 0);
}

static void freeze_process(struct actor *a)
{
	struct scenario *scenario = a->process->scenario;
	struct process *target = pick_process(scenario, false);
	bool enable = scenario_random(scenario, 3) > 0;
	u32 timeout_ms = scenario_random(scenario, 3) * 20;

	if (target && target != a->process)
		actor_freeze(a, target, enable, timeout_ms);
}

static void query_nodes(struct actor *a)
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

/* Only where the model does not track the process. */
static void misbehave(struct actor *a)
{
	static const u32 commands[] = { BC_ENTER_LOOPER,
					BC_REGISTER_LOOPER,
					BC_FREE_BUFFER,
					BC_INCREFS_DONE,
					BC_ACQUIRE_DONE,
					BC_RELEASE,
					BC_DECREFS,
					BC_DEAD_BINDER_DONE,
					BC_CLEAR_DEATH_NOTIFICATION,
					BC_CLEAR_FREEZE_NOTIFICATION,
					BC_REQUEST_FREEZE_NOTIFICATION,
					BC_ACQUIRE,
					BC_INCREFS,
					BC_REQUEST_DEATH_NOTIFICATION,
					BC_EXIT_LOOPER,
					0x4242 };
	struct scenario *scenario = a->process->scenario;
	u64 args[10] = { scenario_random(scenario, 6),
			 0x1000 + 0x10 * (u64)scenario_random(scenario, 5) };

	a->process->confused = true;
	if (one_in(scenario, 2))
		args[0] = SIM_MAP_BASE +
			  8 * (u64)(scenario_random(scenario, 2) * scenario_random(scenario, 64));
	actor_put(a, commands[scenario_random(scenario, sizeof(commands) / sizeof(commands[0]))],
		  args);
}

/* Makes the next write too long for one slice, by commands without effect. */
static void lengthen(struct actor *a)
{
	u32 i;

	for (i = 0; has_room(a) && i <= BINDER_SLICE_COST / BINDER_FREE_COST; i++)
		actor_put(a, BC_FREE_BUFFER, &(u64){ 8 });
}

static void leave_and_return(struct actor *a)
{
	if (a->depth || a->nr_sent || a->out_len)
		return;
	actor_exit_thread(a);
	a->entered = false;
}

/* An operation that is possible at any time. */
static void do_other(struct actor *a)
{
	struct scenario *scenario = a->process->scenario;
	const struct traits *g = &scenario->traits;
	u32 what = scenario_random(scenario, 100);

	if (what < 30)
		actor_send_oneway(a);
	else if (what < 45)
		model_request_notice(a);
	else if (what < 60)
		model_release(a);
	else if (what < 75)
		parcel_free_later(a);
	else if (what < 79)
		query_nodes(a);
	else if (what < 83 && g->freezes)
		freeze_process(a);
	else if (what < 87 && g->misbehaves)
		misbehave(a);
	else if (what < 90)
		leave_and_return(a);
	else if (what < 92)
		actor_ioctl(a, BINDER_SET_MAX_THREADS, &(s32){ (s32)scenario_random(scenario, 3) },
			    false);
	else if (what < 93)
		actor_ioctl(a, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &(u32){ 1 }, false);
	else if (what < 94)
		lengthen(a);
	else
		fiber_pause(scenario_random(scenario, 20000));
}

/* While it serves a call: reply, or first call another process. */
static void serve(struct actor *a)
{
	struct scenario *scenario = a->process->scenario;

	if (one_in(scenario, 5))
		do_other(a);
	if (actor_innermost(a) != 'S' || a->nr_sent > SENDS - 2 || a->out_len > OUT_SIZE / 2) {
		actor_flush(a);
		return;
	}
	if (a->depth < 6 && has_room(a) && one_in(scenario, 4))
		actor_send_call(a);
	else
		parcel_send(a, REPLY, 0);
	/* Write it with the next commands, or alone. */
	if (actor_innermost(a) == 'S' || one_in(scenario, 3))
		actor_flush(a);
}

/* Waits in poll, as an event loop does, and reads without waiting. */
static void poll_and_read(struct actor *a)
{
	struct sim_proc *sim = a->process->sim;
	bool readable;

	if (a->out_len)
		actor_flush(a);
	if (is_stopping(a) || a->out_len)
		return;
	if (!begin_call(a))
		return;
	sim->poller = a->sim.fiber;
	sim->polled = false;
	engine_enter(a->process->scenario, NULL);
	readable = binder_poll(a->thread);
	a->polling = true;
	engine_leave(a->process->scenario, NULL);
	while (!readable && !sim->polled && !is_stopping(a) && !a->interrupted)
		fiber_wait(0);
	a->polling = false;
	a->interrupted = false;
	end_call(a);
	if (!is_stopping(a))
		actor_write_read(a, true, true);
}

static void enter(struct actor *a)
{
	a->entered = true;
	if (a->role == LOOPER)
		actor_put(a, a->registered ? BC_REGISTER_LOOPER : BC_ENTER_LOOPER, NULL);
	a->registered = false;
}

/* A client makes its steps and exits; the others serve until they are killed. */
static bool live(struct actor *a)
{
	struct scenario *scenario = a->process->scenario;

	if (!a->entered)
		enter(a);
	if (actor_innermost(a) == 'S') {
		serve(a);
		return true;
	}
	if (!actor_innermost(a) && scenario_random(scenario, 4) == 0 && has_room(a))
		do_other(a);
	if (!actor_innermost(a) && a->role == CLIENT) {
		if ((!a->steps || scenario->over) && !a->out_len &&
		    (!a->nr_sent || a->process->confused))
			return false;
		if (a->steps && has_room(a)) {
			a->steps--;
			actor_send_call(a);
		}
	}
	if (actor_innermost(a) == 'C' || a->role == LOOPER)
		actor_write_read(a, true, false);
	else if (a->role == POLLER)
		poll_and_read(a);
	else if (a->nr_sent)
		actor_write_read(a, true, true);
	else
		actor_flush(a);
	return true;
}

void actor_run(struct actor *a)
{
	if (a->process->scenario->act) {
		a->process->scenario->act(a);
		return;
	}
	while (!is_stopping(a) && live(a))
		;
	if (!is_stopping(a) && one_in(a->process->scenario, 2))
		actor_exit_thread(a);
}
