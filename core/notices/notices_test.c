// SPDX-License-Identifier: GPL-2.0
/* Death and freeze notices; the conformance suite has the other rules. */
#include "pair.h"
#include "check.h"

/* ---- death.c: the bound of death requests ---------------------------------------------------- */

#define DEATH_COOKIE 0x5151

/* The client acquires handle 0 and requests a death notification. */
static void request(struct pair *p)
{
	struct binder_handle_cookie arg = { .handle = 0, .cookie = DEATH_COOKIE };

	world_command(p->c, BC_ENTER_LOOPER, NULL);
	world_command(p->c, BC_ACQUIRE, &arg.handle);
	world_command(p->c, BC_REQUEST_DEATH_NOTIFICATION, &arg);
	CHECK(world_write_read(p->c, false) == 0);
}

/* Notices that are requested and cleared, but never read, do not accumulate without limit. */
PAIR_TEST(death_requests_are_limited)
{
	struct binder_handle_cookie arg = { .handle = 0, .cookie = DEATH_COOKIE };
	u32 nr;

	request(p);
	for (nr = 0; nr < BINDER_MAX_NOTICES + 10; nr++) {
		world_command(p->c, BC_CLEAR_DEATH_NOTIFICATION, &arg);
		world_command(p->c, BC_REQUEST_DEATH_NOTIFICATION, &arg);
		REQUIRE(world_write_read(p->c, false) == 0);
		if (p->c->arg.bwr.write_consumed < p->c->arg.bwr.write_size)
			break; /* at the limit: an error is queued */
	}
	CHECK(sim_stats.allocs < BINDER_MAX_NOTICES + 100);
	while (world_write_read(p->c, true) == 0) {
		u32 br = world_next(p->c, NULL);

		if (br == BR_ERROR)
			break;
		if (!CHECK(br == BR_CLEAR_DEATH_NOTIFICATION_DONE))
			break;
		while (world_next(p->c, NULL) == BR_CLEAR_DEATH_NOTIFICATION_DONE)
			;
	}
}

/* ---- freeze.c: what finds that a field is lost in a hand-over, and permissions --------------- */

#define FREEZE_COOKIE 0x6262

static int freeze(struct pair *p, bool enable, u32 timeout_ms)
{
	struct binder_freeze_info info = {
		.pid = (u32)p->server->sim->pid,
		.enable = enable,
		.timeout_ms = timeout_ms,
	};

	return world_ioctl(p->c, BINDER_FREEZE, &info);
}

static u32 sync_recv(struct pair *p)
{
	struct binder_frozen_status_info info = { .pid = (u32)p->server->sim->pid };

	CHECK(world_ioctl(p->c, BINDER_GET_FROZEN_INFO, &info) == 0);
	return info.sync_recv;
}

PAIR_TEST(freeze_refuses_calls)
{
	CHECK(freeze(p, true, 0) == 0);
	CHECK(sync_recv(p) == 0);
	CHECK(pair_call(p, 0, 1, 0, "x") == 0);
	CHECK(pair_expect(p->c, BR_FROZEN_REPLY, NULL));
	CHECK(sync_recv(p) & 1);
	CHECK(freeze(p, false, 0) == 0);
	CHECK(pair_call(p, 0, 1, 0, "x") == BINDER_WOULD_BLOCK);
}

PAIR_TEST(freeze_queues_oneway_calls)
{
	struct binder_frozen_status_info info = { 0 };
	struct binder_transaction_data tr;

	info.pid = (u32)p->server->sim->pid;
	CHECK(freeze(p, true, 0) == 0);
	CHECK(pair_call(p, 0, 9, TF_ONE_WAY, "x") == 0);
	CHECK(pair_expect(p->c, BR_TRANSACTION_PENDING_FROZEN, NULL));
	CHECK(world_ioctl(p->c, BINDER_GET_FROZEN_INFO, &info) == 0 && info.async_recv);
	world_run(&p->w);
	/* It can be read: the system has to stop the threads of a frozen process. */
	CHECK(pair_expect(p->s, BR_TRANSACTION, &tr) && tr.code == 9);
	CHECK(freeze(p, false, 0) == 0);
}

/* Two opens of one process: the older one is frozen once the newer one has served its call. */
PAIR_TEST(freeze_of_two_opens)
{
	struct binder_freeze_info info = { .enable = 1, .timeout_ms = 100 };
	struct world_call call = { 0 };
	struct world_thread *t;

	call.handle = pair_send_object(p, 0x10, 0x18);
	t = world_thread(world_proc(&p->w));
	p->server->proc->pid = p->server->sim->pid = p->client->sim->pid;
	info.pid = (u32)p->client->sim->pid;
	world_resume(p->s, RESUME_INTERRUPTED);
	world_call(p->s, &call);
	CHECK(world_write_read(p->s, true) == BINDER_WOULD_BLOCK);
	while (world_poll_read(p->c) == 0)
		; /* it receives the call */
	CHECK(world_ioctl(t, BINDER_FREEZE, &info) == BINDER_WOULD_BLOCK);
	CHECK(!p->server->proc->is_frozen);
	world_reply(p->c, &(struct world_call){ .code = 0 });
	world_write_read(p->c, false);
	world_run(&p->w);
	CHECK(!t->parked && t->result == 0);
	CHECK(p->client->proc->is_frozen && p->server->proc->is_frozen);
}

static int set_frozen_by(struct world_thread *by, struct world_proc *target, bool enable)
{
	struct binder_freeze_info info = { .pid = (u32)target->sim->pid, .enable = enable };

	return world_ioctl(by, BINDER_FREEZE, &info);
}

PAIR_TEST(freeze_needs_permission)
{
	p->client->sim->may_not_freeze = true;
	p->server->sim->may_not_freeze = true;
	CHECK(set_frozen_by(p->c, p->server, true) == -EPERM);
	CHECK(pair_call(p, 0, 1, 0, "not frozen") == BINDER_WOULD_BLOCK);
	world_run(&p->w);
	pair_reply(p, "not frozen");
	CHECK(set_frozen_by(p->c, p->client, true) == 0);

	/* The server manages the client's device. */
	p->s = world_thread(p->server);
	CHECK(set_frozen_by(p->s, p->client, false) == 0);
	CHECK(set_frozen_by(p->s, p->client, true) == 0);
	p->client->sim->may_not_freeze = false;
	CHECK(set_frozen_by(p->c, p->server, true) == 0);
	p->client->sim->may_not_freeze = true;
	CHECK(set_frozen_by(p->c, p->server, false) == -EPERM);
}

/* Reads a freeze notification of the client and acknowledges it; false: not as expected. */
static bool read_notification(struct pair *p, u32 is_frozen)
{
	struct binder_frozen_state_info info;

	if (!pair_expect(p->c, BR_FROZEN_BINDER, &info) || info.cookie != FREEZE_COOKIE ||
	    info.is_frozen != is_frozen)
		return false;
	world_command(p->c, BC_FREEZE_NOTIFICATION_DONE, &info.cookie);
	return world_write_read(p->c, false) == 0;
}

/* Requests freeze notifications and reads the first one, without acknowledging it. */
static void request_and_read(struct pair *p)
{
	struct binder_handle_cookie arg = { .handle = 0, .cookie = FREEZE_COOKIE };
	struct binder_frozen_state_info info;

	world_command(p->c, BC_ACQUIRE, &arg.handle);
	world_command(p->c, BC_ENTER_LOOPER, NULL);
	world_command(p->c, BC_REQUEST_FREEZE_NOTIFICATION, &arg);
	CHECK(world_write_read(p->c, true) == 0);
	CHECK(pair_expect(p->c, BR_FROZEN_BINDER, &info) && !info.is_frozen);
}

PAIR_TEST(freeze_changes_before_it_is_acknowledged)
{
	u64 cookie = FREEZE_COOKIE;

	request_and_read(p);
	CHECK(freeze(p, true, 0) == 0);
	CHECK(freeze(p, false, 0) == 0);
	CHECK(freeze(p, true, 0) == 0);
	CHECK(world_poll_read(p->c) == -EAGAIN);
	world_command(p->c, BC_FREEZE_NOTIFICATION_DONE, &cookie);
	CHECK(world_write_read(p->c, true) == 0);
	CHECK(read_notification(p, 1)); /* the present state, once */
	CHECK(world_poll_read(p->c) == -EAGAIN);
}
