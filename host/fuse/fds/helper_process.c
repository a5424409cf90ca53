// SPDX-License-Identifier: GPL-2.0
/*
 * The helper process as such.
 *
 * It is a child of the process that started it, and stays when that one hands the daemon over: the
 * next one has the control socket, a pidfd, and a life of its own that the helper watches.
 *
 * The thread in helper_events.c replaces a helper that was killed; helper_ask.c repeats what was
 * asked of it.
 */
#include "fds/daemon_side.h"

#include "base/daemon_state.h"
#include "base/exit_watch.h"
#include "base/locks.h"
#include "base/daemon_log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* A program that is read from a slow disk, beside others that want the processors. */
#define START_MS 30000

extern char **environ;

static void limit_sends(int socket)
{
	struct timeval limit = { HELPER_DEADLINE_MS / 1000, HELPER_DEADLINE_MS % 1000 * 1000 };

	setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

bool helper_is_watched(int fd, void *data)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = data };

	return !epoll_ctl(daemon_self->helper->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* Lock held. */
void helper_kill(void)
{
	struct helper *helper = daemon_self->helper;

	if (helper->pid)
		kill(helper->pid, SIGKILL);
	else
		syscall(SYS_pidfd_send_signal, helper->pidfd, SIGKILL, NULL, 0);
}

/* A helper that does not receive is replaced. Lock held. */
bool helper_send_control(const void *data, size_t size, int attached)
{
	if (daemon_self->helper->control < 0)
		return false;
	if (message_send(daemon_self->helper->control, data, size, attached))
		return true;
	helper_kill();
	return false;
}

/* Sends @op with one end of a new pair of sockets of @type; the other end, or -1. Lock held. */
int helper_send_socket(int type, u32 op)
{
	const struct helper_message message = { .op = op, .version = HELPER_VERSION };
	int pair[2];
	bool ok;

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair))
		return -1;
	ok = helper_send_control(&message, sizeof(message), pair[1]);
	close(pair[1]);
	if (ok)
		return pair[0];
	close(pair[0]);
	return -1;
}

/* Lock held. */
bool helper_link_lives(int ms)
{
	int life = helper_send_socket(SOCK_STREAM, HELPER_LIFE);
	struct pollfd pollfd = { .fd = life, .events = POLLIN };
	u8 version;
	int ready;

	if (life < 0)
		return false;
	ready = poll(&pollfd, 1, ms);
	if (ready <= 0 || recv(life, &version, 1, 0) != 1) {
		close(life);
		errno = ready ? ECHILD : ETIMEDOUT;
		return false;
	}
	if (version < HELPER_OLDEST || version > HELPER_VERSION) {
		close(life);
		errno = EPROTO;
		return false;
	}
	return exit_watch_start(life, daemon_self->helper->control, NULL);
}

/*
 * Executing the program again leaves the FUSE connection and all buffers behind: each descriptor of
 * the daemon is closed by exec, and none is a client's. Lock held.
 */
bool helper_start_process(void)
{
	struct helper *helper = daemon_self->helper;
	char *const args[] = { HELPER_NAME, NULL };
	posix_spawn_file_actions_t actions;
	int pair[2];
	int error;
	bool ok;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pair[1], HELPER_CONTROL);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	error = posix_spawn(&helper->pid, "/proc/self/exe", &actions, NULL, args, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(pair[1]);
	if (error || !helper_is_watched(pair[0], NULL)) {
		close(pair[0]);
		errno = error ? error : errno;
		return false;
	}
	limit_sends(pair[0]);
	helper->control = pair[0];
	helper->pidfd = (int)syscall(SYS_pidfd_open, helper->pid, 0);
	atomic_fetch_add(&helper->generation, 1);
	ok = helper_link_lives(START_MS);
	error = errno;
	if (!ok)
		helper_kill();
	errno = error;
	return ok;
}

const char *helper_start_error(void)
{
	switch (errno) {
	case ETIMEDOUT:
		return "it does not answer within 30 s";
	case ECHILD:
		return "it ended as it started";
	default:
		return strerror(errno);
	}
}

/* A helper that was stopped, by whomever, is continued. */
void helper_continue_if_stopped(void)
{
	siginfo_t info = { 0 };
	guard_mutex(&daemon_self->helper->lock);
	pid_t pid = daemon_self->helper->pid;

	if (!pid) {	/* not a child of this process */
		syscall(SYS_pidfd_send_signal, daemon_self->helper->pidfd, SIGCONT, NULL, 0);
		return;
	}
	if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) || info.si_pid != pid)
		return;
	log_warn("the helper process %d was stopped: continued", pid);
	kill(pid, SIGCONT);
}

/* A helper with a thread that a client keeps in the kernel cannot be waited for. */
void helper_wait_for_end(void)
{
	struct helper *helper = daemon_self->helper;
	struct pollfd pollfd = { .fd = helper->pidfd, .events = POLLIN };

	for (int i = 0; helper->pid && i < 20 && !waitpid(helper->pid, NULL, WNOHANG); i++)
		usleep(5000);
	if (!helper->pid)
		poll(&pollfd, 1, 100);
	if (helper->pidfd >= 0)
		close(helper->pidfd);
	helper->pid = 0;	/* both may be another's by the time of helper_kill() */
	helper->pidfd = -1;
}

void fds_run_helper(const char *name)
{
	if (!strcmp(name, HELPER_NAME))
		helper_main();
}

void fds_helper_versions(u32 *oldest, u32 *newest)
{
	*oldest = HELPER_OLDEST;
	*newest = HELPER_VERSION;
}
