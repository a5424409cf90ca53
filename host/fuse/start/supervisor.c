// SPDX-License-Identifier: GPL-2.0
/*
 * The process that is started, stopped and waited for.
 *
 * The server's end of a socket between the two is in a thread of its own (exit_watch.h), so the
 * supervisor notices the end of the server even if a client keeps a thread of it.
 *
 * The connection lasts until its last descriptor is closed, and the supervisor has one. A server
 * reads requests from another, a clone, which has a list of the requests that were read and not
 * answered. After a crash they are queued again, or, by an older kernel, ended with ECONNABORTED as
 * the clone is closed. For the former the supervisor keeps the clone until the next server serves.
 */
#include "start/supervisor.h"

#include "base/clock.h"
#include "base/daemon_state.h"
#include "base/daemon_log.h"
#include "base/message.h"
#include "session/ready.h"
#include "start/launch.h"
#include "start/options.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The server has this long to end after SIGTERM, */
#define END_MS 1500
/* and its last thread after the first. */
#define EXIT_MS 200

/* --max-crashes counts those of this time. */
#define CRASHES_NS 60000000000ull

/*
 * A hand-over takes this long at most; and a successor whose predecessor has ended, until it
 * serves.
 */
#define HAND_OVER_MS 20000
#define SUCCEED_MS 10000

/* In place of an exit status: the daemon goes on. */
#define GO_ON (-1)

struct supervisor {
	int connection;
	int persistent;
	int signals;
	struct server server;
	struct server successor;	/* while the server hands over */
	bool is_rehearsal;
	uint64_t hand_over_ns;		/* when the hand-over began */
	uint64_t left_ns;		/* when the server ended meanwhile; 0: it has not */
	struct server_start start;	/* what the next server is told */
	bool is_cloned;			/* the server's connection is a clone */
	bool is_announced;
	bool is_stopping;
	uint64_t stop_ns;		/* when that began */
	unsigned int max_crashes;
	unsigned int nr_crashes;
	uint64_t crashes_ns[OPTIONS_CRASHES_MAX];	/* the times of the last ones */
	unsigned int nr_unanswered;
	int unanswered[OPTIONS_CRASHES_MAX];	/* connections of crashed servers */
};

static const struct server no_server = { .control = -1, .life = -1, .connection = -1 };

static bool start_server(struct supervisor *self, enum server_role role)
{
	int connection = session_clone(self->connection);

	/* then a crash can only be survived if the kernel queues requests again */
	self->is_cloned = connection >= 0;
	if (!self->is_cloned)
		connection = fcntl(self->connection, F_DUPFD_CLOEXEC, 0);
	self->left_ns = 0;
	self->start.role = role;
	self->start.generation++;
	if (!launch_server(&self->server, &self->start, connection, self->persistent, -1)) {
		log_error("cannot start a server process: %s", strerror(errno));
		return false;
	}
	return true;
}

static void tell_who_serves(const struct supervisor *self)
{
	atomic_store(&persistent_get()->generation, self->start.generation);
	atomic_store(&persistent_get()->server, (uint32_t)self->server.pid);
}

static void remove_pid_file(const struct supervisor *self)
{
	if (self->is_announced && self->start.pid_file[0])
		unlink(self->start.pid_file);
}

/* Ends what the server cannot end any more. */
static int give_up(struct supervisor *self)
{
	ready_announce_end();
	/* once the mount is gone, the next daemon may start, which writes its own */
	remove_pid_file(self);
	mount_abort(self->start.mountpoint, self->start.device);
	return 1;
}

static int announce_daemon(struct supervisor *self)
{
	if (self->is_announced)
		return GO_ON;
	if (self->start.pid_file[0] && !ready_write_pid_file(self->start.pid_file, getpid())) {
		kill(self->server.pid, SIGKILL);
		return give_up(self);
	}
	self->is_announced = true;
	ready_announce();
	return GO_ON;
}

static void close_unanswered(struct supervisor *self)
{
	while (self->nr_unanswered)
		close(self->unanswered[--self->nr_unanswered]);
}

/* ---- hand-overs ---- */

static bool is_handing_over(const struct supervisor *self)
{
	return self->successor.pid;
}

static void end_hand_over(const struct persistent_hand_over *end)
{
	persistent_get()->last = *end;
	persistent_get()->last.reason[sizeof(end->reason) - 1] = 0;
	atomic_fetch_add(&persistent_get()->attempts, 1);
	log_info("hand-over: %s %s", end->end, end->reason);
}

static void fail_hand_over(const char *word, const char *reason)
{
	struct persistent_hand_over end = { 0 };

	snprintf(end.end, sizeof(end.end), "%s", word);
	snprintf(end.reason, sizeof(end.reason), "%s", reason);
	end_hand_over(&end);
}

/* Ends a successor that does not serve. */
static void drop_successor(struct supervisor *self)
{
	int status;

	kill(self->successor.pid, SIGKILL);
	launch_wait(&self->successor, &status, EXIT_MS);
	launch_forget(&self->successor);
	/* unless it may have begun to serve */
	if (!self->left_ns)
		self->start.generation--;
}

/* False: errno. */
static bool start_successor(struct supervisor *self, bool rehearsal, uint32_t max_pause_ms)
{
	struct server_give give = { { SERVER_MSG_VERSION, SERVER_GIVE }, rehearsal,
				    max_pause_ms };
	int connection = fcntl(self->server.connection, F_DUPFD_CLOEXEC, 0);
	int pair[2];
	bool ok;

	if (connection < 0)
		return false;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		close(connection);
		return false;
	}
	self->left_ns = 0;
	self->hand_over_ns = clock_now_ns();
	self->is_rehearsal = rehearsal;
	self->start.role = rehearsal ? SERVER_REHEARSES : SERVER_SUCCEEDS;
	self->start.generation++;
	launch_only_own(false);
	ok = launch_server(&self->successor, &self->start, connection, self->persistent, pair[1]);
	if (!ok)
		self->start.generation--;
	else if (!message_send(self->server.control, &give, sizeof(give), pair[0])) {
		drop_successor(self);
		ok = false;
	}
	close(pair[0]);
	close(pair[1]);
	return ok;
}

static void begin_hand_over(struct supervisor *self, bool rehearsal, uint32_t max_pause_ms)
{
	if (is_handing_over(self) || self->is_stopping)
		return;
	if (!self->server.serves)
		fail_hand_over("refused", "The server has only just been started.");
	else if (self->start.generation == GENERATION_MAX)
		fail_hand_over("refused", "The mount has had too many servers.");
	else if (!start_successor(self, rehearsal, max_pause_ms))
		fail_hand_over("failed", strerror(errno));
}

/* The successor serves: the server has committed, and ends. */
static void succeed_server(struct supervisor *self, const struct persistent_hand_over *end)
{
	int status;

	kill(self->server.pid, SIGKILL);
	if (!launch_wait(&self->server, &status, EXIT_MS))
		log_warn("the former server process %d was killed, but has not ended yet",
			 self->server.pid);
	launch_forget(&self->server);
	self->server = self->successor;
	self->successor = no_server;
	end_hand_over(end);
	if (self->is_stopping)
		kill(self->server.pid, SIGTERM);
}

/* ---- messages and signals ---- */

union server_message {
	struct server_head head;
	struct server_serves serves;
	struct server_gave gave;
};

/* False: none came. */
static bool receive_from(struct server *server, union server_message *message)
{
	ssize_t got = recv(server->control, message, sizeof(*message), MSG_DONTWAIT);

	if (!got || (got < 0 && errno != EAGAIN && errno != EINTR))
		server->control_ended = true;	/* as its life will, soon */
	if (got < (ssize_t)sizeof(message->head) || message->head.version != SERVER_MSG_VERSION)
		return false;
	return (message->head.op == SERVER_SERVES && got == sizeof(message->serves)) ||
	       (message->head.op == SERVER_GAVE && got == sizeof(message->gave));
}

static int receive_message(struct supervisor *self)
{
	union server_message message;

	if (!receive_from(&self->server, &message))
		return GO_ON;
	if (message.head.op == SERVER_GAVE && is_handing_over(self)) {
		drop_successor(self);
		end_hand_over(&message.gave.end);
	}
	if (message.head.op == SERVER_GAVE || self->server.serves)
		return GO_ON;
	self->server.serves = true;
	self->start.device = message.serves.device;
	tell_who_serves(self);
	close_unanswered(self);
	return announce_daemon(self);
}

static void receive_from_successor(struct supervisor *self)
{
	union server_message message;

	if (!receive_from(&self->successor, &message) || message.head.op != SERVER_SERVES)
		return;
	succeed_server(self, &message.serves.end);
	self->server.serves = true;
	tell_who_serves(self);
}

static void stop_server(struct supervisor *self)
{
	if (self->is_stopping)
		return;
	self->is_stopping = true;
	self->stop_ns = clock_now_ns();
	ready_announce_end();
	remove_pid_file(self);
	/* the server notices it; whether it has committed already is not known */
	if (is_handing_over(self))
		kill(self->successor.pid, SIGKILL);
	kill(self->server.pid, SIGTERM);
	kill(self->server.pid, SIGCONT);
}

static int receive_signal(struct supervisor *self)
{
	struct signalfd_siginfo info;

	if (read(self->signals, &info, sizeof(info)) != sizeof(info))
		return GO_ON;
	if (info.ssi_signo == SIGCHLD)
		launch_wait_late();
	else if (info.ssi_signo == SIGHUP || info.ssi_signo == SIGUSR1)
		begin_hand_over(self, info.ssi_signo == SIGUSR1,
				info.ssi_code == SI_QUEUE ? (uint32_t)info.ssi_int : 0);
	else
		stop_server(self);
	return GO_ON;
}

/* ---- the end of a server ---- */

/* Counts a crash. False: there were too many. */
static bool may_recover(struct supervisor *self)
{
	uint64_t now = clock_now_ns();
	unsigned int nr = 0;

	atomic_fetch_add(&persistent_get()->crashes, 1);
	for (unsigned int i = 0; i < self->nr_crashes; i++)
		if (now - self->crashes_ns[i] < CRASHES_NS)
			self->crashes_ns[nr++] = self->crashes_ns[i];
	self->crashes_ns[nr++] = now;
	self->nr_crashes = nr;
	if (nr < self->max_crashes && self->start.generation < GENERATION_MAX)
		return true;
	log_error("the server process has crashed %u times within a minute: %s is unmounted", nr,
		  self->start.mountpoint);
	return false;
}

static void log_crash(const struct supervisor *self, pid_t ended, int status)
{
	if (!ended)
		log_warn("the server process %d was killed, but has not ended yet",
			 self->server.pid);
	else if (WIFEXITED(status))
		log_warn("the server process %d has failed", self->server.pid);
	else
		log_warn("the server process %d was ended by signal %d", self->server.pid,
			 WTERMSIG(status));
}

/* Starts another server on the same connection. @ended: no thread of the old one is left. */
static int recover_mount(struct supervisor *self, bool ended)
{
	if (!self->start.session.resends && !(ended && self->is_cloned)) {
		log_error("this kernel cannot end the requests that the server had read (Linux "
			  "6.9.4 can): %s is unmounted; start anybinderd again",
			  self->start.mountpoint);
		return give_up(self);
	}
	if (!may_recover(self))
		return give_up(self);
	if (self->start.session.resends && self->nr_unanswered < OPTIONS_CRASHES_MAX) {
		self->unanswered[self->nr_unanswered++] = self->server.connection;
		self->server.connection = -1;
	}
	launch_forget(&self->server);
	return start_server(self, SERVER_RECOVERS) ? GO_ON : give_up(self);
}

static int end_of_stopped(struct supervisor *self, bool in_order)
{
	int status = 0;
	pid_t ended = launch_wait(&self->server, &status, EXIT_MS);
	bool committed = is_handing_over(self);		/* perhaps: then it has not unmounted */

	if (ended && WIFEXITED(status) && !committed)
		return WEXITSTATUS(status);
	/* a server that ended in order has removed the mount, and there may be another one now */
	if (ended || !in_order || committed)
		mount_abort(self->start.mountpoint, self->start.device);
	return 0;
}

static int end_of_server(struct supervisor *self)
{
	int status = 0;
	pid_t ended;

	/* before the wait, so that an older kernel ends the requests that were not answered */
	if (!self->start.session.resends) {
		close(self->server.connection);
		self->server.connection = -1;
	}
	if (self->is_stopping)
		return end_of_stopped(self, true);
	ended = launch_wait(&self->server, &status, EXIT_MS);
	if (ended && WIFEXITED(status) && !self->left_ns &&
	    (!self->is_announced || !WEXITSTATUS(status) || session_is_over(self->connection))) {
		if (!self->is_announced)	/* it has told the reason */
			mount_undo(self->start.mountpoint, self->start.device);
		else
			ready_announce_end();
		remove_pid_file(self);
		return WEXITSTATUS(status);
	}
	log_crash(self, ended, status);
	/* as a program does that does not know this supervisor's messages */
	launch_only_own(ended && WIFEXITED(status) && !self->server.serves);
	if (!self->is_announced || session_is_over(self->connection))
		return give_up(self);
	return recover_mount(self, ended);
}

/* ---- */

static int ms_until(uint64_t since_ns, unsigned int ms)
{
	uint64_t passed_ms = (clock_now_ns() - since_ns) / 1000000;

	return passed_ms < ms ? (int)(ms - passed_ms) : 0;
}

/* The time after which wait_for_event() has to act although nothing happens; -1: it has not. */
static int time_left_ms(const struct supervisor *self)
{
	if (self->is_stopping)
		return ms_until(self->stop_ns, END_MS);
	if (is_handing_over(self))
		return self->left_ns ? ms_until(self->left_ns, SUCCEED_MS)
				     : ms_until(self->hand_over_ns, HAND_OVER_MS);
	return -1;
}

static int receive_nothing(struct supervisor *self)
{
	if (self->is_stopping) {
		log_warn("the server process %d does not end: killed", self->server.pid);
		kill(self->server.pid, SIGKILL);
		return end_of_stopped(self, false);
	}
	if (!is_handing_over(self) || time_left_ms(self))
		return GO_ON;
	drop_successor(self);
	fail_hand_over("failed", "There was no result in time.");
	return self->left_ns ? end_of_server(self) : GO_ON;
}

/* A server that has ended while it hands over: its successor may have got everything. */
static int end_of_either(struct supervisor *self, const struct server *ended)
{
	if (!is_handing_over(self) || self->is_stopping)
		return ended == &self->server ? end_of_server(self) : GO_ON;
	if (ended == &self->server && !self->is_rehearsal && !self->successor.life_ended) {
		self->left_ns = clock_now_ns();
		return GO_ON;
	}
	if (!self->server.life_ended)	/* which notices that it has no successor */
		return GO_ON;
	/* also if it has ended in order: then it had committed */
	if (!self->is_rehearsal)
		self->left_ns = clock_now_ns();
	drop_successor(self);
	fail_hand_over("failed", "The server has ended meanwhile.");
	return end_of_server(self);
}

static int wait_for_event(struct supervisor *self)
{
	struct server *servers[] = { &self->server, &self->successor };
	struct pollfd fds[5] = { { .fd = self->signals, .events = POLLIN } };
	int status = GO_ON;
	int nr;

	for (int i = 0; i < 2; i++) {
		const struct server *at = servers[i];

		fds[1 + i] = (struct pollfd){ at->control_ended ? -1 : at->control, POLLIN };
		fds[3 + i] = (struct pollfd){ at->life_ended ? -1 : at->life, POLLIN };
	}
	nr = poll(fds, 5, time_left_ms(self));
	if (nr <= 0)
		return nr ? GO_ON : receive_nothing(self);
	if (fds[1].revents)
		status = receive_message(self);
	if (fds[2].revents && is_handing_over(self))
		receive_from_successor(self);
	else if (fds[0].revents && status == GO_ON)
		status = receive_signal(self);
	for (int i = 0; i < 2 && status == GO_ON; i++) {
		/* unless its place was taken meanwhile */
		if (!fds[3 + i].revents || servers[i]->life != fds[3 + i].fd)
			continue;
		servers[i]->life_ended = true;
		status = end_of_either(self, servers[i]);
	}
	return status;
}

/* Makes the mount and begins the connection. */
static bool begin_mount(struct supervisor *self, const struct options *options)
{
	if (!mount_prepare(options->mountpoint) ||
	    (options->seal && !mount_seal(options->mountpoint)))
		return false;
	self->connection = mount_fuse(options->mountpoint, !options->private_mount);
	if (self->connection < 0 ||
	    !session_begin(self->connection, !options->no_passthrough, &self->start.session)) {
		mount_undo(options->mountpoint, 0);
		return false;
	}
	self->start.mount = *daemon_self->mount;
	self->persistent = persistent_create();
	if (self->persistent >= 0)
		return true;
	log_error("cannot create a memory file: %s", strerror(errno));
	mount_undo(options->mountpoint, 0);
	return false;
}

sigset_t supervisor_signals(void)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&set, signals[i]);
	return set;
}

/* The parts of the daemon that the supervisor has. */
static struct supervisor *init_supervisor(const struct options *options)
{
	struct supervisor *self = daemon_alloc(sizeof(*self));
	sigset_t set = supervisor_signals();

	self->signals = signalfd(-1, &set, SFD_CLOEXEC);
	self->successor = no_server;
	self->max_crashes = options->max_crashes;
	self->start.head = (struct server_head){ SERVER_MSG_VERSION, SERVER_START };
	self->start.supervisor = (uint32_t)getpid();
	self->start.background = !options->foreground;
	snprintf(self->start.mountpoint, sizeof(self->start.mountpoint), "%s", options->mountpoint);
	if (options->pid_file)
		snprintf(self->start.pid_file, sizeof(self->start.pid_file), "%s",
			 options->pid_file);
	return self;
}

int supervisor_main(const struct options *options, char **argv)
{
	struct supervisor *self = init_supervisor(options);
	int status = GO_ON;

	if (!begin_mount(self, options))
		return 1;
	launch_init(argv);
	if (!start_server(self, SERVER_FIRST)) {
		mount_undo(options->mountpoint, 0);
		return 1;
	}
	while (status == GO_ON)
		status = wait_for_event(self);
	return status;
}
