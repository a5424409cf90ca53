// SPDX-License-Identifier: GPL-2.0
/*
 * The successor.
 *
 * Its gate is closed from the start, so that all its threads can be started and everything be
 * restored while the predecessor still decides. It opens the gate when the predecessor has
 * committed, or is dead. A predecessor that takes everything back kills this process first.
 */
#include "base/clock.h"
#include "base/gate.h"
#include "base/daemon_log.h"
#include "calls/stuck_workers.h"
#include "handover/handover.h"
#include "handover/peer.h"
#include "handover/moved.h"
#include "session/session.h"
#include "workers/worker_pool.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* For the next message; COMMIT comes within milliseconds, or the predecessor is stopped. */
#define MESSAGE_MS 10000
#define COMMIT_MS 30000
/* For the end of a predecessor whose socket was closed. */
#define END_MS 2000

struct take {
	int socket;
	int predecessor;	/* pidfd */
	struct peer_message state;
	const char *bytes;	/* records and the engine's stream */
	size_t size;
	struct restore restore;
	u64 received_ns;	/* when the state had come, and when it was restored */
	u64 restored_ns;
};

static bool say_hello(const struct take *take)
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	bool ok = self >= 0 && peer_say(take->socket, PEER_HELLO, ANYBINDER_VERSION, &self, 1);

	if (self >= 0)
		close(self);
	return ok;
}

static void end_with(struct handover_end *end, enum handover_result result, const char *reason)
{
	end->result = result;
	snprintf(end->reason, sizeof(end->reason), "%s", reason);
}

/* Receives the memory file with the state. */
static bool receive_state(struct take *take, struct handover_end *end)
{
	int fds[2];
	u32 nr;

	if (peer_receive(take->socket, &take->state, fds, 2, &nr, MESSAGE_MS) <= 0) {
		end_with(end, HANDOVER_FAILED, "the predecessor does not answer");
		return false;
	}
	if (take->state.kind != PEER_STATE || nr != 2) {
		end_with(end, HANDOVER_REFUSED, take->state.text);
		return false;
	}
	take->predecessor = fds[1];
	take->size = take->state.records_size + take->state.engine_size;
	take->bytes = mmap(NULL, take->size ? take->size : 1, PROT_READ, MAP_PRIVATE, fds[0], 0);
	close(fds[0]);
	if (take->bytes == MAP_FAILED)
		end_with(end, HANDOVER_FAILED, "no memory for the state");
	return take->bytes != MAP_FAILED;
}

static bool receive_fds(struct take *take, struct handover_end *end)
{
	struct record_reader *records = &take->restore.records;
	struct peer_message message;
	u32 nr = 0;

	records->bytes = take->bytes;
	records->size = take->state.records_size;
	records->fds = calloc(take->state.nr_fds + 1, sizeof(int));
	while (records->fds && records->nr_fds < take->state.nr_fds) {
		int got = peer_receive(take->socket, &message, records->fds + records->nr_fds,
				       take->state.nr_fds - records->nr_fds, &nr, MESSAGE_MS);

		if (got <= 0 || message.kind != PEER_FILES || !nr)
			break;
		records->nr_fds += nr;
	}
	if (records->nr_fds == take->state.nr_fds)
		return true;
	end_with(end, HANDOVER_REFUSED, "the successor cannot have as many descriptors as the "
		 "predecessor: raise the limit (ulimit -n)");
	peer_say(take->socket, PEER_REFUSED, end->reason, NULL, 0);
	return false;
}

/* True: this process may serve. */
static bool wait_for_commit(const struct take *take, struct handover_end *end)
{
	struct peer_message message;
	struct pollfd pollfd = { .fd = take->predecessor, .events = POLLIN };
	u32 nr;
	int got = peer_receive(take->socket, &message, NULL, 0, &nr, COMMIT_MS);

	if (got > 0 && message.kind == PEER_COMMIT)
		return true;
	/* dead, it has not gone on: what was restored is how it left things */
	if (got < 0 && poll(&pollfd, 1, END_MS) > 0)
		return true;
	end_with(end, HANDOVER_FAILED, "the predecessor has gone on");
	return false;
}

/* From the beginning of the pause until @ns. */
static u32 us_until(const struct take *take, u64 ns)
{
	return (u32)((ns - take->state.began_ns) / 1000);
}

/* What waits on other threads' account is left to workers. */
static void go_on(struct take *take, struct handover_end *end)
{
	struct worker *worker = daemon_alloc(sizeof(*worker));

	worker_set_self(worker);
	restore_settle(&take->restore);
	end->left_behind = take->state.left_behind;
	end->pause_us = us_until(take, clock_now_ns());
	gate_open();
	pool_reopen();
	pool_hand_over(worker);
	end_with(end, HANDOVER_DONE, "");
	log_info("took over from the predecessor: a pause of %u us (the state, %zu bytes, came "
		 "after %u us and was restored after %u us), %u calls left behind", end->pause_us,
		 take->size, us_until(take, take->received_ns), us_until(take, take->restored_ns),
		 end->left_behind);
}

static bool take_over(struct take *take, struct handover_end *end)
{
	if (!say_hello(take)) {
		end_with(end, HANDOVER_FAILED, "the predecessor has ended");
		return false;
	}
	if (!receive_state(take, end) || !receive_fds(take, end))
		return false;
	take->received_ns = clock_now_ns();
	if (!restore_all(&take->restore, take->bytes + take->state.records_size,
			 take->state.engine_size)) {
		end_with(end, HANDOVER_REFUSED, take->restore.why);
		peer_say(take->socket, PEER_REFUSED, end->reason, NULL, 0);
		return false;
	}
	take->restored_ns = clock_now_ns();
	peer_say(take->socket, PEER_READY, "", NULL, 0);
	if (!wait_for_commit(take, end))
		return false;
	go_on(take, end);
	return true;
}

bool handover_take(int socket, bool (*start_threads)(const struct options *options),
		   const struct options *options, struct handover_end *end)
{
	struct take take = { .socket = socket, .predecessor = -1,
			     .restore = { .start_threads = start_threads, .options = options } };
	bool ok;

	gate_start_closed();
	*end = (struct handover_end){ 0 };
	ok = take_over(&take, end);
	if (ok) {
		restore_free(&take.restore);
		munmap((void *)take.bytes, take.size ? take.size : 1);
	}
	if (take.predecessor >= 0)
		close(take.predecessor);
	close(socket);
	return ok;
}
