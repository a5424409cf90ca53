// SPDX-License-Identifier: GPL-2.0
/*
 * hostile-flood DEVICE KIND THREADS: as many requests of one kind as the threads can make, until it
 * is killed. Writes a line when it begins. Calls go to a process of the same user, which it starts
 * and which manages the device.
 */
#include "tests/lib/binder.h"
#include "tests/version.h"

#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
static const struct port_options mapped = { .map_bytes = MAP_BYTES };
static const struct port_options unmapped = { .no_map = true };

struct kind {
	const char *name;
	bool is_served;			/* needs a receiver */
	bool one_way;
	size_t payload;
	void *(*run)(void *port);	/* a thread */
};

static const struct kind *kind;
static unsigned int nr_threads;

/* Returns @err. With the daemon the flood ends too, and burns no processor time. */
static int check_daemon(int err)
{
	if (err == -ENOTCONN || err == -ECONNABORTED || err == -ENOENT)
		_exit(0);
	return err;
}

static void open_or_die(struct port *port)
{
	int err = check_daemon(port_open(port, device, mapped));

	if (err)
		errx(1, "%s: %s", device, strerror(-err));
}

/* Watches the objects of a call, and closes its files. */
static void take_objects(struct looper *looper, const struct returned *call)
{
	const union object *object;

	for (size_t i = 0; (object = returned_object(call, i)); i++) {
		if (object->hdr.type == BINDER_TYPE_FD) {
			close((int)object->fd.fd);
			continue;
		}
		commands_put_u32(&looper->out, BC_ACQUIRE, object->flat.handle);
		commands_put_notice(&looper->out, BC_REQUEST_DEATH_NOTIFICATION,
				    object->flat.handle, object->flat.handle);
	}
}

/* Frees what it gets and replies to it. */
static void serve(void)
{
	static uint8_t commands[BATCH * 32 + LOOPER_BYTES];
	static char large[PAYLOAD_MAX / 2];
	struct looper looper;
	struct returned item;
	struct port port;

	open_or_die(&port);
	if (port_manage(&port))
		errx(1, "%s has a context manager", device);
	looper_init(&looper, &port);
	looper.out = (struct commands){ .bytes = commands, .room = sizeof(commands) };
	commands_put(&looper.out, BC_ENTER_LOOPER, NULL);
	for (;;) {
		struct binder_transaction_data reply = { .data.ptr.buffer = (uintptr_t)large };

		if (check_daemon(looper_take(&looper, &item)))
			continue;
		if (item.cmd == BR_DEAD_BINDER) {
			commands_acknowledge(&looper.out, &item);
			commands_put_u32(&looper.out, BC_RELEASE, (uint32_t)item.cookie);
		}
		if (item.cmd != BR_TRANSACTION)
			continue;
		take_objects(&looper, &item);
		looper_free(&looper, &item.txn);
		reply.data_size = item.txn.code == LARGE_REPLY ? sizeof(large) : 0;
		if (!(item.txn.flags & TF_ONE_WAY))
			commands_put_reply(&looper.out, &reply);
	}
}

/* Makes a call, and frees the reply. */
static void call_once(struct looper *looper, const struct binder_transaction_data *call)
{
	struct returned item;

	if (!check_daemon(looper_call(looper, call, &item)) && item.cmd == BR_REPLY)
		looper_free(looper, &item.txn);
}

/* @nr objects of this process, from number @first on. */
static struct payload make_objects(unsigned int first, unsigned int nr)
{
	size_t size = nr * sizeof(struct flat_binder_object);
	struct payload payload = {
		.data = calloc(1, size + 1),
		.room = size,
		.offsets = calloc(nr + 1, sizeof(binder_size_t)),
		.max = nr,
	};

	for (unsigned int i = first + 1; i <= first + nr; i++)
		payload_add(&payload, &(union object)OBJ_BINDER(i, i));
	return payload;
}

/* One call, with @nr objects of this process, from number @first on. */
static void offer_batch(struct looper *looper, unsigned int first, unsigned int nr)
{
	struct payload payload = make_objects(first, nr);
	struct binder_transaction_data call = payload_txn(&payload);

	call_once(looper, &call);
	free(payload.data);
	free(payload.offsets);
}

static void offer(void)
{
	struct looper looper;
	struct port port;

	open_or_die(&port);
	looper_init(&looper, &port);
	for (unsigned int nr = 0; nr < SERVICES; nr += BATCH)
		offer_batch(&looper, nr, BATCH);
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

static void *ask_version(void *port)
{
	struct binder_version version;

	for (;;)
		check_daemon(port_ioctl(port, BINDER_VERSION, &version));
	return NULL;
}

static void *call(void *port)
{
	struct binder_transaction_data call = {
		.flags = kind->one_way ? TF_ONE_WAY : 0,
		.data_size = kind->payload,
		.data.ptr.buffer = (uintptr_t)calloc(1, kind->payload ? kind->payload : 1),
	};
	struct looper looper;

	looper_init(&looper, port);
	for (;;) {
		if (!kind->one_way) {
			call_once(&looper, &call);
			continue;
		}
		commands_put_call(&looper.out, &call);
		check_daemon(looper_read(&looper));
	}
	return NULL;
}

/* Calls with many objects. The last of them is wrong, so that all is undone. */
static void *send_objects(void *port)
{
	struct payload payload = make_objects(0, OBJECTS);
	struct binder_transaction_data call = payload_txn(&payload);
	struct looper looper;

	((struct flat_binder_object *)payload.data)[OBJECTS - 1].hdr.type = 0;
	looper_init(&looper, port);
	for (;;) {
		commands_put_call(&looper.out, &call);
		check_daemon(looper_read(&looper));
	}
	return NULL;
}

/* Opens, maps as each client does, and closes. */
static void *open_and_close(void *arg)
{
	struct port port;

	for (;;)
		if (!check_daemon(port_open(&port, device, mapped)))
			port_close(&port);
	return arg;
}

static void *look_up(void *arg)
{
	struct stat st;

	for (;;)
		check_daemon(stat(device, &st) ? -errno : 0);
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
	struct looper looper;
	struct port port;
	int pair[2];
	char byte = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		err(1, "socketpair");
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (kind->is_served)
			open_or_die(&port);
		looper_init(&looper, &port);
		for (;;) {
			if (kind->is_served)
				offer_batch(&looper, 0, 0);
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
			offer();
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
	struct binder_transaction_data call = { .flags = TF_ONE_WAY };
	struct looper looper;
	struct port port;

	for (;;) {
		pid_t pid = vfork();
		int err;

		if (!pid) {
			err = port_open(&port, device, unmapped);
			looper_init(&looper, &port);
			commands_put_call(&looper.out, &call);
			check_daemon(looper_read(&looper));
			_exit(err < 0);
		}
		if (waitpid(pid, NULL, 0) < 0)
			check_daemon(-errno);
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
			struct port port;

			open_or_die(&port);
			for (int i = 0; i < 8; i++)
				start_thread(call, &port);
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
	struct binder_transaction_data call = { .code = LARGE_REPLY };
	struct returned item = { 0 };
	struct looper looper;
	struct port port;

	open_or_die(&port);
	looper_init(&looper, &port);
	while (!check_daemon(looper_call(&looper, &call, &item)) && item.cmd == BR_REPLY)
		;
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
	static struct port opens[NOTICES];
	struct looper looper;
	struct port manager;

	for (;;) {
		unsigned int nr = 0;

		open_or_die(&manager);
		while (check_daemon(port_manage(&manager)))
			usleep(100);	/* the last one is about to end */
		while (nr < NOTICES && !port_open(&opens[nr], device, unmapped)) {
			looper_init(&looper, &opens[nr++]);
			commands_put_u32(&looper.out, BC_ACQUIRE, 0);
			commands_put_notice(&looper.out, BC_REQUEST_DEATH_NOTIFICATION, 0, 1);
			looper_flush(&looper);
		}
		port_close(&manager);
		while (nr)
			port_close(&opens[--nr]);
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
	static struct port port;

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
	open_or_die(&port);
	nr_threads = count;
	nr_offered = mmap(NULL, sizeof(*nr_offered), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	while (count--)
		start_thread(kind->run, &port);
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
