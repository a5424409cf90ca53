// SPDX-License-Identifier: GPL-2.0
/*
 * Returns are taken one at a time from the buffer of the last read. What every thread must handle
 * (references, deaths, calls) is handled here; what ends a wait is returned. A call that is served
 * during a wait may wait itself: then the inner wait reads on in the same buffer.
 */
#include "test.h"
#include "worker.h"

#include <string.h>

enum wait { FOR_REPLY, FOR_COMPLETE, FOR_CALLS };

void opened_begin(struct opened *opened)
{
	int err = port_open(&opened->port, test_device(), (struct port_options){ 0 });

	if (err)
		FAIL("%s: %s", test_device(), test_errno_name(-err));
}

void worker_init(struct worker *worker, struct opened *opened, uint32_t which)
{
	worker->opened = opened;
	looper_init(&worker->looper, &opened->port);
	worker->random = (storm->seed << 32) + member_index(opened->me) * 8 + which;
	worker->seq = which << 24;
	worker->quit = false;
}

/* splitmix64 */
uint32_t worker_random(struct worker *worker, uint32_t limit)
{
	uint64_t z = worker->random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ (z >> 31)) >> 32) % limit;
}

/* ---- commands ---- */

static void count(struct worker *worker, uint32_t id, bool returned)
{
	struct tally *tally = &worker->opened->me->tally;
	_Atomic uint32_t *counts = returned ? tally->returns : tally->commands;

	EXPECT(_IOC_NR(id) < NR_NUMBERS);
	atomic_store_explicit(&tally->ids[returned][_IOC_NR(id)], id, memory_order_relaxed);
	atomic_fetch_add_explicit(&counts[_IOC_NR(id)], 1, memory_order_relaxed);
}

void worker_put(struct worker *worker, uint32_t cmd, const void *arg)
{
	commands_put(&worker->looper.out, cmd, arg);
	count(worker, cmd, false);
}

void worker_put_u32(struct worker *worker, uint32_t cmd, uint32_t value)
{
	worker_put(worker, cmd, &value);
}

void worker_put_u64(struct worker *worker, uint32_t cmd, uint64_t value)
{
	worker_put(worker, cmd, &value);
}

void worker_put_free(struct worker *worker, const struct returned *got)
{
	worker_put_u64(worker, BC_FREE_BUFFER, got->txn.data.ptr.buffer);
}

void worker_put_call(struct worker *worker, uint32_t handle, enum code code, uint32_t flags,
		     struct packed *packed)
{
	packed->txn.target.handle = handle;
	packed->txn.code = code;
	packed->txn.flags = flags;
	worker_put(worker, BC_TRANSACTION, &packed->txn);
	atomic_fetch_add_explicit(&storm->calls, 1, memory_order_relaxed);
}

void worker_put_reply(struct worker *worker, struct packed *packed)
{
	worker_put(worker, BC_REPLY, &packed->txn);
}

/*
 * False: the call was interrupted and must be repeated, as every client does. A hand-over of the
 * daemon interrupts calls whose thread has no processor; nothing else does here. All commands that
 * are written again may have been counted.
 */
static bool is_done(struct worker *worker, int err)
{
	const struct commands *out = &worker->looper.out;
	uint32_t cmd;

	if (err == -EINTR && storm->is_replaced) {
		for (size_t at = 0; at < out->size; at += sizeof(cmd) + _IOC_SIZE(cmd)) {
			memcpy(&cmd, out->bytes + at, sizeof(cmd));
			worker->opened->me->tally.rewritten++;
		}
		return false;
	}
	if (err)
		FAIL("BINDER_WRITE_READ: %s", test_errno_name(-err));
	return true;
}

void worker_flush(struct worker *worker)
{
	while (!is_done(worker, looper_flush(&worker->looper)))
		;
}

/* ---- returns ---- */

/* Handles what every thread must; false if this return is not of that kind. */
static bool duty(struct worker *worker, const struct returned *got)
{
	const struct opened *opened = worker->opened;

	if (got->cmd == BR_INCREFS || got->cmd == BR_ACQUIRE)
		worker_put(worker, got->cmd == BR_INCREFS ? BC_INCREFS_DONE : BC_ACQUIRE_DONE,
			   &got->ref);
	else if (got->cmd == BR_TRANSACTION)
		opened->serve(worker, got);
	else if (got->cmd == BR_DEAD_BINDER)
		opened->died(worker, got->cookie);
	else if (got->cmd == BR_CLEAR_DEATH_NOTIFICATION_DONE)
		opened->cleared(worker, got->cookie);
	else
		return got->cmd == BR_RELEASE || got->cmd == BR_DECREFS;
	return true;
}

static bool ends(enum wait wait, uint32_t id)
{
	if (wait == FOR_CALLS)
		return false;
	return id == BR_DEAD_REPLY || id == BR_FAILED_REPLY ||
	       id == (wait == FOR_REPLY ? BR_REPLY : BR_TRANSACTION_COMPLETE);
}

/* The next return is handled; true if it ends the wait. */
static bool take(struct worker *worker, enum wait wait, struct returned *got)
{
	while (!is_done(worker, looper_next(&worker->looper, got)))
		;
	count(worker, got->cmd, true);
	if (duty(worker, got))
		return false;
	if (ends(wait, got->cmd))
		return true;
	if (wait != FOR_REPLY || got->cmd != BR_TRANSACTION_COMPLETE)
		FAIL("%s that no thread waits for", command_name(got->cmd));
	return false;
}

uint32_t worker_await_reply(struct worker *worker, struct returned *reply)
{
	while (!take(worker, FOR_REPLY, reply))
		;
	return reply->cmd;
}

uint32_t worker_await_complete(struct worker *worker)
{
	struct returned got;

	while (!take(worker, FOR_COMPLETE, &got))
		;
	return got.cmd;
}

void worker_serve_once(struct worker *worker)
{
	struct returned got;

	do
		take(worker, FOR_CALLS, &got);
	while (worker->looper.in.at < worker->looper.in.size);
	worker_flush(worker);
}

void worker_loop(struct worker *worker)
{
	while (!worker->quit)
		worker_serve_once(worker);
}
