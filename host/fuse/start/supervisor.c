// SPDX-License-Identifier: GPL-2.0
/*
 * The process that is started, stopped and waited for.
 *
 * The server's end of the socket between the two is in a thread of its own (exit_watch.h), so the
 * supervisor notices the end of the server even if a client keeps a thread of it. That thread also
 * keeps the server's descriptor of the FUSE connection: the supervisor ends the connection, so that
 * no client waits for replies.
 */
#include "start/supervisor.h"

#include "base/daemon.h"
#include "base/exit_watch.h"
#include "base/log.h"
#include "session/mount.h"
#include "session/ready.h"
#include "start/options.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The server has this long to end after SIGTERM, */
#define END_MS 1500
/* and its last thread after the first. */
#define EXIT_MS 200

/* In the server process. */
struct supervisor {
	int server_end;		/* of the socket to the supervisor */
};

/* Its exit status; -1: a signal has ended it, or has done so save for a thread that remains. */
static int wait_for_server(pid_t server)
{
	int status;

	for (int ms = 0; ms < EXIT_MS; ms++) {
		if (waitpid(server, &status, WNOHANG) == server)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		usleep(1000);
	}
	log_warn("a client keeps a thread of the server process %d in the kernel", server);
	return -1;
}

/*
 * Returns when the server has ended, or was killed because it did not. *@stopping: it was asked to.
 * False: it was killed.
 */
static bool watch_server(pid_t server, int life, int signals, bool *stopping)
{
	struct pollfd fds[] = { { .fd = life, .events = POLLIN },
				{ .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo info;
	char byte;

	while (poll(fds, 2, *stopping ? END_MS : -1) != 0) {
		if (fds[1].revents && read(signals, &info, sizeof(info)) > 0 && !*stopping) {
			*stopping = true;
			ready_announce_end();
			kill(server, SIGTERM);
			kill(server, SIGCONT);
		}
		if (!fds[0].revents)
			continue;
		if (read(life, &byte, 1) != 1)
			return true;
		ready_announce();
	}
	log_warn("the server process %d does not end: killed", server);
	kill(server, SIGKILL);
	return false;
}

static int supervisor_run(pid_t server, int life, const struct options *options)
{
	bool stopping = false;
	sigset_t set;
	bool ended;
	int status;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	ended = watch_server(server, life, signalfd(-1, &set, SFD_CLOEXEC), &stopping);
	status = wait_for_server(server);
	if (!stopping)
		ready_announce_end();
	if (status >= 0)
		return status;
	/* a server that ended in order has removed the mount, and there may be another one now */
	if (!stopping || !ended)
		mount_abort(options->mountpoint);
	if (stopping)
		return 0;
	log_error("the server process %d was killed", server);
	return 1;
}

bool supervisor_fork(const struct options *options)
{
	pid_t supervisor = getpid();
	pid_t server;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) || (server = fork()) < 0) {
		log_error("cannot start the server process: %s", strerror(errno));
		return false;
	}
	if (server) {
		close(pair[1]);
		_exit(supervisor_run(server, pair[0], options));
	}
	close(pair[0]);
	daemon_part(supervisor)->server_end = pair[1];
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	return getppid() == supervisor;
}

bool supervisor_attach(void)
{
	int fd = dup(daemon_self->supervisor->server_end);

	return fd >= 0 && exit_watch_start(fd, -1);
}

void supervisor_announce(void)
{
	int fd = daemon_self->supervisor->server_end;

	if (send(fd, "R", 1, MSG_NOSIGNAL) < 0)
		log_warn("the supervisor has ended");
	close(fd);
}
