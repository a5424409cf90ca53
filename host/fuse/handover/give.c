// SPDX-License-Identifier: GPL-2.0
/*
 * The predecessor.
 *
 * Until it has sent COMMIT it decides alone: whatever happens, it kills the successor, waits for
 * that, and opens its gate again. After that it only exits.
 */
#include "base/clock.h"
#include "base/gate.h"
#include "base/daemon_log.h"
#include "base/message.h"
#include "calls/stuck_workers.h"
#include "handover/handover.h"
#include "handover/peer.h"
#include "handover/moved.h"
#include "names/lookup.h"
#include "session/session.h"
#include "workers/worker.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A program starts; then clients wait. */
#define HELLO_MS 10000
#define PAUSE_MS 8000
/* For the threads to come to rest, and those that a client delays. */
#define REST_MS 2000
#define CLIENT_MS 20

struct give {
	int socket;
	bool dry_run;
	u32 max_pause_ms;
	int successor;		/* pidfd; -1: not known yet */
	u32 engine_version;
	u64 began_ns;
	struct save save;
	struct handover_end *end;
};

static bool refuse_give(struct give *give, enum handover_result result, const char *reason)
{
	give->end->result = result;
	snprintf(give->end->reason, sizeof(give->end->reason), "%s", reason);
	peer_say(give->socket, PEER_REFUSED, reason, NULL, 0);
	return false;
}

static u32 lower_of(u32 a, u32 b)
{
	return a < b ? a : b;
}

static bool receive_hello(struct give *give)
{
	struct peer_message hello;
	char reason[200];
	u32 nr;
	int got = peer_receive(give->socket, &hello, &give->successor, 1, &nr, HELLO_MS);

	if (got <= 0 || hello.kind != PEER_HELLO || !nr)
		return refuse_give(give, HANDOVER_FAILED, got ?
				   "the installed program ended as it started: the log says why" :
				   "the installed program does not start");
	give->engine_version = lower_of(hello.engine_version, BINDER_STATE_VERSION);
	if (lower_of(hello.version, PEER_VERSION) >= hello.oldest &&
	    lower_of(hello.version, PEER_VERSION) >= PEER_OLDEST &&
	    give->engine_version >= hello.engine_oldest &&
	    give->engine_version >= BINDER_STATE_OLDEST)
		return true;
	snprintf(reason, sizeof(reason), "version %.40s reads the state in versions %u to %u and "
		 "%u to %u, this one writes %u to %u and %u to %u", hello.text, hello.oldest,
		 hello.version, hello.engine_oldest, hello.engine_version, PEER_OLDEST,
		 PEER_VERSION, BINDER_STATE_OLDEST, BINDER_STATE_VERSION);
	return refuse_give(give, HANDOVER_REFUSED, reason);
}

/* A memory file with both streams; -1: no memory. */
static int make_file(const struct save *save)
{
	int file = memfd_create("state", MFD_CLOEXEC);

	/* More than the 2 GiB that one write takes could not be restored within PAUSE_MS. */
	if (file >= 0 &&
	    write(file, save->records.bytes, save->records.size) == (ssize_t)save->records.size &&
	    write(file, save->engine.bytes, save->engine.size) == (ssize_t)save->engine.size)
		return file;
	if (file >= 0)
		close(file);
	return -1;
}

static bool send_fds(const struct give *give)
{
	const struct record_writer *records = &give->save.records;
	bool ok = true;

	for (u32 at = 0; ok && at < records->nr_fds; at += MESSAGE_FDS_MAX)
		ok = peer_say(give->socket, PEER_FILES, "", records->fds + at,
			      lower_of(records->nr_fds - at, MESSAGE_FDS_MAX));
	return ok;
}

static bool send_state(struct give *give)
{
	int error = save_all(&give->save, give->engine_version);
	struct peer_message message = {
		.kind = PEER_STATE,
		.version = PEER_VERSION,
		.engine_version = give->engine_version,
		.nr_fds = give->save.records.nr_fds,
		.records_size = give->save.records.size,
		.engine_size = give->save.engine.size,
		.began_ns = give->began_ns,
		.left_behind = give->save.nr_left,
	};
	int fds[2] = { -1, -1 };
	bool ok;

	give->end->left_behind = give->save.nr_left;
	if (!error)
		fds[0] = make_file(&give->save);
	if (fds[0] < 0)
		return refuse_give(give, HANDOVER_FAILED, "no memory to write the state");
	fds[1] = (int)syscall(SYS_pidfd_open, getpid(), 0);
	ok = fds[1] >= 0 && peer_send(give->socket, &message, fds, 2) && send_fds(give);
	close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
	return ok || refuse_give(give, HANDOVER_FAILED, "the successor ended before it was ready");
}

static int left_ms(const struct give *give)
{
	return (int)give->max_pause_ms - (int)((clock_now_ns() - give->began_ns) / 1000000);
}

static bool receive_ready(struct give *give)
{
	int left = left_ms(give);
	struct peer_message answer;
	char reason[200];
	u32 nr;
	int got = 0;

	/* Restoring takes longer than writing does. */
	if (left > (int)give->max_pause_ms / 2)
		got = peer_receive(give->socket, &answer, NULL, 0, &nr, left);
	if (got > 0 && answer.kind != PEER_READY)
		return refuse_give(give, HANDOVER_REFUSED, answer.text);
	if (got > 0 && left_ms(give) > 0)
		return true;
	if (got < 0)
		return refuse_give(give, HANDOVER_FAILED, "the successor ended in its restoring");
	snprintf(reason, sizeof(reason), "calls would pause for longer than %u ms; what clients "
		 "keep takes %zu kB to write", give->max_pause_ms, give->save.engine.size / 1000);
	return refuse_give(give, HANDOVER_TOO_LONG, reason);
}

static bool commit_give(struct give *give)
{
	if (give->dry_run) {
		give->end->result = HANDOVER_DRY_RUN_DONE;
		return false;
	}
	if (!peer_say(give->socket, PEER_COMMIT, "", NULL, 0))
		return refuse_give(give, HANDOVER_FAILED, "the successor ended when it was ready");
	give->end->result = HANDOVER_DONE;
	return true;
}

/* A successor that is alive might think that this process is dead. */
static void kill_successor(struct give *give)
{
	struct pollfd pollfd = { .fd = give->successor, .events = POLLIN };

	if (give->successor < 0)
		return;
	syscall(SYS_pidfd_send_signal, give->successor, SIGKILL, NULL, 0);
	while (poll(&pollfd, 1, -1) <= 0)
		;
}

static void go_on(struct give *give)
{
	kill_successor(give);
	give->end->pause_us = (u32)((clock_now_ns() - give->began_ns) / 1000);
	gate_open();
	pool_reopen();
}

/* True: committed. */
static bool give_at_rest(struct give *give)
{
	bool done;

	/* so that no thread waits for a turn that the successor does not know of */
	lookup_reply_to_waiting();
	done = send_state(give) && receive_ready(give) && commit_give(give);
	if (!done)
		go_on(give);
	return done;
}

static bool give_over(struct give *give)
{
	if (!receive_hello(give))
		return false;
	give->began_ns = clock_now_ns();
	if (!gate_close(CLIENT_MS, REST_MS, pool_settle)) {
		kill_successor(give);
		pool_reopen();
		return refuse_give(give, HANDOVER_FAILED, "a thread of the daemon does not come to "
			      "rest: it waits for the reader of the log, or for the kernel");
	}
	return give_at_rest(give);
}

void handover_init(void)
{
	daemon_part(handover);
}

void handover_give(int socket, bool dry_run, u32 max_pause_ms, struct handover_end *end)
{
	struct give give = { .socket = socket, .dry_run = dry_run, .successor = -1, .end = end };

	*end = (struct handover_end){ 0 };
	give.max_pause_ms = lower_of(max_pause_ms - 1, PAUSE_MS - 1) + 1;
	if (give_over(&give)) {
		session_forsake();
		return;
	}
	if (end->result == HANDOVER_DRY_RUN_DONE)
		log_info("a hand-over was tried: it would have succeeded");
	else
		log_warn("not handed over, this process serves on: %s", end->reason);
	kill_successor(&give);
	save_free(&give.save);
	if (give.successor >= 0)
		close(give.successor);
	close(socket);
}
