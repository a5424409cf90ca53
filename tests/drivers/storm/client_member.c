// SPDX-License-Identifier: GPL-2.0
/*
 * A client: threads that ask the manager for a service and call it, some with an object that the
 * service calls back, some with a file, some one-way; and one thread that waits for deaths. A
 * reply must match the call, and an error must be due to the death of a condemned process. A
 * client that survives is never killed: its threads become idle when the storm is over, and by
 * then every cleared death request has been confirmed.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "worker.h"
#include "test.h"

#define NR_CALLERS 2
#define MY_OBJECT 0x100u
#define MAX_CALLS 8 /* to one service before another one is looked up */
#define POLL_MS 20

static _Atomic uint32_t requests_cleared, clearings_confirmed, callers_at_rest;

/* ---- calls and deaths that a client has to handle ---- */

static void serve(struct worker *worker, const struct returned *got)
{
	struct parcel parcel;
	struct packed packed;

	EXPECT_EQ(got->txn.code, CODE_BACK);
	parcel_unpack(got, &parcel);
	worker_put_free(worker, got);
	parcel_pack(&parcel, &packed);
	worker_put_reply(worker, &packed);
	EXPECT_EQ(worker_await_complete(worker), BR_TRANSACTION_COMPLETE);
}

static void died(struct worker *worker, uint64_t cookie)
{
	EXPECT(cookie < storm->nr_members && storm->members[cookie].condemned);
	worker_put_u64(worker, BC_DEAD_BINDER_DONE, cookie);
	storm->deaths++;
}

static void cleared(struct worker *worker, uint64_t cookie)
{
	clearings_confirmed++;
}

/* ---- calls ---- */

/* The reason of a failed call, as a negative errno. */
static int why(struct worker *worker)
{
	struct binder_extended_error error = { 0 };

	if (ioctl(worker->opened->port.fd, BINDER_GET_EXTENDED_ERROR, &error))
		FAIL("BINDER_GET_EXTENDED_ERROR: %s", test_errno_name(errno));
	return error.param;
}

static bool is_fine(struct worker *worker, uint32_t end, uint32_t good, uint32_t member,
		    uint32_t flags)
{
	if (end == good)
		return true;
	/* One-way calls queue at the service; there may be no room for more. */
	if (end == BR_FAILED_REPLY && (flags & TF_ONE_WAY) && why(worker) == -ENOSPC) {
		storm->full_replies++;
		return false;
	}
	if (end != BR_DEAD_REPLY || !member || !storm->members[member].condemned)
		FAIL("%s (%s) for a call to member %u, which is %s", command_name(end),
		     test_errno_name(-why(worker)), member,
		     storm->members[member].condemned ? "condemned" : "alive");
	storm->dead_replies++;
	return false;
}

static void check_answer(const struct parcel *question, const struct parcel *answer)
{
	EXPECT_EQ(answer->heading.from, question->heading.from);
	EXPECT_EQ(answer->heading.seq, question->heading.seq);
	EXPECT_EQ(answer->heading.nr_bytes, question->heading.nr_bytes);
	EXPECT_EQ(answer->file != NO_FILE, question->file != NO_FILE);
	EXPECT(answer->handle != NO_HANDLE);
	if (answer->file != NO_FILE) {
		close(answer->file);
		storm->files++;
	}
}

/* False if the service is dead. */
static bool call(struct worker *worker, uint32_t handle, uint32_t member)
{
	struct parcel question = {
		{ member_index(worker->opened->me), ++worker->seq, 0, 0 },
		.handle = NO_HANDLE, .file = NO_FILE,
	}, answer;
	bool oneway = !worker_random(worker, 8);
	uint32_t flags = TF_ACCEPT_FDS | (oneway ? TF_ONE_WAY : 0);
	struct returned reply;
	struct packed packed;
	uint32_t end;

	question.heading.nr_bytes =
		worker_random(worker, worker_random(worker, 4) ? 256 : MAX_BYTES);
	if (!worker_random(worker, 4))
		question.file = storm->pipe;
	if (!oneway && !worker_random(worker, 2))
		question.object = MY_OBJECT;
	parcel_pack(&question, &packed);
	worker_put_call(worker, handle, oneway ? CODE_ONEWAY : CODE_ECHO, flags, &packed);
	if (oneway) {
		end = worker_await_complete(worker);
		return is_fine(worker, end, BR_TRANSACTION_COMPLETE, member, flags) ||
		       end == BR_FAILED_REPLY;
	}
	end = worker_await_reply(worker, &reply);
	if (!is_fine(worker, end, BR_REPLY, member, flags))
		return false;
	parcel_unpack(&reply, &answer);
	check_answer(&question, &answer);
	worker_put_free(worker, &reply);
	worker_flush(worker);
	return true;
}

/* A handle of a service, with a count; NO_HANDLE: there is no service now. */
static uint32_t look_up(struct worker *worker, uint32_t *member)
{
	struct parcel question = {
		{ member_index(worker->opened->me), ++worker->seq, 0, 0 },
		.handle = NO_HANDLE, .file = NO_FILE,
	}, answer;
	struct returned reply;
	struct packed packed;

	parcel_pack(&question, &packed);
	worker_put_call(worker, 0, CODE_LOOKUP, 0, &packed);
	is_fine(worker, worker_await_reply(worker, &reply), BR_REPLY, 0, 0);
	parcel_unpack(&reply, &answer);
	EXPECT_EQ(answer.heading.seq, question.heading.seq);
	*member = answer.heading.about;
	if (answer.handle != NO_HANDLE)
		worker_put_u32(worker, BC_ACQUIRE, answer.handle);
	worker_put_free(worker, &reply);
	worker_flush(worker);
	return answer.handle;
}

/*
 * @watch: also requests a notification of its death, and clears that at the end. Only one thread
 * does so: two would request it for the same handle.
 */
static void visit(struct worker *worker, bool watch)
{
	struct binder_handle_cookie request;
	uint32_t member, handle = look_up(worker, &member);
	uint32_t nr_calls = 1 + worker_random(worker, MAX_CALLS);

	if (handle == NO_HANDLE)
		return;
	request = (struct binder_handle_cookie){ handle, member };
	if (watch)
		worker_put(worker, BC_REQUEST_DEATH_NOTIFICATION, &request);
	while (nr_calls-- && !storm->over && call(worker, handle, member))
		;
	if (watch) {
		worker_put(worker, BC_CLEAR_DEATH_NOTIFICATION, &request);
		requests_cleared++;
	}
	worker_put_u32(worker, BC_RELEASE, handle);
	worker_flush(worker);
}

static void dismiss_thread(struct worker *worker)
{
	struct parcel parcel = { { 0, ++worker->seq, 0, 0 }, .handle = NO_HANDLE, .file = NO_FILE };
	struct returned reply;
	struct packed packed;

	parcel_pack(&parcel, &packed);
	for (int i = 0; i < MANAGER_THREADS; i++) {
		worker_put_call(worker, 0, CODE_QUIT, 0, &packed);
		EXPECT_EQ(worker_await_reply(worker, &reply), BR_REPLY);
		worker_put_free(worker, &reply);
	}
	worker_flush(worker);
}

static void *caller_main(void *arg)
{
	static _Atomic uint32_t which;
	struct worker worker;
	uint32_t mine = which++;

	worker_init(&worker, arg, 1 + mine);
	while (!storm->over)
		visit(&worker, !mine && worker_random(&worker, 2));
	callers_at_rest++;
	return NULL;
}

/*
 * Waits for deaths as a thread of the pool. It is the only one, so work that poll() reported is
 * still there.
 */
static void watch(struct worker *worker)
{
	struct pollfd wait = { .fd = worker->opened->port.fd, .events = POLLIN };

	worker_put(worker, BC_ENTER_LOOPER, NULL);
	worker_flush(worker);
	while (!storm->may_exit) {
		if (poll(&wait, 1, POLL_MS) == 1)
			worker_serve_once(worker);
		worker->opened->me->idle = callers_at_rest == NR_CALLERS &&
					 clearings_confirmed == requests_cleared;
	}
}

int client_main(struct member *me)
{
	struct opened opened = { .me = me, .serve = serve, .died = died, .cleared = cleared };
	pthread_t threads[NR_CALLERS];
	struct worker worker;

	opened_begin(&opened);
	worker_init(&worker, &opened, 0);
	for (int i = 0; i < NR_CALLERS; i++)
		EXPECT_EQ(pthread_create(&threads[i], NULL, caller_main, &opened), 0);
	me->ready = true;
	watch(&worker);
	for (int i = 0; i < NR_CALLERS; i++)
		pthread_join(threads[i], NULL);
	if (member_index(me) == 1)
		dismiss_thread(&worker);
	port_close(&opened.port);
	return 0;
}
