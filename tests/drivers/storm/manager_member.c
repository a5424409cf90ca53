// SPDX-License-Identifier: GPL-2.0
/*
 * The manager: handle 0, where services register and clients look one up. It is never killed, so a
 * call to it may not fail. It is notified of each death, and removes the service only then.
 */
#include <pthread.h>

#include "worker.h"
#include "test.h"

#define MAX_SERVICES 64

struct entry {
	uint32_t handle;
	uint32_t member; /* its owner, and the cookie of the death request */
};

/* Under the lock: the table, and the commands about its handles. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry entries[MAX_SERVICES];
static uint32_t nr_entries;

static void add_service(struct worker *worker, const struct parcel *parcel)
{
	struct binder_handle_cookie request = { parcel->handle, parcel->heading.from };

	EXPECT(parcel->handle != NO_HANDLE);
	pthread_mutex_lock(&lock);
	EXPECT(nr_entries < MAX_SERVICES);
	worker_put_u32(worker, BC_ACQUIRE, parcel->handle);
	worker_put(worker, BC_REQUEST_DEATH_NOTIFICATION, &request);
	worker_flush(worker);
	entries[nr_entries++] = (struct entry){ parcel->handle, parcel->heading.from };
	storm->services = nr_entries;
	pthread_mutex_unlock(&lock);
}

static void died(struct worker *worker, uint64_t cookie)
{
	uint32_t i;

	EXPECT(cookie < storm->nr_members && storm->members[cookie].condemned);
	pthread_mutex_lock(&lock);
	for (i = 0; i < nr_entries && entries[i].member != cookie; i++)
		;
	EXPECT(i < nr_entries);
	worker_put_u64(worker, BC_DEAD_BINDER_DONE, cookie);
	worker_put_u32(worker, BC_RELEASE, entries[i].handle);
	worker_flush(worker);
	entries[i] = entries[--nr_entries];
	storm->services = nr_entries;
	pthread_mutex_unlock(&lock);
	storm->deaths++;
}

static void cleared(struct worker *worker, uint64_t cookie)
{
	FAIL("a cleared death request of the manager, which clears none");
}

/* Puts a service's handle into @answer. The handle must stay until the answer is sent. */
static void send_service(struct worker *worker, struct parcel *answer, struct packed *packed)
{
	pthread_mutex_lock(&lock);
	if (nr_entries) {
		const struct entry *entry = &entries[worker_random(worker, nr_entries)];

		answer->handle = entry->handle;
		answer->heading.about = entry->member;
	}
	parcel_pack(answer, packed);
	worker_put_reply(worker, packed);
	worker_flush(worker);
	pthread_mutex_unlock(&lock);
}

static void serve(struct worker *worker, const struct returned *got)
{
	struct packed packed;
	struct parcel parcel, answer;

	parcel_unpack(got, &parcel);
	answer = (struct parcel){ parcel.heading, .handle = NO_HANDLE, .file = NO_FILE };
	if (got->txn.code == CODE_REGISTER)
		add_service(worker, &parcel);
	worker_put_free(worker, got);
	if (got->txn.code == CODE_LOOKUP) {
		send_service(worker, &answer, &packed);
	} else {
		parcel_pack(&answer, &packed);
		worker_put_reply(worker, &packed);
	}
	/* Even if the caller has died: the answer itself succeeds. */
	EXPECT_EQ(worker_await_complete(worker), BR_TRANSACTION_COMPLETE);
	worker->quit = got->txn.code == CODE_QUIT;
}

static void *thread_main(void *arg)
{
	static _Atomic uint32_t which;
	struct worker worker;

	worker_init(&worker, arg, ++which);
	worker_put(&worker, BC_ENTER_LOOPER, NULL);
	worker_loop(&worker);
	worker_put(&worker, BC_EXIT_LOOPER, NULL);
	worker_flush(&worker);
	return NULL;
}

int manager_main(struct member *me)
{
	struct opened opened = { .me = me, .serve = serve, .died = died, .cleared = cleared };
	pthread_t threads[MANAGER_THREADS];
	int err;

	opened_begin(&opened);
	err = port_manage(&opened.port);
	if (err)
		FAIL("BINDER_SET_CONTEXT_MGR_EXT: %s", test_errno_name(-err));
	for (int i = 0; i < MANAGER_THREADS; i++)
		EXPECT_EQ(pthread_create(&threads[i], NULL, thread_main, &opened), 0);
	me->ready = true;
	for (int i = 0; i < MANAGER_THREADS; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(nr_entries, 0);
	port_close(&opened.port);
	return 0;
}
