// SPDX-License-Identifier: GPL-2.0
/*
 * Returns are taken one at a time from the buffer of the last read. What every thread must handle
 * (references, deaths, calls) is handled here; what ends a wait is returned. A call that is served
 * during a wait may wait itself: then the inner wait reads on in the same buffer.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "names.h"
#include "port.h"
#include "test.h"

#define MAP_BYTES (1024 * 1024 - 2 * 4096)

enum wait { FOR_REPLY, FOR_COMPLETE, FOR_CALLS };

void port_open(struct port *port)
{
	port->fd = open(test_device(), O_RDWR | O_CLOEXEC);
	if (port->fd < 0)
		FAIL("%s: %s", test_device(), test_errno_name(errno));
	port->map = mmap(NULL, MAP_BYTES, PROT_READ, MAP_PRIVATE, port->fd, 0);
	if (port->map == MAP_FAILED)
		FAIL("mmap: %s", test_errno_name(errno));
}

void port_close(struct port *port)
{
	munmap(port->map, MAP_BYTES);
	close(port->fd);
}

void worker_init(struct worker *worker, struct port *port, uint32_t which)
{
	*worker = (struct worker){ .port = port, .seq = which << 24 };
	worker->random = (storm->seed << 32) + member_index(port->me) * 8 + which;
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
	struct tally *tally = &worker->port->me->tally;
	_Atomic uint32_t *counts = returned ? tally->returns : tally->commands;

	EXPECT(_IOC_NR(id) < NR_NUMBERS);
	atomic_store_explicit(&tally->ids[returned][_IOC_NR(id)], id, memory_order_relaxed);
	atomic_fetch_add_explicit(&counts[_IOC_NR(id)], 1, memory_order_relaxed);
}

void worker_put(struct worker *worker, uint32_t cmd, const void *arg)
{
	EXPECT(worker->out_size + sizeof(cmd) + _IOC_SIZE(cmd) <= sizeof(worker->out));
	memcpy(worker->out + worker->out_size, &cmd, sizeof(cmd));
	worker->out_size += sizeof(cmd);
	if (_IOC_SIZE(cmd))
		memcpy(worker->out + worker->out_size, arg, _IOC_SIZE(cmd));
	worker->out_size += _IOC_SIZE(cmd);
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

static void write_read(struct worker *worker, size_t read_size)
{
	struct binder_write_read bwr = {
		.write_size = worker->out_size,
		.write_buffer = (uintptr_t)worker->out,
		.read_size = read_size,
		.read_buffer = (uintptr_t)worker->in,
	};

	if (ioctl(worker->port->fd, BINDER_WRITE_READ, &bwr))
		FAIL("BINDER_WRITE_READ: %s", test_errno_name(errno));
	EXPECT_EQ(bwr.write_consumed, bwr.write_size);
	worker->out_size = 0;
	if (read_size) {
		worker->in_at = 0;
		worker->in_size = bwr.read_consumed;
	}
}

void worker_flush(struct worker *worker)
{
	if (worker->out_size)
		write_read(worker, 0);
}

/* ---- returns ---- */

/* The next return, and its argument. Reads, and writes what is queued, if necessary. */
static uint32_t next(struct worker *worker, void *arg)
{
	uint32_t id;

	while (worker->in_at == worker->in_size)
		write_read(worker, sizeof(worker->in));
	memcpy(&id, worker->in + worker->in_at, sizeof(id));
	memcpy(arg, worker->in + worker->in_at + sizeof(id), _IOC_SIZE(id));
	worker->in_at += sizeof(id) + _IOC_SIZE(id);
	EXPECT(worker->in_at <= worker->in_size);
	if (id != BR_NOOP)
		count(worker, id, true);
	return id;
}

union argument {
	struct binder_transaction_data txn;
	struct binder_transaction_data_secctx secctx;
	struct binder_ptr_cookie ref;
	uint64_t cookie;
	int32_t error;
};

/* Handles what every thread must; false if this return is not of that kind. */
static bool duty(struct worker *worker, uint32_t id, const union argument *arg)
{
	struct port *port = worker->port;

	if (id == BR_INCREFS || id == BR_ACQUIRE)
		worker_put(worker, id == BR_INCREFS ? BC_INCREFS_DONE : BC_ACQUIRE_DONE, &arg->ref);
	else if (id == BR_TRANSACTION)
		port->serve(worker, &arg->txn);
	else if (id == BR_DEAD_BINDER)
		port->died(worker, arg->cookie);
	else if (id == BR_CLEAR_DEATH_NOTIFICATION_DONE)
		port->cleared(worker, arg->cookie);
	else
		return id == BR_NOOP || id == BR_RELEASE || id == BR_DECREFS;
	return true;
}

static bool ends(enum wait wait, uint32_t id)
{
	if (wait == FOR_CALLS)
		return false;
	return id == BR_DEAD_REPLY || id == BR_FAILED_REPLY ||
	       id == (wait == FOR_REPLY ? BR_REPLY : BR_TRANSACTION_COMPLETE);
}

static uint32_t take(struct worker *worker, enum wait wait, union argument *arg)
{
	uint32_t id = next(worker, arg);

	if (duty(worker, id, arg))
		return 0;
	if (ends(wait, id))
		return id;
	if (wait != FOR_REPLY || id != BR_TRANSACTION_COMPLETE)
		FAIL("%s that no thread waits for", command_name(id));
	return 0;
}

uint32_t worker_await_reply(struct worker *worker, struct binder_transaction_data *reply)
{
	union argument arg;
	uint32_t id;

	do
		id = take(worker, FOR_REPLY, &arg);
	while (!id);
	if (id == BR_REPLY)
		*reply = arg.txn;
	return id;
}

uint32_t worker_await_complete(struct worker *worker)
{
	union argument arg;
	uint32_t id;

	do
		id = take(worker, FOR_COMPLETE, &arg);
	while (!id);
	return id;
}

void worker_serve_once(struct worker *worker)
{
	union argument arg;

	do
		take(worker, FOR_CALLS, &arg);
	while (worker->in_at < worker->in_size);
	worker_flush(worker);
}

void worker_loop(struct worker *worker)
{
	while (!worker->quit)
		worker_serve_once(worker);
}
