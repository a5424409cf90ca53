// SPDX-License-Identifier: GPL-2.0
/*
 * Readiness.
 *
 * A script that starts the daemon may open a binder device in its next line: the parent exits with
 * status 0 only when open() succeeds from then on. Until then the child keeps standard error, so
 * that errors are printed where the user sees them.
 */
#include "session/ready.h"

#include "base/daemon_state.h"
#include "base/daemon_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct ready {
	bool in_background;
	int parent_pipe;	/* -1: nobody waits */
};

void ready_init(void)
{
	daemon_part(ready)->parent_pipe = -1;
}

void ready_fork(void)
{
	int ends[2];
	char byte;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) || (child = fork()) < 0) {
		log_error("cannot go into the background: %s", strerror(errno));
		exit(1);
	}
	if (child) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
	}
	close(ends[0]);
	setsid();
	daemon_self->ready->parent_pipe = ends[1];
	daemon_self->ready->in_background = true;
}

void ready_set_background(void)
{
	daemon_self->ready->in_background = true;
}

bool ready_write_pid_file(const char *path, pid_t pid)
{
	FILE *file = fopen(path, "we");

	if (file) {
		fprintf(file, "%d\n", pid);
		if (!fclose(file))
			return true;
	}
	log_error("cannot write the pid file %s: %s", path, strerror(errno));
	if (file)
		unlink(path);
	return false;
}

/* sd_notify(3) without its library: one datagram to the socket named in the environment. */
static void notify_systemd(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length;
	int fd;

	if (!path || (path[0] != '/' && path[0] != '@'))
		return;
	length = strlen(path);
	if (length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@')
		address.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
		log_warn("cannot notify systemd: %s", strerror(errno));
	close(fd);
}

void ready_leave_terminal(void)
{
	int null;

	if (!daemon_self->ready->in_background)
		return;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);

	log_use_syslog();
	if (chdir("/"))
		log_warn("cannot leave the working directory: %s", strerror(errno));
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
}

void ready_announce(void)
{
	char message[64];

	snprintf(message, sizeof(message), "READY=1\nMAINPID=%d", getpid());
	notify_systemd(message);
	if (daemon_self->ready->parent_pipe < 0)
		return;
	ready_leave_terminal();
	if (write(daemon_self->ready->parent_pipe, "R", 1) != 1)
		log_warn("the process that started the daemon has exited");
	close(daemon_self->ready->parent_pipe);
	daemon_self->ready->parent_pipe = -1;
}

void ready_announce_end(void)
{
	notify_systemd("STOPPING=1");
}
