// SPDX-License-Identifier: GPL-2.0
/*
 * The driver queues work for a reader before the system call that caused it returns, but not all
 * causes are system calls (a dead process is cleaned up later). So an expectation reads until
 * something arrives or the time is up.
 */
#include <errno.h>
#include <stdio.h>

#include "expect.h"
#include "test.h"

static void print_return(const struct returned *item)
{
	fprintf(stderr, "    %s", command_name(item->cmd));
	switch (item->cmd) {
	case BR_TRANSACTION:
	case BR_TRANSACTION_SEC_CTX:
	case BR_REPLY:
		fprintf(stderr,
			" ptr %llx cookie %llx code %x flags %x pid %d euid %u data %llu/%llu",
			(unsigned long long)item->txn.target.ptr,
			(unsigned long long)item->txn.cookie, item->txn.code, item->txn.flags,
			item->txn.sender_pid, item->txn.sender_euid,
			(unsigned long long)item->txn.data_size,
			(unsigned long long)item->txn.offsets_size);
		break;
	case BR_INCREFS:
	case BR_ACQUIRE:
	case BR_RELEASE:
	case BR_DECREFS:
		fprintf(stderr, " ptr %llx cookie %llx", (unsigned long long)item->ref.ptr,
			(unsigned long long)item->ref.cookie);
		break;
	default:
		if (_IOC_SIZE(item->cmd))
			fprintf(stderr, " %llx", (unsigned long long)item->cookie);
	}
	fputc('\n', stderr);
}

static void print_queue(const struct client *client, size_t from)
{
	fprintf(stderr, "  got%s\n", from == client->tail ? " nothing" : ":");
	for (size_t i = from; i < client->tail; i++)
		print_return(&client->queue[i % QUEUE_LENGTH]);
}

/* Handle a return that tests seldom check; true if it was one. */
static bool pass_over(struct client *client, const struct returned *item)
{
	if (item->cmd == BR_NOOP)
		return true;
	if (client->show_refs || !returned_is_count(item))
		return false;
	commands_acknowledge(&client->out, item);
	return true;
}

/* The next return that counts among those already read. */
static struct returned *next_queued(struct client *client)
{
	while (client->head != client->tail) {
		struct returned *item = &client->queue[client->head % QUEUE_LENGTH];

		if (!pass_over(client, item))
			return item;
		client->head++;
	}
	if (client->out.size)
		flush(client);
	return NULL;
}

const struct returned *peek(struct client *client)
{
	struct returned *item = next_queued(client);
	int ret;

	if (item)
		return item;
	ret = read_once(client, READ_SIZE);
	if (ret && ret != -EAGAIN)
		FAIL("read: %s", test_errno_name(-ret));
	return next_queued(client);
}

const struct returned *expect_return(struct client *client, uint32_t cmd, const char *file,
				     int line)
{
	int64_t deadline = now_ms() + EXPECT_TIMEOUT_MS;
	const struct returned *item;

	while (!(item = peek(client)) && now_ms() < deadline)
		sleep_ms(1);
	if (!item || item->cmd != cmd) {
		print_queue(client, client->head);
		test_fail(file, line, "expected %s", command_name(cmd));
	}
	client->head++;
	return shared_copy(item, sizeof(*item));
}

void expect_no_return(struct client *client, const char *file, int line)
{
	if (peek(client)) {
		print_queue(client, client->head);
		test_fail(file, line, "expected nothing to read");
	}
}

void answer(struct client *server, const struct returned *got)
{
	put_free(server, got);
	reply(server);
	expect(server, BR_TRANSACTION_COMPLETE);
}

void finish_call(struct client *client)
{
	expect(client, BR_TRANSACTION_COMPLETE);
	free_buffer(client, expect(client, BR_REPLY));
}

void complete_call(struct client *server, const struct returned *got, struct client *client)
{
	answer(server, got);
	finish_call(client);
}

void round_trip(struct client *client, uint32_t handle, struct client *server)
{
	static uint32_t code = 0x1000;
	const struct returned *got;

	call(client, handle, .code = ++code);
	got = expect(server, BR_TRANSACTION);
	EXPECT_EQ(got->txn.code, code);
	answer(server, got);
	finish_call(client);
}

uint32_t give(struct client *from, struct client *to, uint64_t ptr, uint64_t cookie, uint32_t flags)
{
	const struct returned *got;
	uint32_t handle;

	call(from, 0, .objects = { OBJ_BINDER(ptr, cookie, .flags = flags) });
	got = expect(to, BR_TRANSACTION);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_HANDLE);
	handle = object_at(got, 0)->flat.handle;
	put_u32(to, BC_ACQUIRE, handle);
	answer(to, got);
	finish_call(from);
	return handle;
}

struct holding holding_new(void)
{
	struct holding h = { .holder = manager_new(), .server = client_new() };

	h.handle = give(h.server, h.holder, 0x10, 0x20, 0);
	return h;
}

struct binder_extended_error extended_error(struct client *client)
{
	struct binder_extended_error error = { 0 };

	EXPECT_OK(client_ioctl(client, BINDER_GET_EXTENDED_ERROR, &error));
	return error;
}
