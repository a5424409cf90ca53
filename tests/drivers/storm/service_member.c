// SPDX-License-Identifier: GPL-2.0
/*
 * A service: registers, and then serves until it is killed, whatever it is doing then. It sends
 * back what it got, with the file in it and a new object; if the call brought an object, it first
 * calls that.
 */
#include <pthread.h>
#include <unistd.h>

#include "worker.h"
#include "test.h"

#define NR_THREADS 2
#define NR_OBJECTS 16
#define FIRST_OBJECT 0x1000u

static void call_back(struct worker *worker, const struct parcel *parcel)
{
	struct parcel question = {
		{ member_index(worker->opened->me), ++worker->seq, worker_random(worker, 256), 0 },
		.handle = NO_HANDLE, .file = NO_FILE,
	};
	struct returned reply;
	struct parcel answer;
	struct packed packed;
	uint32_t end;

	parcel_pack(&question, &packed);
	worker_put_call(worker, parcel->handle, CODE_BACK, TF_ACCEPT_FDS, &packed);
	end = worker_await_reply(worker, &reply);
	if (end != BR_REPLY) {
		EXPECT_EQ(end, BR_DEAD_REPLY);
		EXPECT(storm->members[parcel->heading.from].condemned);
		storm->dead_replies++;
		return;
	}
	parcel_unpack(&reply, &answer);
	EXPECT_EQ(answer.heading.from, question.heading.from);
	EXPECT_EQ(answer.heading.seq, question.heading.seq);
	worker_put_free(worker, &reply);
}

static void serve(struct worker *worker, const struct returned *got)
{
	struct parcel parcel, answer;
	struct packed packed;

	parcel_unpack(got, &parcel);
	if (got->txn.code == CODE_ECHO) {
		if (parcel.handle != NO_HANDLE)
			call_back(worker, &parcel);
		answer = parcel;
		answer.object = FIRST_OBJECT + 16 * worker_random(worker, NR_OBJECTS);
		answer.handle = NO_HANDLE;
		parcel_pack(&answer, &packed);
		worker_put_reply(worker, &packed);
		EXPECT_EQ(worker_await_complete(worker), BR_TRANSACTION_COMPLETE);
	}
	if (parcel.file != NO_FILE)
		close(parcel.file);
	worker_put_free(worker, got);
}

static void died(struct worker *worker, uint64_t cookie)
{
	FAIL("a death notice for a service, which requests none");
}

static void *thread_main(void *arg)
{
	static _Atomic uint32_t which;
	struct worker worker;

	worker_init(&worker, arg, ++which);
	worker_put(&worker, BC_ENTER_LOOPER, NULL);
	worker_loop(&worker);
	return NULL;
}

static void introduce(struct worker *worker)
{
	struct parcel parcel = {
		{ member_index(worker->opened->me), 0, 0, 0 },
		.object = FIRST_OBJECT, .handle = NO_HANDLE, .file = NO_FILE,
	};
	struct returned reply;
	struct packed packed;

	parcel_pack(&parcel, &packed);
	worker_put_call(worker, 0, CODE_REGISTER, 0, &packed);
	EXPECT_EQ(worker_await_reply(worker, &reply), BR_REPLY);
	worker_put_free(worker, &reply);
	worker_flush(worker);
}

int service_main(struct member *me)
{
	struct opened opened = { .me = me, .serve = serve, .died = died, .cleared = died };
	pthread_t threads[NR_THREADS];
	struct worker worker;

	opened_begin(&opened);
	worker_init(&worker, &opened, 0);
	introduce(&worker);
	for (int i = 0; i < NR_THREADS; i++)
		EXPECT_EQ(pthread_create(&threads[i], NULL, thread_main, &opened), 0);
	me->ready = true;
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	return 1;
}
