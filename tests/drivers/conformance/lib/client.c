// SPDX-License-Identifier: GPL-2.0
/*
 * A client's system calls are made by its actor, on memory that it shares with the director. The
 * contents of a transaction are copied out of the mapping in the same step as the read, by the
 * process that has the mapping; so a test can check them in the director at any time.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "actor_process.h"
#include "client.h"
#include "test.h"

#define OUT_SIZE (256 * 1024)

struct step {
	struct client *client;
	struct client_options options;
	unsigned long cmd;
	unsigned long arg;
	size_t size;
	int prot, flags;
	off_t offset;
	long ret;
};

static long step_run(struct client *client, void (*fn)(void *), struct step step)
{
	struct step *shared;

	step.client = client;
	shared = shared_copy(&step, sizeof(step));
	actor_run(client->by, fn, shared);
	return shared->ret;
}

static void do_open(void *arg)
{
	struct step *step = arg;
	const struct client_options *options = &step->options;
	const char *device = options->device ? options->device : test_device();
	int err = port_open(step->client->port, device,
			    (struct port_options){ .system = process_ports,
						   .nonblocking = !options->blocking,
						   .no_map = options->no_map,
						   .map_bytes = options->map_size });

	if (err)
		FAIL("open and mmap %s: %s", device, test_errno_name(-err));
}

static struct client *client_alloc(struct actor *by, struct port *port)
{
	struct client *client = shared_alloc(sizeof(*client));

	client->by = by;
	client->port = port;
	client->out = (struct commands){ .bytes = shared_alloc(OUT_SIZE), .room = OUT_SIZE };
	client->in.bytes = shared_alloc(READ_SIZE);
	client->queue = shared_alloc(QUEUE_LENGTH * sizeof(*client->queue));
	return client;
}

struct client *client_open(struct client_options options)
{
	struct client *client = client_alloc(options.by ? options.by : actor_process(),
					     shared_alloc(sizeof(*client->port)));

	if (options.device)
		options.device = shared_copy(options.device, strlen(options.device) + 1);
	step_run(client, do_open, (struct step){ .options = options });
	return client;
}

struct client *client_new(void)
{
	return client_open((struct client_options){ 0 });
}

static void do_set_euid(void *arg)
{
	if (seteuid(*(uid_t *)arg))
		FAIL("seteuid: %s", test_errno_name(errno));
}

void client_set_euid(struct client *client, uid_t uid)
{
	client_run(client, do_set_euid, shared_copy(&uid, sizeof(uid)));
}

struct client *client_again(struct client *of)
{
	return client_open((struct client_options){ .by = of->by });
}

struct client *client_thread(struct client *of)
{
	return client_alloc(actor_thread(of->by), of->port);
}

int ask_to_manage(struct client *client, unsigned long cmd, void *arg)
{
	int64_t deadline = now_ms() + STEP_TIMEOUT_MS;
	int ret;

	while ((ret = client_ioctl(client, cmd, arg)) == -EBUSY) {
		if (now_ms() > deadline)
			break;
		sleep_ms(2);
	}
	return ret;
}

void become_manager(struct client *client)
{
	int zero = 0;
	int ret = ask_to_manage(client, BINDER_SET_CONTEXT_MGR, &zero);

	if (ret)
		FAIL("BINDER_SET_CONTEXT_MGR: %s", test_errno_name(-ret));
}

struct client *manager_open(struct client_options options)
{
	struct client *client = client_open(options);

	become_manager(client);
	put_cmd(client, BC_ENTER_LOOPER);
	flush(client);
	return client;
}

struct client *manager_new(void)
{
	return manager_open((struct client_options){ 0 });
}

static void do_close(void *arg)
{
	struct step *step = arg;

	port_close(step->client->port);
}

void client_close(struct client *client)
{
	step_run(client, do_close, (struct step){ 0 });
}

static void leave_thread(void *arg)
{
	(void)arg;
	pthread_exit(NULL);
}

void client_end_thread(struct client *client)
{
	actor_start(client->by, leave_thread, NULL);
	sleep_ms(CLEANUP_MS);
}

void client_kill(struct client *client)
{
	actor_kill(client->by);
}

void client_kill_and_wait(struct client *client)
{
	client_kill(client);
	sleep_ms(CLEANUP_MS);
}

static void do_ioctl(void *arg)
{
	struct step *step = arg;
	struct port *port = step->client->port;

	step->ret = port->system->ioctl(port, step->cmd, step->arg);
}

int client_ioctl_raw(struct client *client, unsigned long cmd, unsigned long arg)
{
	return (int)step_run(client, do_ioctl, (struct step){ .cmd = cmd, .arg = arg });
}

int client_ioctl(struct client *client, unsigned long cmd, void *arg)
{
	void *shared = shared_copy(arg, _IOC_SIZE(cmd));
	int ret = client_ioctl_raw(client, cmd, (unsigned long)shared);

	if (_IOC_SIZE(cmd))
		memcpy(arg, shared, _IOC_SIZE(cmd));
	return ret;
}

static void do_mmap(void *arg)
{
	struct step *step = arg;
	struct port *port = step->client->port;

	step->ret = port->system->map(port, step->size, step->prot, step->flags, step->offset);
}

long client_mmap(struct client *client, size_t size, int prot, int flags, off_t offset)
{
	return step_run(client, do_mmap,
			(struct step){
				.size = size, .prot = prot, .flags = flags, .offset = offset });
}

void client_run(struct client *client, void (*step)(void *arg), void *arg)
{
	actor_run(client->by, step, arg);
}

struct memory {
	const void *at;
	size_t size;
	uint8_t bytes[];
};

static void copy_memory(void *arg)
{
	struct memory *memory = arg;

	memcpy(memory->bytes, memory->at, memory->size);
}

void *read_memory(struct client *client, uint64_t at, size_t size)
{
	struct memory *memory = shared_alloc(sizeof(*memory) + size);

	memory->at = (const void *)(uintptr_t)at;
	memory->size = size;
	client_run(client, copy_memory, memory);
	return memory->bytes;
}

int freeze(struct client *by, struct client *target, bool enable, uint32_t timeout_ms)
{
	struct binder_freeze_info info = {
		.pid = (uint32_t)actor_pid(target->by), .enable = enable, .timeout_ms = timeout_ms,
	};

	return client_ioctl(by, BINDER_FREEZE, &info);
}

int write_read(struct client *client, struct binder_write_read *bwr)
{
	int ret = client_ioctl(client, BINDER_WRITE_READ, bwr);

	client->last = *bwr;
	return ret;
}

int try_flush(struct client *client)
{
	struct binder_write_read bwr = {
		.write_size = client->out.size,
		.write_buffer = (uintptr_t)shared_copy(client->out.bytes, client->out.size),
	};

	if (client->out.overflowed)
		FAIL("too many commands queued");
	client->out.size = 0;
	return write_read(client, &bwr);
}

void flush(struct client *client)
{
	size_t size = client->out.size;
	int ret = try_flush(client);

	if (ret)
		FAIL("BINDER_WRITE_READ (write of %zu bytes): %s", size, test_errno_name(-ret));
	if (client->last.write_consumed != size)
		FAIL("write consumed %llu of %zu bytes",
		     (unsigned long long)client->last.write_consumed, size);
}

/* A copy of what is at an address; NULL unless that is inside the client's mapping. */
static void *keep(const struct port *port, const void *from, size_t size)
{
	uintptr_t at = (uintptr_t)from - (uintptr_t)port->map;

	if (!port->map || at >= port->map_bytes || size > port->map_bytes - at)
		return NULL;
	return shared_copy(from, size);
}

static void keep_payload(const struct port *port, struct returned *item)
{
	item->data = keep(port, item->data, item->txn.data_size);
	item->offsets = keep(port, item->offsets, item->txn.offsets_size);
	if (item->secctx)
		item->secctx = keep(port, item->secctx, keep(port, item->secctx, 1) ?
								strlen(item->secctx) + 1 : 1);
}

static void parse(struct client *client)
{
	struct returns *in = &client->in;
	struct returned *item = &client->queue[client->tail % QUEUE_LENGTH];

	while (returns_next(in, item)) {
		if (_IOC_TYPE(item->cmd) != 'r')
			FAIL("read returned 0x%x before byte %zu of %zu", item->cmd, in->at,
			     in->size);
		if (returned_is_payload(item))
			keep_payload(client->port, item);
		item = &client->queue[++client->tail % QUEUE_LENGTH];
	}
	if (in->at != in->size)
		FAIL("read returned no whole command at byte %zu of %zu", in->at, in->size);
}

static void do_read(void *arg)
{
	struct step *step = arg;
	struct client *client = step->client;
	struct binder_write_read bwr = {
		.read_size = step->size,
		.read_buffer = (uintptr_t)client->in.bytes,
	};

	step->ret = port_ioctl(client->port, BINDER_WRITE_READ, &bwr);
	client->last = bwr;
	client->in.at = 0;
	client->in.size = bwr.read_consumed;
	parse(client);
}

int read_once(struct client *client, size_t size)
{
	return (int)step_run(client, do_read, (struct step){ .size = size });
}

void read_begin(struct client *client)
{
	struct step step = { .client = client, .size = READ_SIZE };

	client->pending = shared_copy(&step, sizeof(step));
	actor_start(client->by, do_read, client->pending);
}

int read_end(struct client *client, int timeout_ms)
{
	struct step *step = client->pending;

	if (!actor_wait(client->by, timeout_ms))
		return -EINPROGRESS;
	return (int)step->ret;
}
