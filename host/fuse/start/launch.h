/* SPDX-License-Identifier: GPL-2.0 */
/* Executes the program as a server. */
#ifndef HOST_FUSE_LAUNCH_H
#define HOST_FUSE_LAUNCH_H

#include "start/server_msg.h"

#include <stdbool.h>
#include <sys/types.h>

/* A server, as the supervisor sees it. */
struct server {
	pid_t pid;		/* 0: there is none */
	int control;		/* messages */
	int life;		/* at its end when the server has ended (exit_watch.h) */
	int connection;		/* the server's descriptor of the connection, kept for its
				 * successor; -1: closed */
	bool control_ended;
	bool life_ended;
	bool was_waited_for;	/* as waitpid(2) does */
	bool serves;
};

/* Finds the program by which servers are started. @argv: of main(). */
void launch_init(char **argv);
/* The next servers are executions of the supervisor's own program: the installed one fails. */
void launch_only_own(bool only);

/*
 * Starts a server. Takes over @connection, -1: errno; @kept remains the caller's; @hand_over: see
 * SERVER_HAND_OVER, -1: none. False: errno, and @connection is closed.
 */
bool launch_server(struct server *server, const struct server_start *start, int connection,
		   int persistent, int hand_over);

/* Waits for the end of a server that was killed, for at most @ms. As waitpid(2); 0: not ended. */
pid_t launch_wait(struct server *server, int *status, int ms);

/* Closes what belongs to @server. If it has not ended, launch_wait_late() waits for it. */
void launch_forget(struct server *server);

/* For SIGCHLD: waits for each server that was forgotten before it had ended. Never sleeps. */
void launch_wait_late(void);

#endif
