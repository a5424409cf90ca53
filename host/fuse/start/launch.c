// SPDX-License-Identifier: GPL-2.0
/*
 * Executes the program as a server.
 *
 * Each server is a fresh execution of the program that is installed when it starts, by the path
 * that the first one had: an upgrade replaces the file. If there is none any more, the supervisor's
 * own program, which the kernel still has, is executed.
 *
 * A server that is killed need not end soon: a thread of it may be in the memory of a client, or a
 * debugger has not seen its end. It stays a child, which is waited for once SIGCHLD says so.
 */
#include "start/launch.h"

#include "base/daemon_state.h"
#include "base/daemon_log.h"
#include "base/message.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN_PROGRAM "/proc/self/exe"

extern char **environ;

struct launch {
	char program[MOUNT_PATH_SIZE];
	char **argv;
	pid_t *late;	/* servers that were forgotten before they had ended */
	size_t nr_late;
	bool only_own;
};

void launch_init(char **argv)
{
	struct launch *launch = daemon_part(launch);
	ssize_t size = readlink(OWN_PROGRAM, launch->program, sizeof(launch->program) - 1);

	launch->program[size > 0 ? size : 0] = 0;
	launch->argv = argv;
	argv[0] = (char *)SERVER_NAME;
}

void launch_only_own(bool only)
{
	daemon_self->launch->only_own = only;
}

static int spawn_program(pid_t *pid, const posix_spawn_file_actions_t *actions)
{
	const struct launch *launch = daemon_self->launch;
	int error = ENOENT;

	if (launch->program[0] && !launch->only_own)
		error = posix_spawn(pid, launch->program, actions, NULL, launch->argv, environ);
	if (error)
		error = posix_spawn(pid, OWN_PROGRAM, actions, NULL, launch->argv, environ);
	return error;
}

/* Moves the descriptors above those of a server, so that none is overwritten. */
static bool move_up(int files[], int nr)
{
	bool ok = true;

	for (int i = 0; i < nr; i++) {
		if (files[i] >= 0)
			files[i] = fcntl(files[i], F_DUPFD_CLOEXEC, SERVER_FILES_END);
		else
			files[i] = -2;
		ok = ok && files[i] != -1;
	}
	return ok;
}

/* @files: for SERVER_CONTROL and the others; -1: none. */
static int spawn_with_files(pid_t *pid, int files[])
{
	posix_spawn_file_actions_t actions;
	const int nr = SERVER_FILES_END - SERVER_CONTROL;
	int error = 0;

	if (!move_up(files, nr))
		error = errno;
	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < nr && !error; i++) {
		if (files[i] >= 0)
			error = posix_spawn_file_actions_adddup2(&actions, files[i],
								 SERVER_CONTROL + i);
	}
	if (!error)
		error = spawn_program(pid, &actions);
	posix_spawn_file_actions_destroy(&actions);
	for (int i = 0; i < nr; i++)
		if (files[i] >= 0)
			close(files[i]);
	return error;
}

bool launch_server(struct server *server, const struct server_start *start, int connection,
		   int persistent, int hand_over)
{
	int control[2] = { -1, -1 };
	int life[2] = { -1, -1 };
	int error = 0;

	*server = (struct server){ .control = -1, .life = -1, .connection = connection };
	if (connection < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life))
		error = errno;
	server->control = control[0];
	server->life = life[0];
	if (!error) {
		int files[] = { control[1], life[1], persistent, connection, hand_over };

		error = spawn_with_files(&server->pid, files);
	}
	close(control[1]);
	close(life[1]);
	/* a server that does not receive it has ended, which is noticed as any other end */
	if (!error)
		message_send(server->control, start, sizeof(*start), -1);
	else
		launch_forget(server);
	errno = error;
	return !error;
}

pid_t launch_wait(struct server *server, int *status, int ms)
{
	pid_t pid = waitpid(server->pid, status, WNOHANG);

	for (; !pid && ms > 0; ms--) {
		usleep(1000);
		pid = waitpid(server->pid, status, WNOHANG);
	}
	server->was_waited_for = pid;
	return pid;
}

static void add_late(pid_t pid)
{
	struct launch *launch = daemon_self->launch;
	pid_t *late = reallocarray(launch->late, launch->nr_late + 1, sizeof(*late));

	if (!late) {
		log_error("cannot wait for the process %d: %s", pid, strerror(errno));
		return;
	}
	launch->late = late;
	late[launch->nr_late++] = pid;
}

void launch_forget(struct server *server)
{
	close(server->control);
	close(server->life);
	if (server->connection >= 0)
		close(server->connection);
	if (server->pid && !server->was_waited_for)
		add_late(server->pid);
	*server = (struct server){ .control = -1, .life = -1, .connection = -1 };
}

void launch_wait_late(void)
{
	struct launch *launch = daemon_self->launch;
	size_t nr = 0;

	for (size_t i = 0; i < launch->nr_late; i++) {
		pid_t pid = launch->late[i];

		if (!waitpid(pid, NULL, WNOHANG))
			launch->late[nr++] = pid;
		else
			log_info("the former server process %d has ended", pid);
	}
	launch->nr_late = nr;
}
