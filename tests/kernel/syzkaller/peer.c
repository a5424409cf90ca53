// SPDX-License-Identifier: GPL-2.0
/*
 * The peer of the programs that syzkaller makes: the context manager of the devices that are given.
 * It prints a line when it is. It never waits for good: whom it calls ends, at the latest when the
 * program's time is over. What a call requests (codes of descriptions.txt):
 *
 *   0  the same objects and files in the reply
 *   1  keep the objects: references, death and freeze notifications
 *   2  call each object, and wait for its reply
 *   3  one-way calls to each object, the later ones with TF_UPDATE_TXN
 *   4  objects of the peer in the reply, and a buffer with BC_REPLY_SG
 *   5  a reply that fails
 *   6  keep the object for other opens of the process: no process may call itself by handle 0
 *   7  that object in the reply
 */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/binder.h"

#define MAP_BYTES (1024 * 1024)
#define MAX_THREADS 15
#define MAX_OBJECTS 8
#define MAX_NESTED 3
#define NR_ONEWAY 4
#define NR_OWN 3
#define NR_FDS 256
#define NR_LEFT 64

enum {
	CODE_ECHO, CODE_KEEP, CODE_CALL, CODE_ONEWAY, CODE_OBJECTS, CODE_FAIL, CODE_LEAVE,
	CODE_TAKE,
};

/* What a transaction brought, or shall bring. */
struct cargo {
	_Alignas(8) uint8_t data[MAX_OBJECTS * sizeof(union object)];
	binder_size_t offsets[MAX_OBJECTS];
	struct payload payload;
};

/* A thread, and how deep in calls of calls it is. */
struct server {
	struct looper looper;
	unsigned int depth;
};

/* Each command by itself: one that is refused would keep those behind it from being done. */
static int put_command(struct server *server, uint32_t cmd, const void *arg)
{
	commands_put(&server->looper.out, cmd, arg);
	return looper_flush(&server->looper);
}

static _Noreturn void give_up(const char *what, int error)
{
	errno = -error;
	err(1, "%s", what);
}

static void cargo_init(struct cargo *cargo)
{
	cargo->payload = (struct payload){
		.data = cargo->data, .room = sizeof(cargo->data),
		.offsets = cargo->offsets, .max = MAX_OBJECTS,
	};
}

/* The handles and files in it. */
static void take_objects(const struct returned *call, struct cargo *cargo)
{
	const union object *object;

	for (size_t i = 0; (object = returned_object(call, i)); i++) {
		if (object->hdr.type != BINDER_TYPE_PTR && object->hdr.type != BINDER_TYPE_FDA)
			payload_add(&cargo->payload, object);
	}
}

static const union object *object_of(const struct cargo *cargo, size_t n)
{
	return (const union object *)(cargo->data + cargo->offsets[n]);
}

static bool is_handle(const union object *object)
{
	return object->hdr.type == BINDER_TYPE_HANDLE ||
	       object->hdr.type == BINDER_TYPE_WEAK_HANDLE;
}

static void keep_object(struct server *server, uint32_t handle)
{
	struct binder_handle_cookie request = { handle, handle };

	put_command(server, BC_ACQUIRE, &handle);
	put_command(server, BC_REQUEST_DEATH_NOTIFICATION, &request);
	put_command(server, BC_REQUEST_FREEZE_NOTIFICATION, &request);
}

/* The handle that a process has left, of the device that is open as fd. */
static _Atomic uint32_t *left_by(int fd, pid_t pid)
{
	static _Atomic uint32_t left[NR_FDS][NR_LEFT];

	return &left[fd][pid % NR_LEFT];
}

static void leave_object(struct server *server, pid_t pid, uint32_t handle)
{
	put_command(server, BC_ACQUIRE, &handle);
	handle = atomic_exchange(left_by(server->looper.port->fd, pid), handle);
	if (handle)
		put_command(server, BC_RELEASE, &handle);
}

static void take_left(struct server *server, pid_t pid, struct cargo *cargo)
{
	const union object left =
		OBJ_HANDLE(atomic_load(left_by(server->looper.port->fd, pid)));

	cargo_init(cargo);
	payload_add(&cargo->payload, &left);
}

static void drop_object(struct server *server, binder_uintptr_t cookie)
{
	uint32_t handle = (uint32_t)cookie;

	put_command(server, BC_DEAD_BINDER_DONE, &cookie);
	put_command(server, BC_RELEASE, &handle);
}

static void serve_reads(struct server *server, bool for_reply);

static void call_object(struct server *server, uint32_t handle)
{
	struct binder_transaction_data txn = { .target.handle = handle, .code = CODE_CALL };

	if (server->depth == MAX_NESTED)
		return;
	commands_put_call(&server->looper.out, &txn);
	if (looper_flush(&server->looper))
		return;
	server->depth++;
	serve_reads(server, true);
	server->depth--;
}

static void send_oneway(struct server *server, uint32_t handle)
{
	static const uint8_t bytes[64];
	struct binder_transaction_data txn = {
		.target.handle = handle, .code = CODE_ONEWAY, .flags = TF_ONE_WAY,
		.data_size = sizeof(bytes), .data.ptr.buffer = (uintptr_t)bytes,
	};

	for (int i = 0; i < NR_ONEWAY; i++) {
		commands_put_call(&server->looper.out, &txn);
		looper_flush(&server->looper);
		txn.flags |= TF_UPDATE_TXN;
	}
}

static void own_objects(struct cargo *cargo)
{
	static uint8_t bytes[32];
	const union object buffer = OBJ_PTR(bytes, sizeof(bytes));

	cargo_init(cargo);
	for (binder_uintptr_t i = 1; i <= NR_OWN; i++) {
		const union object object =
			OBJ_BINDER(i, 0, .flags = FLAT_BINDER_FLAG_ACCEPTS_FDS);

		payload_add(&cargo->payload, &object);
	}
	payload_add(&cargo->payload, &buffer);
}

static void reply_with(struct server *server, uint32_t code, struct cargo *cargo)
{
	struct binder_transaction_data_sg sg = { .buffers_size = 64 };

	if (code == CODE_OBJECTS)
		own_objects(cargo);
	sg.transaction_data = payload_txn(&cargo->payload);
	if (code == CODE_FAIL)
		sg.transaction_data.data_size = -1;
	if (code == CODE_OBJECTS)
		commands_put_reply_sg(&server->looper.out, &sg);
	else
		commands_put_reply(&server->looper.out, &sg.transaction_data);
	looper_flush(&server->looper);
}

static void use_object(struct server *server, const struct binder_transaction_data *txn,
		       uint32_t handle)
{
	if (txn->code == CODE_KEEP)
		keep_object(server, handle);
	if (txn->code == CODE_LEAVE)
		leave_object(server, txn->sender_pid, handle);
	if (txn->code == CODE_CALL)
		call_object(server, handle);
	if (txn->code == CODE_ONEWAY)
		send_oneway(server, handle);
}

static void serve_call(struct server *server, const struct returned *call)
{
	const struct binder_transaction_data *txn = &call->txn;
	struct cargo cargo;

	cargo_init(&cargo);
	take_objects(call, &cargo);
	for (size_t i = 0; i < cargo.payload.nr; i++) {
		if (is_handle(object_of(&cargo, i)))
			use_object(server, txn, object_of(&cargo, i)->flat.handle);
	}
	if (txn->code == CODE_TAKE)
		take_left(server, txn->sender_pid, &cargo);
	if (!(txn->flags & TF_ONE_WAY))
		reply_with(server, txn->code, &cargo);
	for (size_t i = 0; i < cargo.payload.nr; i++)
		if (object_of(&cargo, i)->hdr.type == BINDER_TYPE_FD)
			close((int)object_of(&cargo, i)->fd.fd);
	put_command(server, BC_FREE_BUFFER, &txn->data.ptr.buffer);
}

static void *thread_main(void *port)
{
	struct server server = { .depth = 0 };

	looper_init(&server.looper, port);
	put_command(&server, BC_REGISTER_LOOPER, NULL);
	serve_reads(&server, false);
	return NULL;
}

/* Does one return. True if it ends a call of this thread. */
static bool serve_return(struct server *server, const struct returned *got)
{
	pthread_t thread;

	switch (got->cmd) {
	case BR_TRANSACTION:
	case BR_TRANSACTION_SEC_CTX:
		serve_call(server, got);
		return false;
	case BR_REPLY:
		put_command(server, BC_FREE_BUFFER, &got->txn.data.ptr.buffer);
		return true;
	case BR_DEAD_REPLY:
	case BR_FAILED_REPLY:
	case BR_FROZEN_REPLY:
		return true;
	case BR_SPAWN_LOOPER:
		if (!pthread_create(&thread, NULL, thread_main, server->looper.port))
			pthread_detach(thread);
		return false;
	case BR_DEAD_BINDER:
		drop_object(server, got->cookie);
		return false;
	default:
		if (commands_acknowledge(&server->looper.out, got))
			looper_flush(&server->looper);
		return false;
	}
}

static void serve_reads(struct server *server, bool for_reply)
{
	struct returned got;
	int error;

	do {
		error = looper_next(&server->looper, &got);
		if (error)
			give_up("BINDER_WRITE_READ", error);
	} while (!serve_return(server, &got) || !for_reply);
}

static sem_t managed; /* counts devices */

static void *serve_device(void *path)
{
	static struct port ports[NR_FDS];
	static _Atomic unsigned int nr_ports;
	struct port *port = &ports[nr_ports++ % NR_FDS];
	struct server server = { .depth = 0 };
	uint32_t max = MAX_THREADS;
	int error = port_open(port, path, (struct port_options){ .map_bytes = MAP_BYTES });

	if (!error)
		error = port_ioctl(port, BINDER_SET_MAX_THREADS, &max);
	if (!error)
		error = port_manage(port);
	if (error)
		give_up(path, error);
	sem_post(&managed);
	looper_init(&server.looper, port);
	put_command(&server, BC_ENTER_LOOPER, NULL);
	serve_reads(&server, false);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	sem_init(&managed, 0, 0);
	for (int i = 1; i < argc; i++)
		if (pthread_create(&thread, NULL, serve_device, argv[i]))
			err(1, "pthread_create");
	for (int i = 1; i < argc; i++)
		while (sem_wait(&managed))
			;
	puts("peer: ready");
	fflush(stdout);
	for (;;)
		pause();
}
