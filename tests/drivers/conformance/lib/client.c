// SPDX-License-Identifier: GPL-2.0
/*
 * A client's system calls are made by its actor, on memory that it shares with the director. The
 * contents of a transaction are copied out of the mapping in the same step as the read, by the
 * process that has the mapping; so a test can check them in the director at any time.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

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
	struct client *client = step->client;
	int flags = O_RDWR | O_CLOEXEC | (step->options.blocking ? 0 : O_NONBLOCK);
	const char *device = step->options.device ? step->options.device : test_device();

	client->fd = open(device, flags);
	if (client->fd < 0)
		FAIL("open %s: %s", device, test_errno_name(errno));
	if (step->options.no_map)
		return;
	client->map_size = step->options.map_size ? step->options.map_size : MAP_SIZE;
	client->map = mmap(NULL, client->map_size, PROT_READ, MAP_PRIVATE | MAP_NORESERVE,
			   client->fd, 0);
	if (client->map == MAP_FAILED)
		FAIL("mmap %s: %s", device, test_errno_name(errno));
}

static struct client *client_alloc(struct actor *by)
{
	struct client *client = shared_alloc(sizeof(*client));

	client->by = by;
	client->out = shared_alloc(OUT_SIZE);
	client->raw = shared_alloc(READ_SIZE);
	client->queue = shared_alloc(QUEUE_LENGTH * sizeof(*client->queue));
	return client;
}

struct client *client_open(struct client_options options)
{
	struct client *client = client_alloc(options.by ? options.by : actor_process());

	if (options.device)
		options.device = shared_copy(options.device, strlen(options.device) + 1);
	step_run(client, do_open, (struct step){ .options = options });
	return client;
}

struct client *client_new(void)
{
	return client_open((struct client_options){ 0 });
}

struct client *client_again(struct client *of)
{
	return client_open((struct client_options){ .by = of->by });
}

struct client *client_thread(struct client *of)
{
	struct client *client = client_alloc(actor_thread(of->by));

	client->fd = of->fd;
	client->map = of->map;
	client->map_size = of->map_size;
	return client;
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
	struct client *client = step->client;

	if (client->map)
		munmap(client->map, client->map_size);
	close(client->fd);
	client->map = NULL;
	client->fd = -1;
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

	step->ret = ioctl(step->client->fd, step->cmd, step->arg);
	if (step->ret < 0)
		step->ret = -errno;
}

int client_ioctl_raw(struct client *client, unsigned long cmd, unsigned long arg)
{
	return (int)step_run(client, do_ioctl, (struct step){ .cmd = cmd, .arg = arg });
}

int client_ioctl(struct client *client, unsigned long cmd, void *arg)
{
	void *shared = shared_copy(arg, _IOC_SIZE(cmd));
	int ret = client_ioctl_raw(client, cmd, (unsigned long)shared);

	memcpy(arg, shared, _IOC_SIZE(cmd));
	return ret;
}

static void do_mmap(void *arg)
{
	struct step *step = arg;
	void *at = mmap(NULL, step->size, step->prot, step->flags, step->client->fd, step->offset);

	step->ret = at == MAP_FAILED ? -errno : (long)at;
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

void put_bytes(struct client *client, const void *bytes, size_t size)
{
	if (client->out_size + size > OUT_SIZE)
		FAIL("too many commands queued");
	memcpy(client->out + client->out_size, bytes, size);
	client->out_size += size;
}

void put_cmd(struct client *client, uint32_t cmd)
{
	put_bytes(client, &cmd, sizeof(cmd));
}

void put_u32(struct client *client, uint32_t cmd, uint32_t value)
{
	put_cmd(client, cmd);
	put_bytes(client, &value, sizeof(value));
}

void put_u64(struct client *client, uint32_t cmd, uint64_t value)
{
	put_cmd(client, cmd);
	put_bytes(client, &value, sizeof(value));
}

void put_ref(struct client *client, uint32_t cmd, uint64_t ptr, uint64_t cookie)
{
	struct binder_ptr_cookie body = { ptr, cookie };

	put_cmd(client, cmd);
	put_bytes(client, &body, sizeof(body));
}

void put_handle_cookie(struct client *client, uint32_t cmd, uint32_t handle, uint64_t cookie)
{
	struct binder_handle_cookie body = { handle, cookie };

	put_cmd(client, cmd);
	put_bytes(client, &body, sizeof(body));
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
		.write_size = client->out_size,
		.write_buffer = (uintptr_t)shared_copy(client->out, client->out_size),
	};

	client->out_size = 0;
	return write_read(client, &bwr);
}

void flush(struct client *client)
{
	size_t size = client->out_size;
	int ret = try_flush(client);

	if (ret)
		FAIL("BINDER_WRITE_READ (write of %zu bytes): %s", size, test_errno_name(-ret));
	if (client->last.write_consumed != size)
		FAIL("write consumed %llu of %zu bytes",
		     (unsigned long long)client->last.write_consumed, size);
}

/* An address range inside the client's mapping. */
static bool mapped(const struct client *client, uint64_t at, uint64_t size)
{
	uint64_t base = (uintptr_t)client->map;

	return base && at >= base && size <= client->map_size &&
	       at - base <= client->map_size - size;
}

static void keep_payload(struct client *client, struct returned *item)
{
	const struct binder_transaction_data *txn = &item->txn;

	if (mapped(client, txn->data.ptr.buffer, txn->data_size))
		item->data = shared_copy((void *)(uintptr_t)txn->data.ptr.buffer, txn->data_size);
	if (mapped(client, txn->data.ptr.offsets, txn->offsets_size))
		item->offsets = shared_copy((void *)(uintptr_t)txn->data.ptr.offsets,
					    txn->offsets_size);
	if (item->cmd == BR_TRANSACTION_SEC_CTX && mapped(client, item->with_secctx.secctx, 1))
		item->secctx = shared_copy((void *)(uintptr_t)item->with_secctx.secctx,
					   strlen((char *)(uintptr_t)item->with_secctx.secctx) + 1);
}

static void parse(struct client *client)
{
	size_t at = 0;

	while (at + sizeof(uint32_t) <= client->raw_size) {
		struct returned *item = &client->queue[client->tail % QUEUE_LENGTH];
		size_t size;

		memset(item, 0, sizeof(*item));
		memcpy(&item->cmd, client->raw + at, sizeof(item->cmd));
		at += sizeof(item->cmd);
		size = _IOC_SIZE(item->cmd);
		if (_IOC_TYPE(item->cmd) != 'r' || size > sizeof(item->with_secctx) ||
		    at + size > client->raw_size)
			FAIL("read returned 0x%x at byte %zu of %zu", item->cmd, at - 4,
			     client->raw_size);
		memcpy(&item->with_secctx, client->raw + at, size);
		at += size;
		if (item->cmd == BR_TRANSACTION || item->cmd == BR_TRANSACTION_SEC_CTX ||
		    item->cmd == BR_REPLY)
			keep_payload(client, item);
		client->tail++;
	}
}

static void do_read(void *arg)
{
	struct step *step = arg;
	struct client *client = step->client;
	struct binder_write_read bwr = {
		.read_size = step->size,
		.read_buffer = (uintptr_t)client->raw,
	};

	step->ret = ioctl(client->fd, BINDER_WRITE_READ, &bwr) < 0 ? -errno : 0;
	client->last = bwr;
	client->raw_size = bwr.read_consumed;
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
