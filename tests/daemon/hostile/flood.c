// SPDX-License-Identifier: GPL-2.0
/*
 * hostile-flood DEVICE KIND THREADS: as many requests of one kind as the threads can make, until it
 * is killed. Writes a line when it begins. Calls go to a process of the same user, which it starts
 * and which manages the device.
 */
#include "tests/version.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/android/binder.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAP_BYTES (4u << 20)
#define PAYLOAD_MAX (1u << 20)
#define OBJECTS 20000u
#define NOTICES 2000u
#define SERVICES 10000u
#define BATCH 500u

/* The code of calls that get a reply of PAYLOAD_MAX / 2 bytes. */
#define LARGE_REPLY 2u

static const char *device;

struct kind {
	const char *name;
	bool is_served;			/* needs a receiver */
	bool one_way;
	size_t payload;
	void *(*run)(void *arg);	/* a thread */
};

static const struct kind *kind;
static unsigned int nr_threads;

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

/* The commands that take a reference to an object and request its death notification. */
struct __attribute__((packed)) watch {
	uint32_t acquire, handle, request;
	struct __attribute__((packed)) {
		uint32_t handle;
		binder_uintptr_t cookie;
	} notice;
};

/* Watches the objects of a call, and closes its files. */
static void take_objects(int fd, const struct binder_transaction_data *data)
{
	const char *objects = (const char *)(uintptr_t)data->data.ptr.buffer;
	size_t nr = data->offsets_size / sizeof(binder_size_t);
	struct watch *watches = calloc(nr, sizeof(*watches));
	size_t nr_watches = 0;

	for (size_t i = 0; i < nr; i++) {
		struct flat_binder_object object;

		memcpy(&object, objects + i * sizeof(object), sizeof(object));
		if (object.hdr.type == BINDER_TYPE_FD) {
			close((int)object.handle);
			continue;
		}
		watches[nr_watches++] = (struct watch){
			.acquire = BC_ACQUIRE,
			.handle = object.handle,
			.request = BC_REQUEST_DEATH_NOTIFICATION,
			.notice = { object.handle, object.handle },
		};
	}
	if (nr_watches)
		write_read(fd, watches, nr_watches * sizeof(*watches), NULL, 0);
	free(watches);
}

/* After BR_DEAD_BINDER. */
static void end_watch(int fd, binder_uintptr_t cookie)
{
	struct __attribute__((packed)) {
		uint32_t done;
		binder_uintptr_t cookie;
		uint32_t release, handle;
	} end = { BC_DEAD_BINDER_DONE, cookie, BC_RELEASE, (uint32_t)cookie };

	write_read(fd, &end, sizeof(end), NULL, 0);
}

/* Makes a call and reads until it has ended. Returns the bytes of the last read, or -1. */
static ssize_t call_once(int fd, const struct send *send, char *returns, size_t room)
{
	ssize_t got = write_read(fd, send, sizeof(*send), returns, room);

	while (got > 0 && !find(returns, got, BR_REPLY) && !find(returns, got, BR_FAILED_REPLY) &&
	       !find(returns, got, BR_DEAD_REPLY))
		got = write_read(fd, NULL, 0, returns, room);
	return got;
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
	static char large[PAYLOAD_MAX / 2];
	int fd = open_or_die();
	uint32_t enter = BC_ENTER_LOOPER;
	struct flat_binder_object accepts = {
		.hdr.type = BINDER_TYPE_BINDER,
		.flags = FLAT_BINDER_FLAG_ACCEPTS_FDS,
	};
	char returns[256];

	if (ioctl(fd, BINDER_SET_CONTEXT_MGR_EXT, &accepts))
		err(1, "BINDER_SET_CONTEXT_MGR_EXT");
	write_read(fd, &enter, sizeof(enter), NULL, 0);
	for (;;) {
		ssize_t got = write_read(fd, NULL, 0, returns, sizeof(returns));
		const void *found = find(returns, got, BR_DEAD_BINDER);
		struct binder_transaction_data data;
		binder_uintptr_t cookie;

		if (found) {
			memcpy(&cookie, found, sizeof(cookie));
			end_watch(fd, cookie);
		}
		found = find(returns, got, BR_TRANSACTION);
		if (!found)
			continue;
		memcpy(&data, found, sizeof(data));
		if (data.offsets_size)
			take_objects(fd, &data);
		answer.free.buffer = data.data.ptr.buffer;
		answer.reply.data.data_size = data.code == LARGE_REPLY ? sizeof(large) : 0;
		answer.reply.data.data.ptr.buffer = (uintptr_t)large;
		write_read(fd, &answer,
			   data.flags & TF_ONE_WAY ? sizeof(answer.free) : sizeof(answer), NULL, 0);
	}
}

/* One call, with @nr objects of this process, from number @first on. */
static void offer_batch(int fd, unsigned int first, unsigned int nr)
{
	struct flat_binder_object *objects = calloc(nr, sizeof(*objects));
	binder_size_t *offsets = calloc(nr, sizeof(*offsets));
	struct send send = { .command = BC_TRANSACTION };
	char returns[4096];

	for (unsigned int i = 0; i < nr; i++) {
		objects[i].hdr.type = BINDER_TYPE_BINDER;
		objects[i].binder = objects[i].cookie = first + i + 1;
		offsets[i] = i * sizeof(*objects);
	}
	send.data.data_size = nr * sizeof(*objects);
	send.data.offsets_size = nr * sizeof(*offsets);
	send.data.data.ptr.buffer = (uintptr_t)objects;
	send.data.data.ptr.offsets = (uintptr_t)offsets;
	call_once(fd, &send, returns, sizeof(returns));
	free(objects);
	free(offsets);
}

static void offer(int fd)
{
	for (unsigned int nr = 0; nr < SERVICES; nr += BATCH)
		offer_batch(fd, nr, BATCH);
}

/* ---- the threads ---- */

static void start_thread(void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 * 1024);
	errno = pthread_create(&thread, &attributes, run, arg);
	if (errno)
		err(1, "pthread_create");
}

static void pause_forever(void)
{
	for (;;)
		pause();
}

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
		struct binder_transaction_data data;
		const void *reply;
		ssize_t got;

		if (kind->one_way) {
			write_read(fd, &send, sizeof(send), returns, sizeof(returns));
			continue;
		}
		got = call_once(fd, &send, returns, sizeof(returns));
		reply = got > 0 ? find(returns, got, BR_REPLY) : NULL;
		if (!reply)
			continue;
		memcpy(&data, reply, sizeof(data));
		free.buffer = data.data.ptr.buffer;
		write_read(fd, &free, sizeof(free), NULL, 0);
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

/* The other end of be_process() without a device: replies to each byte. */
static void echo(int socket)
{
	char byte;

	while (recv(socket, &byte, 1, 0) == 1)
		send(socket, &byte, 1, MSG_NOSIGNAL);
}

/* A process that calls now and then; or, to compare, that does the same through a socket. */
static void *be_process(void *arg)
{
	const struct timespec pause = { 0, 200000000 };
	int pair[2];
	char byte = 0;
	int fd;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		err(1, "socketpair");
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = kind->is_served ? open_or_die() : -1;
		for (;;) {
			if (kind->is_served)
				offer_batch(fd, 0, 0);
			else if (send(pair[1], &byte, 1, 0) != 1 || recv(pair[1], &byte, 1, 0) != 1)
				_exit(0);
			nanosleep(&pause, NULL);
		}
	}
	close(pair[1]);
	echo(pair[0]);
	pause_forever();
	return arg;
}

/* Processes that have offered their objects, in all rounds; shared by all of them. */
static atomic_uint *nr_offered;

static void wait_for_others(void)
{
	unsigned int last = (atomic_fetch_add(nr_offered, 1) / nr_threads + 1) * nr_threads;

	while (atomic_load(nr_offered) < last)
		usleep(1000);
}

/*
 * A process that offers SERVICES objects, and dies when the processes of the other threads have
 * done so, again and again; the receiver has references to as many of them as it may, and requests
 * their death notifications.
 */
static void *offer_services(void *arg)
{
	for (;;) {
		pid_t pid = fork();

		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			offer(open_or_die());
			wait_for_others();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return arg;
}

/* Calls from children that share the memory of this process, which waits for them. */
static void *call_from_vfork(void *arg)
{
	struct send send = { .command = BC_TRANSACTION, .data.flags = TF_ONE_WAY };
	char returns[256];

	for (;;) {
		pid_t pid = vfork();
		int fd;

		if (!pid) {
			fd = open(device, O_RDWR | O_CLOEXEC);
			write_read(fd, &send, sizeof(send), returns, sizeof(returns));
			_exit(fd < 0);
		}
		if (waitpid(pid, NULL, 0) < 0)
			check_daemon();
	}
	return arg;
}

static void *receive(void *arg)
{
	serve();
	return arg;
}

/* In a child that shares the memory of this process. */
static void *receive_in_vfork(void *arg)
{
	if (!vfork())
		serve();
	return arg;
}

/* Processes that end, or become another program, while their threads are in the middle of calls. */
static void *end_in_calls(void *arg)
{
	for (unsigned int round = 0;; round++) {
		pid_t pid = fork();

		if (!pid) {
			int fd = open_or_die();

			for (int i = 0; i < 8; i++)
				start_thread(call, &fd);
			usleep(1000 + round % 8 * 500);
			if (round % 2)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return arg;
}

/* Opens that take replies until there is no space, and free none of them. */
static void *hoard(void *arg)
{
	struct send send = { .command = BC_TRANSACTION, .data.code = LARGE_REPLY };
	int fd = open_or_die();
	char returns[256];
	ssize_t got;

	do {
		got = call_once(fd, &send, returns, sizeof(returns));
	} while (got > 0 && find(returns, got, BR_REPLY));
	pause_forever();
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
	struct watch watch = { BC_ACQUIRE, 0, BC_REQUEST_DEATH_NOTIFICATION, { 0, 1 } };
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
	{ "clients", .is_served = true, .run = be_process },
	{ "socket-clients", .run = be_process },
	{ "hoard", .is_served = true, .run = hoard },
	{ "vfork", .is_served = true, .run = call_from_vfork },
	{ "receive", .run = receive },
	{ "receive-vfork", .run = receive_in_vfork },
	{ "exit", .is_served = true, .run = end_in_calls },
	{ "services", .is_served = true, .run = offer_services },
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
	nr_threads = count;
	nr_offered = mmap(NULL, sizeof(*nr_offered), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	while (count--)
		start_thread(kind->run, &fd);
}

int main(int argc, char **argv)
{
	version_if_asked(argc, argv);
	if (argc != 4)
		errx(2, "usage: flood DEVICE KIND THREADS");
	device = argv[1];
	start(argv[2], (unsigned int)atoi(argv[3]));
	puts("begun");
	fflush(stdout);
	pause_forever();
	return 0;
}
