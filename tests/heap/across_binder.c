// SPDX-License-Identifier: GPL-2.0
/* Buffers across Binder: what one process wrote another reads, whichever dies when. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dma_buffer.h"
#include "expect.h"
#include "test.h"

#define MIXED (2 * MIB + 3 * 16 * PAGE + 5 * PAGE)

/* A step of a test process with a buffer; in memory that the director sees. */
struct job {
	int fd;
	unsigned int from;	/* the pattern that it must contain */
	unsigned int to;	/* the pattern to write */
	unsigned char *data;
};

static uint32_t pattern(unsigned int seed, size_t at)
{
	return (uint32_t)(seed * 2654435761u + at * 40503u);
}

static void do_make(void *arg)
{
	struct job *job = arg;

	job->fd = heap_alloc(MIXED);
	job->data = heap_map(job->fd, MIXED);
	EXPECT_EQ(heap_differing(job->data, MIXED, 0), 0);
	for (size_t at = 0; at < MIXED; at += 4)
		*(uint32_t *)(job->data + at) = pattern(job->to, at);
}

static void do_check(void *arg)
{
	struct job *job = arg;

	for (size_t at = 0; at < MIXED; at += 4) {
		if (*(uint32_t *)(job->data + at) != pattern(job->from, at))
			FAIL("wrong at byte %zu", at);
	}
}

static void do_rewrite(void *arg)
{
	struct job *job = arg;

	job->data = heap_map(job->fd, MIXED);
	do_check(job);
	for (size_t at = 0; at < MIXED; at += 4)
		*(uint32_t *)(job->data + at) = pattern(job->to, at);
}

static void do_close(void *arg)
{
	struct job *job = arg;

	EXPECT(!munmap(job->data, MIXED));
	EXPECT(!close(job->fd));
}

static struct job *make_job(struct job job)
{
	return shared_copy(&job, sizeof(job));
}

struct pair {
	struct client *sender, *receiver;
};

static struct pair make_pair(void)
{
	struct pair pair = { .sender = manager_new() };

	pair.receiver = client_new();
	give(pair.receiver, pair.sender, 0x10, 0x20, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	return pair;
}

TEST(binder_carries_a_buffer, "A buffer arrives whole; both see what either writes.")
{
	struct pair pair = make_pair();
	struct job *sent = make_job((struct job){ .to = 1, .from = 2 });
	struct job *got = make_job((struct job){ .from = 1, .to = 2 });
	const struct returned *txn;

	client_run(pair.sender, do_make, sent);
	call(pair.sender, 1, .objects = { OBJ_FD((uint32_t)sent->fd) });
	txn = expect(pair.receiver, BR_TRANSACTION);
	EXPECT_EQ(object_at(txn, 0)->hdr.type, BINDER_TYPE_FD);
	got->fd = (int)object_at(txn, 0)->fd.fd;
	client_run(pair.receiver, do_rewrite, got);
	answer(pair.receiver, txn);
	finish_call(pair.sender);
	client_run(pair.sender, do_check, sent);
	client_run(pair.sender, do_close, sent);
	client_run(pair.receiver, do_check, make_job((struct job){ .from = 2, .data = got->data }));
	client_run(pair.receiver, do_close, got);
	if (heap_is_ours())
		heap_expect_unused();
}

TEST(binder_many_buffers, "Several buffers in one call, several calls, each separate.")
{
	struct pair pair = make_pair();
	struct job *sent[3], *got;
	const struct returned *txn;
	unsigned int i, turn;

	for (turn = 0; turn < 3; turn++) {
		for (i = 0; i < 3; i++) {
			sent[i] = make_job((struct job){ .to = turn * 10 + i });
			client_run(pair.sender, do_make, sent[i]);
		}
		call(pair.sender, 1, .objects = { OBJ_FD((uint32_t)sent[0]->fd),
						  OBJ_FD((uint32_t)sent[1]->fd),
						  OBJ_FD((uint32_t)sent[2]->fd) });
		for (i = 0; i < 3; i++)
			client_run(pair.sender, do_close, sent[i]);
		txn = expect(pair.receiver, BR_TRANSACTION);
		for (i = 0; i < 3; i++) {
			got = make_job((struct job){ .fd = (int)object_at(txn, i)->fd.fd,
						     .from = turn * 10 + i, .to = 99 });
			client_run(pair.receiver, do_rewrite, got);
			client_run(pair.receiver, do_close, got);
		}
		answer(pair.receiver, txn);
		finish_call(pair.sender);
	}
	if (heap_is_ours())
		heap_expect_unused();
}

/* The phases at whose end one or both may die. */
enum phase { MADE, SENT, RECEIVED, REWRITTEN, ANSWERED, PHASES };

static void play(struct pair pair, enum phase last, unsigned int seed)
{
	struct job *sent = make_job((struct job){ .to = seed });
	struct job *got = make_job((struct job){ .from = seed, .to = seed + 1 });
	const struct returned *txn = NULL;

	for (enum phase phase = MADE; phase <= last; phase++) {
		if (phase == MADE) {
			client_run(pair.sender, do_make, sent);
		} else if (phase == SENT) {
			call(pair.sender, 1, .objects = { OBJ_FD((uint32_t)sent->fd) });
		} else if (phase == RECEIVED) {
			txn = expect(pair.receiver, BR_TRANSACTION);
			got->fd = (int)object_at(txn, 0)->fd.fd;
		} else if (phase == REWRITTEN) {
			client_run(pair.receiver, do_rewrite, got);
		} else {
			reply(pair.receiver, .objects = { OBJ_FD((uint32_t)got->fd) });
		}
	}
}

TEST(binder_deaths_lose_no_memory,
     "Sender and receiver die at any phase, in either order: the "
     "memory use of the heap is the same as before.")
{
	long before;

	if (!heap_is_ours())
		test_skip("the stock heap does not show its memory use");
	heap_expect_unused();
	before = heap_bytes_in_use();
	for (unsigned int turn = 0; turn < 2 * PHASES; turn++) {
		struct pair pair = make_pair();
		bool sender_first = turn % 2;

		play(pair, turn / 2, turn);
		EXPECT(heap_bytes_in_use() > before);
		client_kill(sender_first ? pair.sender : pair.receiver);
		client_kill(sender_first ? pair.receiver : pair.sender);
		heap_expect_unused();
		EXPECT_EQ(heap_bytes_in_use(), before);
	}
}

/* Makes buffers, writes them and calls with them until it is killed. */
static void do_send_for_ever(void *arg)
{
	unsigned int seed = *(unsigned int *)arg;

	for (;; seed++) {
		int fd = heap_alloc(PAGE + (size_t)rand_r(&seed) % MIB);
		unsigned char *data = heap_map(fd, PAGE);

		memset(data, (int)seed, PAGE);
		if (rand_r(&seed) % 2)
			munmap(data, PAGE);
		if (rand_r(&seed) % 2)
			close(dup(fd));
		else
			close(fd);
	}
}

TEST(binder_deaths_at_random_moments,
     "Both are busy with buffers and killed at random moments: "
     "the memory use of the heap is the same as before.")
{
	unsigned int seed = 5;

	if (!heap_is_ours())
		test_skip("the stock heap does not show its memory use");
	heap_expect_unused();
	for (unsigned int turn = 0; turn < 4; turn++) {
		struct pair pair = make_pair();
		unsigned int *start = shared_copy(&turn, sizeof(turn));

		play(pair, SENT + turn % 2, turn);
		actor_start(pair.sender->by, do_send_for_ever, start);
		actor_start(pair.receiver->by, do_send_for_ever, start);
		sleep_ms((int)(rand_r(&seed) % 80));
		client_kill(turn % 2 ? pair.sender : pair.receiver);
		sleep_ms((int)(rand_r(&seed) % 20));
		client_kill(turn % 2 ? pair.receiver : pair.sender);
		heap_expect_unused();
	}
}
