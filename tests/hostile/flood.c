// SPDX-License-Identifier: GPL-2.0
/*
 * hostile-flood DEVICE KIND THREADS: as many requests of one kind as the threads can make, until it
 * is killed. Writes a line when it begins. Calls go to a process of the same user, which it starts
 * and which manages the device.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/android/binder.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAP_BYTES (4u << 20)
#define PAYLOAD_MAX (1u << 20)
#define OBJECTS 20000u
#define NOTICES 2000u

static const char *device;

struct kind {
	const char *name;
	bool is_served;			/* needs a receiver */
	bool one_way;
	size_t payload;
	void *(*run)(void *arg);	/* a thread */
};

static const struct kind *kind;

/* After a failed system call: with the daemon the flood ends too, and burns no processor time. */
static void check_daemon(void)
{
	if (errno == ENOTCONN || errno == ECONNABORTED || errno == ENOENT)
		_exit(0);
}

static int open_device(void)
{
	int fd = open(device, O_RDWR | O_CLOEXEC);

	if (fd >= 0 && mmap(NULL, MAP_BYTES, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, fd, 0) ==
			       MAP_FAILED)
		err(1, "mmap");
	return fd;
}

static int open_or_die(void)
{
	int fd = open_device();

	if (fd < 0)
		check_daemon();
	if (fd < 0)
		err(1, "%s", device);
	return fd;
}

static ssize_t write_read(int fd, const void *commands, size_t size, void *returns, size_t room)
{
	struct binder_write_read bwr = {
		.write_buffer = (uintptr_t)commands,
		.write_size = size,
		.read_buffer = (uintptr_t)returns,
		.read_size = room,
	};

	while (ioctl(fd, BINDER_WRITE_READ, &bwr)) {
		check_daemon();
		if (errno != EINTR)
			return -1;
	}
	return (ssize_t)bwr.read_consumed;
}

struct __attribute__((packed)) send {
	uint32_t command;
	struct binder_transaction_data data;
};

struct __attribute__((packed)) free_command {
	uint32_t command;
	binder_uintptr_t buffer;
};

/* The return @code with its argument in the buffer; NULL: not there. */
static const void *find(const char *returns, ssize_t size, uint32_t code)
{
	for (ssize_t at = 0; at + 4 <= size;) {
		uint32_t this;

		memcpy(&this, returns + at, 4);
		at += 4;
		if (this == code)
			return returns + at;
		at += (ssize_t)_IOC_SIZE(this);
	}
	return NULL;
}

/* Frees what it gets and replies to it. */
static void serve(void)
{
	struct __attribute__((packed)) {
		struct free_command free;
		struct send reply;
	} answer = {
		.free.command = BC_FREE_BUFFER,
		.reply.command = BC_REPLY,
	};
	int fd = open_or_die();
	uint32_t enter = BC_ENTER_LOOPER;
	int unused = 0;
	char returns[256];

	if (ioctl(fd, BINDER_SET_CONTEXT_MGR, &unused))
		err(1, "BINDER_SET_CONTEXT_MGR");
	write_read(fd, &enter, sizeof(enter), NULL, 0);
	for (;;) {
		ssize_t got = write_read(fd, NULL, 0, returns, sizeof(returns));
		const void *found = find(returns, got, BR_TRANSACTION);
		struct binder_transaction_data data;

		if (!found)
			continue;
		memcpy(&data, found, sizeof(data));
		answer.free.buffer = data.data.ptr.buffer;
		write_read(fd, &answer,
			   data.flags & TF_ONE_WAY ? sizeof(answer.free) : sizeof(answer), NULL, 0);
	}
}

/* ---- the threads ---- */

static void *ask_version(void *arg)
{
	struct binder_version version;
	int fd = *(int *)arg;

	for (;;)
		if (ioctl(fd, BINDER_VERSION, &version))
			check_daemon();
	return NULL;
}

static void *call(void *arg)
{
	int fd = *(int *)arg;
	struct send send = { .command = BC_TRANSACTION };
	struct free_command free = { .command = BC_FREE_BUFFER };
	char *payload = calloc(1, kind->payload ? kind->payload : 1);
	char returns[256];

	send.data.flags = kind->one_way ? TF_ONE_WAY : 0;
	send.data.data_size = kind->payload;
	send.data.data.ptr.buffer = (uintptr_t)payload;
	for (;;) {
		ssize_t got = write_read(fd, &send, sizeof(send), returns, sizeof(returns));

		while (!kind->one_way && got > 0 && !find(returns, got, BR_REPLY) &&
		       !find(returns, got, BR_FAILED_REPLY))
			got = write_read(fd, NULL, 0, returns, sizeof(returns));
		if (!kind->one_way && got > 0 && find(returns, got, BR_REPLY)) {
			struct binder_transaction_data data;

			memcpy(&data, find(returns, got, BR_REPLY), sizeof(data));
			free.buffer = data.data.ptr.buffer;
			write_read(fd, &free, sizeof(free), NULL, 0);
		}
	}
	return NULL;
}

/* Calls with many objects. The last of them is wrong, so that all is undone. */
static void *send_objects(void *arg)
{
	int fd = *(int *)arg;
	struct flat_binder_object *objects = calloc(OBJECTS, sizeof(*objects));
	binder_size_t *offsets = calloc(OBJECTS, sizeof(*offsets));
	struct send send = { .command = BC_TRANSACTION };
	char returns[256];

	for (unsigned int i = 0; i < OBJECTS; i++) {
		objects[i].hdr.type = BINDER_TYPE_BINDER;
		objects[i].binder = objects[i].cookie = i + 1;
		offsets[i] = i * sizeof(*objects);
	}
	objects[OBJECTS - 1].hdr.type = 0;
	send.data.data_size = OBJECTS * sizeof(*objects);
	send.data.offsets_size = OBJECTS * sizeof(*offsets);
	send.data.data.ptr.buffer = (uintptr_t)objects;
	send.data.data.ptr.offsets = (uintptr_t)offsets;
	for (;;)
		write_read(fd, &send, sizeof(send), returns, sizeof(returns));
	return NULL;
}

/* Opens, maps as each client does, and closes. */
static void *open_and_close(void *arg)
{
	for (;;) {
		int fd = open(device, O_RDWR | O_CLOEXEC);
		void *map;

		if (fd < 0)
			check_daemon();
		map = mmap(NULL, MAP_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED)
			munmap(map, MAP_BYTES);
		if (fd >= 0)
			close(fd);
	}
	return arg;
}

static void *look_up(void *arg)
{
	struct stat st;

	for (;;)
		if (stat(device, &st))
			check_daemon();
	return arg;
}

/* Burns processor time, as an honest program may: what the floods are compared with. */
static void *burn(void *arg)
{
	for (volatile unsigned long i = 0;; i++)
		;
	return arg;
}

/* Each round has a manager of its own, and an open for each notification of its death. */
static void *die(void *arg)
{
	struct __attribute__((packed)) {
		uint32_t acquire, handle, request;
		struct __attribute__((packed)) {
			uint32_t handle;
			binder_uintptr_t cookie;
		} notice;
	} watch = { BC_ACQUIRE, 0, BC_REQUEST_DEATH_NOTIFICATION, { 0, 1 } };
	static int opens[NOTICES];
	int unused = 0;

	for (;;) {
		int manager = open_or_die();
		unsigned int nr = 0;

		while (ioctl(manager, BINDER_SET_CONTEXT_MGR, &unused))
			usleep(100);	/* the last one is about to end */
		while (nr < NOTICES && (opens[nr] = open(device, O_RDWR | O_CLOEXEC)) >= 0) {
			write_read(opens[nr], &watch, sizeof(watch), NULL, 0);
			nr++;
		}
		close(manager);
		while (nr)
			close(opens[--nr]);
	}
	return arg;
}

static const struct kind kinds[] = {
	{ "burn", .run = burn },
	{ "version", .run = ask_version },
	{ "lookup", .run = look_up },
	{ "open", .run = open_and_close },
	{ "call", .is_served = true, .run = call },
	{ "oneway", .is_served = true, .one_way = true, .run = call },
	{ "payload", .is_served = true, .payload = PAYLOAD_MAX, .run = call },
	{ "objects", .is_served = true, .run = send_objects },
	{ "deaths", .run = die },
};

static void start(const char *name, unsigned int count)
{
	static int fd = -1;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			kind = &kinds[i];
	if (!kind)
		errx(2, "unknown kind %s", name);
	if (kind->is_served && !fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve();
	}
	usleep(kind->is_served ? 100000 : 0);
	fd = open_or_die();
	while (count--) {
		pthread_attr_t attributes;
		pthread_t thread;

		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, 64 * 1024);
		errno = pthread_create(&thread, &attributes, kind->run, &fd);
		if (errno)
			err(1, "pthread_create");
	}
}

int main(int argc, char **argv)
{
	if (argc != 4)
		errx(2, "usage: flood DEVICE KIND THREADS");
	device = argv[1];
	start(argv[2], (unsigned int)atoi(argv[3]));
	puts("begun");
	fflush(stdout);
	pause();
	return 0;
}
