/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The messages between the supervisor and a server.
 *
 * A server is the installed program, executed with argv[0] SERVER_NAME and otherwise with the
 * arguments of the start. The two may be of different versions: each message begins with the
 * version of its format, and a server that does not know it exits.
 */
#ifndef HOST_FUSE_SERVER_MSG_H
#define HOST_FUSE_SERVER_MSG_H

#include "session/persistent.h"
#include "session/mount.h"
#include "session/session.h"

#define SERVER_NAME "anybinderd-server"
#ifndef SERVER_MSG_VERSION	/* tests have programs of other versions */
#define SERVER_MSG_VERSION 1u
#endif

/* The descriptors of a server, after standard input, output and error. */
enum {
	SERVER_CONTROL = 3,	/* these messages, a socket with SOCK_SEQPACKET */
	SERVER_LIFE,		/* a socket that is connected until the server has ended */
	SERVER_PERSISTENT,	/* what outlives it (persistent.h) */
	SERVER_CONNECTION,	/* to the kernel; a successor gets its predecessor's */
	SERVER_HAND_OVER,	/* of a successor: a socket to its predecessor */
	SERVER_FILES_END,
};

enum server_op {
	SERVER_START = 1,	/* to the server, the first message: a struct server_start */
	SERVER_SERVES,		/* from it, once; a struct server_serves */
	SERVER_GIVE,		/* to it: hand over, by the attached socket; struct server_give */
	SERVER_GAVE,		/* from it: the result; struct server_gave */
};

enum server_role {
	SERVER_FIRST = 1,
	SERVER_RECOVERS,	/* its predecessor has crashed */
	SERVER_SUCCEEDS,	/* its predecessor hands over */
	SERVER_REHEARSES,	/* the same, but it restores the state, compares, and exits */
};

struct server_head {
	uint32_t version;
	uint32_t op;
};

struct server_start {
	struct server_head head;
	uint32_t role;
	uint32_t generation;
	uint32_t supervisor;		/* pid */
	uint32_t background;		/* messages go to syslog */
	struct session_values session;
	uint64_t device;		/* st_dev of the mount; 0: not known yet */
	struct mount mount;
	char mountpoint[MOUNT_PATH_SIZE];	/* absolute */
	char pid_file[MOUNT_PATH_SIZE];		/* absolute; empty: none */
};

struct server_serves {
	struct server_head head;
	uint64_t device;		/* as above */
	struct persistent_hand_over end; /* of a successor */
};

struct server_give {
	struct server_head head;
	uint32_t rehearsal;
	uint32_t max_pause_ms;		/* 0, or missing from an older supervisor: none given */
};

struct server_gave {
	struct server_head head;
	struct persistent_hand_over end;
};

#endif
