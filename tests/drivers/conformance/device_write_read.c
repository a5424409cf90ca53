// SPDX-License-Identifier: GPL-2.0
/* BINDER_WRITE_READ itself: what is consumed, in which order, and where errors stop it. */
#include <string.h>
#include <sys/mman.h>

#include "expect.h"
#include "test.h"

#define UNKNOWN_COMMAND _IOW('c', 77, uint32_t)

/* Write these bytes; the result is in client->last. */
static int write_bytes(struct client *client, const void *bytes, size_t size)
{
	struct binder_write_read bwr = {
		.write_size = size,
		.write_buffer = (uintptr_t)shared_copy(bytes, size),
	};

	return write_read(client, &bwr);
}

static uint32_t raw_word(const struct client *client, size_t index)
{
	uint32_t word;

	memcpy(&word, client->in.bytes + index * sizeof(word), sizeof(word));
	return word;
}

TEST(write_read_nothing_is_fine, "An empty BINDER_WRITE_READ succeeds and consumes nothing.")
{
	struct client *client = client_new();
	struct binder_write_read bwr = { 0 };

	EXPECT_OK(write_read(client, &bwr));
	EXPECT_EQ(bwr.write_consumed, 0);
	EXPECT_EQ(bwr.read_consumed, 0);
}

TEST(write_consumes_all, "A successful write consumes every byte and changes no read field.")
{
	struct client *client = client_new();
	uint32_t words[] = { BC_ENTER_LOOPER, BC_EXIT_LOOPER };

	EXPECT_OK(write_bytes(client, words, sizeof(words)));
	EXPECT_EQ(client->last.write_consumed, sizeof(words));
	EXPECT_EQ(client->last.read_consumed, 0);
}

TEST(write_starts_at_consumed, "Bytes that write_consumed counts already are not executed again.")
{
	struct client *client = client_new();
	uint32_t words[] = { UNKNOWN_COMMAND, 0, BC_ENTER_LOOPER };
	struct binder_write_read bwr = {
		.write_size = sizeof(words),
		.write_consumed = 8,
		.write_buffer = (uintptr_t)shared_copy(words, sizeof(words)),
	};

	EXPECT_OK(write_read(client, &bwr));
	EXPECT_EQ(bwr.write_consumed, sizeof(words));
}

TEST(write_unknown_command_is_einval,
     "An unknown command fails with EINVAL; what came before it is consumed.")
{
	struct client *client = client_new();
	uint32_t words[] = { BC_ENTER_LOOPER, UNKNOWN_COMMAND, 0, BC_EXIT_LOOPER };

	EXPECT_ERR(write_bytes(client, words, sizeof(words)), EINVAL);
	EXPECT_EQ(client->last.write_consumed, 4);
}

TEST(write_return_command_is_einval, "A BR_ command in place of a BC_ command is unknown.")
{
	struct client *client = client_new();
	uint32_t words[] = { BR_NOOP };

	EXPECT_ERR(write_bytes(client, words, sizeof(words)), EINVAL);
	EXPECT_EQ(client->last.write_consumed, 0);
}

TEST(write_unsupported_commands_are_einval,
     "BC_ACQUIRE_RESULT and BC_ATTEMPT_ACQUIRE fail with EINVAL.")
{
	struct client *client = client_new();
	uint32_t result[] = { BC_ACQUIRE_RESULT, 0 };
	uint32_t attempt[] = { BC_ATTEMPT_ACQUIRE, 0, 0 };

	EXPECT_ERR(write_bytes(client, result, sizeof(result)), EINVAL);
	EXPECT_ERR(write_bytes(client, attempt, sizeof(attempt)), EINVAL);
}

TEST(write_error_skips_the_read, "When the write fails nothing is read and read_consumed is 0.")
{
	struct client *manager = manager_new(), *client = client_new();
	uint32_t words[] = { UNKNOWN_COMMAND };
	struct binder_write_read bwr = {
		.write_size = sizeof(words),
		.write_buffer = (uintptr_t)shared_copy(words, sizeof(words)),
		.read_size = 256,
		.read_consumed = 8,
		.read_buffer = (uintptr_t)shared_alloc(256),
	};

	call_oneway(client, 0);
	EXPECT_ERR(write_read(manager, &bwr), EINVAL);
	EXPECT_EQ(bwr.read_consumed, 0);
	expect(manager, BR_TRANSACTION);
}

TEST(write_stops_behind_a_failed_call, "A failed call ends the write; the rest is not executed.")
{
	struct client *manager = manager_new(), *client = client_new();
	size_t first;

	put_txn(client, (struct txn){ .handle = 99 });
	first = client->out.size;
	put_txn(client, (struct txn){ .handle = 0, .flags = TF_ONE_WAY });
	EXPECT_OK(try_flush(client));
	EXPECT_EQ(client->last.write_consumed, first);
	expect(client, BR_FAILED_REPLY);
	expect_nothing(manager);
}

TEST(write_waits_for_the_error_to_be_read,
     "Until a failure has been read no further command is executed.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 99);
	put_txn(client, (struct txn){ .handle = 0, .flags = TF_ONE_WAY });
	EXPECT_OK(try_flush(client));
	EXPECT_EQ(client->last.write_consumed, 0);
	expect(client, BR_FAILED_REPLY);
	expect_nothing(manager);
	round_trip(client, 0, manager);
}

TEST(write_bad_buffer_is_efault, "A write buffer at an unmapped address fails with EFAULT.")
{
	struct client *client = client_new();
	struct binder_write_read bwr = { .write_size = 16, .write_buffer = 64 };

	EXPECT_ERR(write_read(client, &bwr), EFAULT);
	EXPECT_EQ(bwr.write_consumed, 0);
}

/* The last bytes before an unmapped address, filled from the end. */
static void *at_the_edge(const void *bytes, size_t size)
{
	uintptr_t pages = (uintptr_t)shared_alloc(3 * page_size());
	uint8_t *end = (uint8_t *)(pages - pages % page_size() + 2 * page_size());

	memcpy(end - size, bytes, size);
	return end - size;
}

static void unmap_page(void *arg)
{
	EXPECT_EQ(munmap(arg, page_size()), 0);
}

/* Write a command of which only `size` bytes are there. */
static int write_cut_off(struct client *client, const void *bytes, size_t size)
{
	uint8_t *at = at_the_edge(bytes, size);
	struct binder_write_read bwr = { .write_size = size, .write_buffer = (uintptr_t)at };

	client_run(client, unmap_page, at + size);
	return write_read(client, &bwr);
}

TEST(write_truncated_argument_is_efault,
     "A command without its argument fails with EFAULT and is not consumed.")
{
	uint32_t words[] = { BC_ENTER_LOOPER, BC_FREE_BUFFER, 0 };
	struct client *client = client_new();

	EXPECT_ERR(write_cut_off(client, words, sizeof(words)), EFAULT);
	EXPECT_EQ(client->last.write_consumed, 4);
}

TEST(write_truncated_command_is_efault, "Two bytes of a command fail with EFAULT.")
{
	uint32_t word = BC_ENTER_LOOPER;
	struct client *client = client_new();

	EXPECT_ERR(write_cut_off(client, &word, 2), EFAULT);
	EXPECT_EQ(client->last.write_consumed, 0);
}

TEST(write_truncated_transaction_is_efault,
     "A truncated transaction fails with EFAULT and sends nothing.")
{
	struct client *manager = manager_new(), *client = client_new();
	const struct binder_transaction_data call = { 0 };

	commands_put_call(&client->out, &call);
	EXPECT_ERR(write_cut_off(client, client->out.bytes, client->out.size / 2), EFAULT);
	client->out.size = 0;
	EXPECT_EQ(client->last.write_consumed, 0);
	expect_nothing(manager);
	round_trip(client, 0, manager);
}

TEST(read_begins_with_noop, "BR_NOOP starts every read.")
{
	struct client *manager = manager_new(), *client = client_new();

	call_oneway(client, 0);
	EXPECT_OK(read_once(manager, READ_SIZE));
	EXPECT_EQ(raw_word(manager, 0), BR_NOOP);
	EXPECT_EQ(raw_word(manager, 1), BR_TRANSACTION);
	EXPECT_EQ(manager->in.size, 4 + 4 + sizeof(struct binder_transaction_data));
}

TEST(read_empty_is_eagain,
     "A non-blocking read without work fails with EAGAIN and returns nothing.")
{
	struct client *client = client_new();
	struct binder_write_read nothing = { 0 };

	EXPECT_OK(write_read(client, &nothing));
	EXPECT_ERR(read_once(client, READ_SIZE), EAGAIN);
	EXPECT_EQ(client->last.read_consumed, 0);
}

TEST(read_first_of_a_thread_returns,
     "The first ioctl of a thread returns from a read although there is no work.")
{
	struct client *client = client_open((struct client_options){ .blocking = true });

	read_begin(client);
	EXPECT_OK(read_end(client, STEP_TIMEOUT_MS));
	EXPECT_EQ(client->last.read_consumed, 4);
	read_begin(client);
	EXPECT_EQ(read_end(client, 100), -EINPROGRESS);
}

TEST(read_appends_at_consumed, "A read continues at read_consumed, and then without BR_NOOP.")
{
	struct client *manager = manager_new(), *client = client_new();
	uint8_t *room = shared_alloc(256);
	struct binder_write_read bwr = {
		.read_size = 256, .read_consumed = 32, .read_buffer = (uintptr_t)room,
	};
	uint32_t word;

	call_oneway(client, 0);
	EXPECT_OK(write_read(manager, &bwr));
	EXPECT_EQ(bwr.read_consumed, 32 + 4 + sizeof(struct binder_transaction_data));
	memcpy(&word, room + 32, sizeof(word));
	EXPECT_EQ(word, BR_TRANSACTION);
}

TEST(read_one_transaction_at_a_time, "A read ends after the first transaction.")
{
	struct client *manager = manager_new(), *client = client_new(), *second = client_new();

	call(client, 0, .code = 1);
	call(second, 0, .code = 2);
	EXPECT_OK(read_once(manager, READ_SIZE));
	EXPECT_EQ(manager->in.size, 4 + 4 + sizeof(struct binder_transaction_data));
	answer(manager, expect(manager, BR_TRANSACTION));
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->txn.code, 2);
}

TEST(read_too_small_keeps_the_transaction,
     "A transaction that does not fit the read buffer stays queued.")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0, .code = 3);
	EXPECT_OK(read_once(manager, 32));
	EXPECT_EQ(manager->in.size, 4);
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->txn.code, 3);
}

TEST(read_bad_buffer_is_efault, "A read buffer at an unmapped address fails with EFAULT.")
{
	struct client *manager = manager_new(), *client = client_new();
	struct binder_write_read bwr = { .read_size = 256, .read_buffer = 64 };

	call_oneway(client, 0, .code = 4);
	EXPECT_ERR(write_read(manager, &bwr), EFAULT);
	EXPECT_EQ(bwr.read_consumed, 0);
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->txn.code, 4);
}

TEST(read_fault_in_a_call_fails_it,
     "A call whose delivery reaches an unmapped address fails, at the caller too.")
{
	struct client *manager = manager_new(), *client = client_new();
	uint32_t nothing[1] = { 0 };
	uint8_t *room = at_the_edge(nothing, sizeof(nothing));
	struct binder_write_read bwr = { .read_size = 256, .read_buffer = (uintptr_t)room };

	client_run(manager, unmap_page, room + sizeof(nothing));
	call(client, 0);
	EXPECT_ERR(write_read(manager, &bwr), EFAULT);
	EXPECT_EQ(bwr.read_consumed, 0);
	expect_sent(client, BR_FAILED_REPLY);
	expect_nothing(manager);
	round_trip(client, 0, manager);
}

TEST(write_and_read_in_one, "One ioctl first writes, then reads the results.")
{
	struct client *manager = manager_new(), *client = client_new();
	struct binder_write_read bwr = { 0 };
	uint32_t *room = shared_alloc(256);

	put_txn(client, (struct txn){ .handle = 0, .flags = TF_ONE_WAY });
	bwr.write_size = client->out.size;
	bwr.write_buffer = (uintptr_t)shared_copy(client->out.bytes, client->out.size);
	bwr.read_size = 256;
	bwr.read_buffer = (uintptr_t)room;
	client->out.size = 0;
	EXPECT_OK(write_read(client, &bwr));
	EXPECT_EQ(bwr.write_consumed, bwr.write_size);
	EXPECT_EQ(bwr.read_consumed, 8);
	EXPECT_EQ(room[0], BR_NOOP);
	EXPECT_EQ(room[1], BR_TRANSACTION_COMPLETE);
	expect(manager, BR_TRANSACTION);
}

/* Writes @nr one-way calls at once. */
static void expect_in_order(uint32_t nr)
{
	struct client *manager = manager_new(), *client = client_new();

	for (uint32_t code = 1; code <= nr; code++)
		put_txn(client, (struct txn){ .handle = 0, .flags = TF_ONE_WAY, .code = code });
	flush(client);
	for (uint32_t code = 1; code <= nr; code++) {
		const struct returned *got = expect(manager, BR_TRANSACTION);

		EXPECT_EQ(got->txn.code, code);
		free_buffer(manager, got);
		expect(client, BR_TRANSACTION_COMPLETE);
	}
	expect_nothing(client);
}

TEST(write_batch_is_executed_in_order, "Commands of one write are executed in their order.")
{
	expect_in_order(3);
}

TEST(write_long_stream_is_executed, "A write of many thousand commands is executed in one call.")
{
	static uint32_t words[20001];
	struct client *manager = manager_new(), *client = client_new();
	size_t last = sizeof(words) / sizeof(*words) - 1;

	for (size_t i = 0; i < last; i++)
		words[i] = i % 2 ? BC_EXIT_LOOPER : BC_ENTER_LOOPER;
	words[last] = UNKNOWN_COMMAND;
	EXPECT_OK(write_bytes(client, words, last * sizeof(*words)));
	EXPECT_EQ(client->last.write_consumed, last * sizeof(*words));
	EXPECT_ERR(write_bytes(client, words, sizeof(words)), EINVAL);
	EXPECT_EQ(client->last.write_consumed, last * sizeof(*words));
	round_trip(client, 0, manager);
}

TEST(write_many_calls_keep_their_order, "Fifty calls in one write arrive in their order.")
{
	expect_in_order(50);
}

TEST(write_consumed_beyond_the_end, "With write_consumed beyond write_size nothing is executed.")
{
	struct client *client = client_new();
	uint32_t *cmd = shared_alloc(8);
	struct binder_write_read bwr = {
		.write_buffer = (uintptr_t)cmd,
		.write_size = sizeof(*cmd),
		.write_consumed = 64,
	};

	*cmd = BC_ENTER_LOOPER;
	EXPECT_OK(write_read(client, &bwr));
	EXPECT_EQ(bwr.write_consumed, 64);
}

TEST(read_gathers_many_returns,
     "A read returns all that is queued and fits, but only one transaction.")
{
	struct client *manager = manager_new(), *owner = client_new();
	uint32_t max = 1;

	for (uint64_t i = 0; i < 24; i++)
		give(owner, manager, 0x100 + i, 0, 0);
	EXPECT_OK(client_ioctl(owner, BINDER_SET_MAX_THREADS, &max));
	send_cmd(owner, BC_ENTER_LOOPER);
	client_kill_and_wait(manager);
	owner->show_refs = true;
	EXPECT_OK(read_once(owner, READ_SIZE));
	EXPECT_EQ(owner->in.size, 4 + 24 * 2 * (4 + sizeof(struct binder_ptr_cookie)));
	expect(owner, BR_SPAWN_LOOPER);
	for (int i = 0; i < 24; i++) {
		expect(owner, BR_RELEASE);
		expect(owner, BR_DECREFS);
	}
	expect_nothing(owner);
}

TEST(read_into_bad_memory_takes_nothing,
     "A read into memory that cannot be written fails with EFAULT; the next one returns all.")
{
	struct binder_write_read bwr = { .read_buffer = 0x1000, .read_size = READ_SIZE };
	struct client *client = client_new();

	manager_new();
	client->show_refs = true;
	call_oneway(client, 0);
	EXPECT_EQ(write_read(client, &bwr), -EFAULT);
	expect_only(client, BR_TRANSACTION_COMPLETE);
	call_oneway(client, 0, .objects = { OBJ_BINDER(0x10, 0x20) });
	EXPECT_EQ(write_read(client, &bwr), -EFAULT);
	expect(client, BR_INCREFS);
	expect(client, BR_ACQUIRE);
	expect_only(client, BR_TRANSACTION_COMPLETE);
	call_oneway(client, 99);
	EXPECT_EQ(write_read(client, &bwr), -EFAULT);
	expect_only(client, BR_FAILED_REPLY);
}
