// SPDX-License-Identifier: GPL-2.0
/*
 * The process that serves: a child of the supervisor, which tells it what it needs to know.
 *
 * Start: what the supervisor says, tree, threads; then, by the first server, a stat(2) of the
 * mountpoint, which proves that requests are served; only then the supervisor is told. A server
 * that follows one that has crashed finds the names as they were, and has the requests that were
 * not answered queued again. End: a signal, or umount(8). Calls in flight then fail with
 * ECONNABORTED at the clients, because the mount is removed and the connection ends.
 */
#include "server_process.h"

#include "base/daemon_state.h"
#include "base/exit_watch.h"
#include "base/gate.h"
#include "base/libc.h"
#include "base/daemon_log.h"
#include "base/message.h"
#include "base/thread.h"
#include "buffers/bound_buffer.h"
#include "calls/affinity.h"
#include "calls/open_file.h"
#include "calls/park.h"
#include "calls/watched_events.h"
#include "clients/opener_identity.h"
#include "clients/namespaces.h"
#include "clients/selinux.h"
#include "clients/users.h"
#include "core.h"
#include "device_requests.h"
#include "events/event_stream.h"
#include "events/stage_records.h"
#include "fds/fds.h"
#include "handover/handover.h"
#include "memory/user_account.h"
#include "names/layout.h"
#include "names/lookup.h"
#include "names/tree.h"
#include "queues/backlog.h"
#include "queues/congestion.h"
#include "session/expire.h"
#include "session/handles.h"
#include "session/persistent.h"
#include "session/mount.h"
#include "session/ready.h"
#include "session/session.h"
#include "start/options.h"
#include "start/server_msg.h"
#include "start/user_limits.h"
#include "workers/worker_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without --threads; calls are short, so that more workers would not be faster. */
#define DEFAULT_WORKERS_MAX 4

static unsigned int worker_count(const struct options *options)
{
	cpu_set_t cpus;
	int count = 1;

	if (options->threads)
		return options->threads;
	if (!sched_getaffinity(0, sizeof(cpus), &cpus))
		count = CPU_COUNT(&cpus);
	return (unsigned int)(count < DEFAULT_WORKERS_MAX ? count : DEFAULT_WORKERS_MAX);
}

/* ---- the start ---- */

/* The state of each part. */
static void init_daemon(const struct options *options, const struct server_start *start)
{
	gate_init();
	handover_init();
	handles_init(start->generation);
	users_init(options->uid);
	namespaces_init(options->limit_containers);
	identity_init();
	ready_init();
	expire_init();
	worker_table_init();
	account_init();
	backlog_init();
	congestion_init();
	events_init();
	stages_init();
	tree_init(options->uid, options->gid);
	layout_init(options->mode, options->max_devices);
	bound_open_init();
	lookup_init();
	pool_init(worker_main);
	workqueue_init();
	park_init();
	open_files_init();
	bound_buffers_init();
}

/* False: a message was printed. */
static bool start_threads(const struct options *options)
{
	unsigned int nr_workers = worker_count(options);

	expire_start(daemon_self->session->timeout_s);
	affinity_init(nr_workers);
	if (exit_watch_start(SERVER_LIFE, -1, NULL) && watch_init() && watcher_start() &&
	    lookup_start() && pool_start(nr_workers))
		return true;
	log_error("cannot start the threads: too little memory, or too low a limit of threads "
		  "(ulimit -u) or descriptors (ulimit -n)");
	return false;
}

/* False: a message was printed. */
static bool create_names(const struct options *options, bool recovers)
{
	return recovers ? layout_restore() : layout_create(options->devices);
}

/* Sets up everything between the connection and the first request of a client. */
static bool start_parts(const struct options *options, const struct server_start *start)
{
	binder_world_init();
	if (options->record_stages && stages_start()) {
		log_error("out of memory");
		return false;
	}
	if (!create_names(options, start->role == SERVER_RECOVERS) || !fds_init())
		return false;
	if (start->role == SERVER_RECOVERS && start->session.resends)
		session_resend();
	return start_threads(options);
}

/* What a server that has crashed left in the kernel. */
static void tidy_main(void *arg)
{
	uint32_t *last_backing = arg;

	persistent_notify_polls(session_notify_poll);
	persistent_end_backings(*last_backing, session_backing_close);
	free(last_backing);
}

static void tidy_start(uint32_t last_backing)
{
	uint32_t *arg = malloc(sizeof(*arg));

	if (arg)
		*arg = last_backing;
	if (!arg || thread_start(tidy_main, arg)) {
		log_warn("no memory to tell pollers that the server has crashed");
		free(arg);
	}
}

/* The first server proves that the mount responds. */
static bool prove_service(struct server_start *start)
{
	struct stat st;

	if (!start->device && stat(start->mountpoint, &st)) {
		log_error("the mount at %s does not respond: %s", start->mountpoint,
			  strerror(errno));
		return false;
	}
	if (!start->device)
		start->device = st.st_dev;
	atomic_store(&daemon_self->session->device, start->device);
	return true;
}

static void tell_supervisor(const void *message, size_t size)
{
	if (send(SERVER_CONTROL, message, size, MSG_NOSIGNAL) < 0)
		log_warn("the supervisor has ended");
}

static bool start_serving(const struct options *options, struct server_start *start)
{
	struct server_serves serves = { .head = { SERVER_MSG_VERSION, SERVER_SERVES } };
	uint32_t last_backing = persistent_last_backing();

	atomic_store(&daemon_self->session->device, start->device);
	if (!start_parts(options, start) || !prove_service(start))
		return false;
	if (start->role == SERVER_RECOVERS)
		tidy_start(last_backing);
	else if (start->session.timeout_s)
		log_info("the kernel ends requests after %u s; calls return before that",
			 start->session.timeout_s);
	log_info("serving %s at %s%s", options->devices, start->mountpoint,
		 start->session.passthrough ? ", buffers mapped directly" : "");
	ready_leave_terminal();
	serves.device = start->device;
	tell_supervisor(&serves, sizeof(serves));
	return true;
}

/* ---- hand-overs ---- */

static struct persistent_hand_over describe_end(const struct handover_end *end)
{
	static const char *const words[] = {
		[HANDOVER_DONE] = "done",
		[HANDOVER_REFUSED] = "refused",
		[HANDOVER_FAILED] = "failed",
		[HANDOVER_DRY_RUN_DONE] = "dry-run-done",
		[HANDOVER_TOO_LONG] = "too-long",
	};
	struct persistent_hand_over persistent = { .pause_us = end->pause_us,
						   .left_behind = end->left_behind };

	snprintf(persistent.end, sizeof(persistent.end), "%s",
		 end->result ? words[end->result] : words[HANDOVER_FAILED]);
	snprintf(persistent.reason, sizeof(persistent.reason), "%s", end->reason);
	return persistent;
}

/* True: this process serves in place of its predecessor. */
static bool take_over(const struct options *options, const struct server_start *start)
{
	struct server_serves serves = { .head = { SERVER_MSG_VERSION, SERVER_SERVES } };
	struct handover_end end;

	atomic_store(&daemon_self->session->device, start->device);
	if (!handover_take(SERVER_HAND_OVER, start_threads, options, &end))
		return false;
	serves.device = start->device;
	serves.end = describe_end(&end);
	tell_supervisor(&serves, sizeof(serves));
	return true;
}

/* True: another process serves now. */
static bool receive_message(void)
{
	struct server_gave gave = { .head = { SERVER_MSG_VERSION, SERVER_GAVE } };
	struct server_give give = { 0 };
	struct handover_end end;
	int attached;

	if (message_receive(SERVER_CONTROL, &give, sizeof(give), &attached) <
		    (ssize_t)offsetof(struct server_give, max_pause_ms) ||
	    give.head.version != SERVER_MSG_VERSION || give.head.op != SERVER_GIVE ||
	    attached < 0)
		return false;
	handover_give(attached, give.rehearsal, give.max_pause_ms, &end);
	if (end.result == HANDOVER_DONE)
		return true;
	gave.end = describe_end(&end);
	tell_supervisor(&gave, sizeof(gave));
	return false;
}

/* ---- the end ---- */

/* False: the kernel has ended the connection. */
static bool is_end_in_order(const struct server_start *start)
{
	/* unmounting is an end like any other */
	if (!atomic_load(&daemon_self->session->ended) || !mount_exists()) {
		log_info("stopping");
		return true;
	}
	log_error("the kernel has aborted the connection of %s: an administrator asked it to, or a "
		  "request was older than fs.fuse.max_request_timeout permits",
		  start->mountpoint);
	return false;
}

static bool server_end(const struct server_start *start)
{
	bool ok = is_end_in_order(start);

	/* the supervisor was killed: nobody else does it */
	if (getppid() != (pid_t)start->supervisor && start->pid_file[0])
		unlink(start->pid_file);
	mount_undo(start->mountpoint, start->device);
	session_close();
	return ok;
}

/* False: another process serves. */
static bool wait_for_end(void)
{
	struct pollfd fds[] = { { .events = POLLIN },
				{ .fd = SERVER_CONTROL, .events = POLLIN } };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	fds[0].fd = signalfd(-1, &set, SFD_CLOEXEC);
	while (!fds[0].revents) {
		if (poll(fds, 2, -1) <= 0)
			fds[0].revents = 0;
		else if (fds[1].revents & ~POLLIN)
			fds[1].fd = -1;		/* the supervisor has ended: a signal follows */
		else if (fds[1].revents && receive_message())
			return false;
	}
	return true;
}

/* ---- */

/* The descriptors that were given are not for the helper process. */
static void claim_descriptors(void)
{
	for (int fd = SERVER_CONTROL; fd < SERVER_FILES_END; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	close_from(SERVER_FILES_END);
}

/* False: there is no supervisor, or one of another version; a message was printed. */
static bool receive_start(struct server_start *start)
{
	ssize_t got = recv(SERVER_CONTROL, start, sizeof(*start), 0);

	if (got < (ssize_t)sizeof(start->head) || start->head.op != SERVER_START) {
		log_error("this is a part of anybinderd, which it starts itself: run anybinderd");
		return false;
	}
	if (start->head.version != SERVER_MSG_VERSION || got != sizeof(*start)) {
		log_error("the daemon's supervisor sends messages of version %u, and this program "
			  "knows version %u: the daemon must be restarted", start->head.version,
			  SERVER_MSG_VERSION);
		return false;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	return getppid() == (pid_t)start->supervisor;
}

int server_main(int argc, char **argv)
{
	struct server_start start;
	struct options options;

	claim_descriptors();
	if (!receive_start(&start))
		return 1;
	options_parse(&options, argc, argv);
	log_threshold = options.log_level;
	daemon_self = daemon_alloc(sizeof(*daemon_self));
	init_daemon(&options, &start);
	if (start.background)
		ready_set_background();
	if (start.role != SERVER_FIRST)
		ready_leave_terminal();
	limits_set(&options);
	binder_report_show_priorities(options.android_reports);
	mount_adopt(&start.mount);
	session_adopt(SERVER_CONNECTION, &start.session);
	if (!persistent_attach(SERVER_PERSISTENT)) {
		log_error("cannot use the state that the previous server has left: %s; restart the "
			  "daemon", strerror(errno));
		return 1;
	}
	if (options.selinux && !selinux_start(SELINUX_DIRECTORY))
		return 1;
	if (start.role == SERVER_SUCCEEDS || start.role == SERVER_REHEARSES) {
		if (!take_over(&options, &start))
			return 1;
	} else if (!start_serving(&options, &start)) {
		return 1;
	}
	if (!wait_for_end())
		return 0;
	return server_end(&start) ? 0 : 1;
}
