// SPDX-License-Identifier: GPL-2.0
/*
 * The peer of the programs that syzkaller makes: the context manager of the devices that are given.
 * It prints a line when it is. It never waits for good: whom it calls ends, at the latest when the
 * program's time is over. What
 * a call requests (codes of binder.txt):
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
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/uapi.h"

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

union object {
	struct binder_object_header hdr;
	struct flat_binder_object flat;
	struct binder_fd_object file;
	struct binder_buffer_object bytes;
};

/* What a transaction brought, or shall bring. */
struct cargo {
	union object objects[MAX_OBJECTS];
	binder_size_t offsets[MAX_OBJECTS];
	size_t nr;
};

static int write_bytes(int fd, const void *bytes, size_t size)
{
	struct binder_write_read bwr = {
		.write_size = size, .write_buffer = (uintptr_t)bytes,
	};

	return ioctl(fd, BINDER_WRITE_READ, &bwr);
}

/* Each command by itself: one that is refused would keep those behind it from being done. */
static int put_command(int fd, uint32_t cmd, const void *arg)
{
	uint8_t bytes[256];
	size_t size = _IOC_SIZE(cmd);

	memcpy(bytes, &cmd, sizeof(cmd));
	memcpy(bytes + sizeof(cmd), arg, size);
	return write_bytes(fd, bytes, sizeof(cmd) + size);
}

static void add_object(struct cargo *cargo, const union object *object)
{
	if (cargo->nr == MAX_OBJECTS)
		return;
	cargo->offsets[cargo->nr] = cargo->nr * sizeof(*object);
	cargo->objects[cargo->nr++] = *object;
}

/* The handles and files in it; they count on the driver, which has checked the offsets. */
static void take_objects(const struct binder_transaction_data *txn, struct cargo *cargo)
{
	const binder_size_t *offsets = (void *)(uintptr_t)txn->data.ptr.offsets;

	for (size_t i = 0; i < txn->offsets_size / sizeof(*offsets); i++) {
		union object object = { 0 };
		const void *at = (uint8_t *)(uintptr_t)txn->data.ptr.buffer + offsets[i];

		memcpy(&object.hdr, at, sizeof(object.hdr));
		if (object.hdr.type == BINDER_TYPE_PTR || object.hdr.type == BINDER_TYPE_FDA)
			continue;
		memcpy(&object, at, sizeof(object.flat));
		add_object(cargo, &object);
	}
}

static struct binder_transaction_data data_of(const struct cargo *cargo)
{
	return (struct binder_transaction_data){
		.data_size = cargo->nr * sizeof(cargo->objects[0]),
		.offsets_size = cargo->nr * sizeof(cargo->offsets[0]),
		.data.ptr = { (uintptr_t)cargo->objects, (uintptr_t)cargo->offsets },
	};
}

static bool is_handle(const union object *object)
{
	return object->hdr.type == BINDER_TYPE_HANDLE ||
	       object->hdr.type == BINDER_TYPE_WEAK_HANDLE;
}

static void keep_object(int fd, uint32_t handle)
{
	struct binder_handle_cookie request = { handle, handle };

	put_command(fd, BC_ACQUIRE, &handle);
	put_command(fd, BC_REQUEST_DEATH_NOTIFICATION, &request);
	put_command(fd, BC_REQUEST_FREEZE_NOTIFICATION, &request);
}

/* The handle that a process has left, of the device that is open as fd. */
static _Atomic uint32_t *left_by(int fd, pid_t pid)
{
	static _Atomic uint32_t left[NR_FDS][NR_LEFT];

	return &left[fd][pid % NR_LEFT];
}

static void leave_object(int fd, pid_t pid, uint32_t handle)
{
	put_command(fd, BC_ACQUIRE, &handle);
	handle = atomic_exchange(left_by(fd, pid), handle);
	if (handle)
		put_command(fd, BC_RELEASE, &handle);
}

static void take_left(int fd, pid_t pid, struct cargo *cargo)
{
	union object object = { .flat = {
		.hdr.type = BINDER_TYPE_HANDLE, .handle = atomic_load(left_by(fd, pid)),
	} };

	cargo->nr = 0;
	add_object(cargo, &object);
}

static void drop_object(int fd, binder_uintptr_t cookie)
{
	uint32_t handle = (uint32_t)cookie;

	put_command(fd, BC_DEAD_BINDER_DONE, &cookie);
	put_command(fd, BC_RELEASE, &handle);
}

static bool serve_reads(int fd, unsigned int depth, bool for_reply);

static void call_object(int fd, uint32_t handle, unsigned int depth)
{
	struct binder_transaction_data txn = { .target.handle = handle, .code = CODE_CALL };

	if (depth < MAX_NESTED && !put_command(fd, BC_TRANSACTION, &txn))
		serve_reads(fd, depth + 1, true);
}

static void send_oneway(int fd, uint32_t handle)
{
	static const uint8_t bytes[64];
	struct binder_transaction_data txn = {
		.target.handle = handle, .code = CODE_ONEWAY, .flags = TF_ONE_WAY,
		.data_size = sizeof(bytes), .data.ptr.buffer = (uintptr_t)bytes,
	};

	for (int i = 0; i < NR_ONEWAY; i++) {
		put_command(fd, BC_TRANSACTION, &txn);
		txn.flags |= TF_UPDATE_TXN;
	}
}

static void own_objects(struct cargo *cargo)
{
	static uint8_t bytes[32];
	union object object = { .flat = {
		.hdr.type = BINDER_TYPE_BINDER, .flags = FLAT_BINDER_FLAG_ACCEPTS_FDS,
	} };

	cargo->nr = 0;
	for (binder_uintptr_t i = 1; i <= NR_OWN; i++) {
		object.flat.binder = i;
		add_object(cargo, &object);
	}
	object.bytes = (struct binder_buffer_object){
		.hdr.type = BINDER_TYPE_PTR, .buffer = (uintptr_t)bytes, .length = sizeof(bytes),
	};
	add_object(cargo, &object);
}

static void reply_with(int fd, uint32_t code, struct cargo *cargo)
{
	struct binder_transaction_data_sg sg = { .buffers_size = 64 };

	if (code == CODE_OBJECTS)
		own_objects(cargo);
	sg.transaction_data = data_of(cargo);
	if (code == CODE_FAIL)
		sg.transaction_data.data_size = -1;
	if (code == CODE_OBJECTS)
		put_command(fd, BC_REPLY_SG, &sg);
	else
		put_command(fd, BC_REPLY, &sg.transaction_data);
}

static void serve_call(int fd, const struct binder_transaction_data *txn, unsigned int depth)
{
	struct cargo cargo = { .nr = 0 };

	take_objects(txn, &cargo);
	for (size_t i = 0; i < cargo.nr; i++) {
		uint32_t handle = cargo.objects[i].flat.handle;

		if (!is_handle(&cargo.objects[i]))
			continue;
		if (txn->code == CODE_KEEP)
			keep_object(fd, handle);
		if (txn->code == CODE_LEAVE)
			leave_object(fd, txn->sender_pid, handle);
		if (txn->code == CODE_CALL)
			call_object(fd, handle, depth);
		if (txn->code == CODE_ONEWAY)
			send_oneway(fd, handle);
	}
	if (txn->code == CODE_TAKE)
		take_left(fd, txn->sender_pid, &cargo);
	if (!(txn->flags & TF_ONE_WAY))
		reply_with(fd, txn->code, &cargo);
	for (size_t i = 0; i < cargo.nr; i++)
		if (cargo.objects[i].hdr.type == BINDER_TYPE_FD)
			close((int)cargo.objects[i].file.fd);
	put_command(fd, BC_FREE_BUFFER, &txn->data.ptr.buffer);
}

static void *thread_main(void *arg)
{
	int fd = *(int *)arg;

	write_bytes(fd, &(uint32_t){ BC_REGISTER_LOOPER }, sizeof(uint32_t));
	serve_reads(fd, 0, false);
	return NULL;
}

/* Does one return. True if it ends a call of this thread. */
static bool serve_return(int *fd, uint32_t cmd, const uint8_t *arg, unsigned int depth)
{
	struct binder_transaction_data txn;
	struct frozen_state frozen;
	binder_uintptr_t cookie;
	pthread_t thread;

	switch (cmd) {
	case BR_TRANSACTION:
	case BR_TRANSACTION_SEC_CTX:
		memcpy(&txn, arg, sizeof(txn));
		serve_call(*fd, &txn, depth);
		return false;
	case BR_REPLY:
		memcpy(&txn, arg, sizeof(txn));
		put_command(*fd, BC_FREE_BUFFER, &txn.data.ptr.buffer);
		return true;
	case BR_DEAD_REPLY:
	case BR_FAILED_REPLY:
	case BR_FROZEN_REPLY:
		return true;
	case BR_INCREFS:
		put_command(*fd, BC_INCREFS_DONE, arg);
		return false;
	case BR_ACQUIRE:
		put_command(*fd, BC_ACQUIRE_DONE, arg);
		return false;
	case BR_SPAWN_LOOPER:
		if (!pthread_create(&thread, NULL, thread_main, fd))
			pthread_detach(thread);
		return false;
	case BR_DEAD_BINDER:
		memcpy(&cookie, arg, sizeof(cookie));
		drop_object(*fd, cookie);
		return false;
	case BR_FROZEN_BINDER:
		memcpy(&frozen, arg, sizeof(frozen));
		put_command(*fd, BC_FREEZE_NOTIFICATION_DONE, &frozen.cookie);
		return false;
	}
	return false;
}

static bool serve_reads(int fd, unsigned int depth, bool for_reply)
{
	/* Threads that are spawned use it when this function is left, too. */
	static int fds[NR_FDS];
	uint8_t bytes[1024];

	fds[fd] = fd;
	for (;;) {
		struct binder_write_read bwr = {
			.read_size = sizeof(bytes), .read_buffer = (uintptr_t)bytes,
		};
		bool ended = false;

		if (ioctl(fd, BINDER_WRITE_READ, &bwr))
			err(1, "BINDER_WRITE_READ");
		for (size_t at = 0; at + sizeof(uint32_t) <= bwr.read_consumed;) {
			uint32_t cmd;

			memcpy(&cmd, bytes + at, sizeof(cmd));
			at += sizeof(cmd);
			ended |= serve_return(&fds[fd], cmd, bytes + at, depth);
			at += _IOC_SIZE(cmd);
		}
		if (ended && for_reply)
			return true;
	}
}

static sem_t managed; /* counts devices */

static void *serve_device(void *path)
{
	struct flat_binder_object object = { .flags = FLAT_BINDER_FLAG_ACCEPTS_FDS };
	uint32_t max = MAX_THREADS;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || mmap(NULL, MAP_BYTES, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
	    ioctl(fd, BINDER_SET_MAX_THREADS, &max) ||
	    ioctl(fd, BINDER_SET_CONTEXT_MGR_EXT, &object))
		err(1, "%s", (char *)path);
	sem_post(&managed);
	write_bytes(fd, &(uint32_t){ BC_ENTER_LOOPER }, sizeof(uint32_t));
	serve_reads(fd, 0, false);
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
