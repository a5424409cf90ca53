/* SPDX-License-Identifier: GPL-2.0 */
/* The messages between the two processes of a hand-over, on a socket of SOCK_SEQPACKET. */
#ifndef HOST_FUSE_PEER_H
#define HOST_FUSE_PEER_H

#include "host_types.h"

/* The version of these messages and of the daemon's own records; the engine's state has its own. */
#ifndef PEER_VERSION	/* tests have programs of other versions */
#define PEER_VERSION 1
#define PEER_OLDEST 1
#endif

enum peer_kind {
	PEER_HELLO = 1,	/* successor: the versions it reads; its pidfd is attached */
	PEER_STATE,	/* predecessor: a memory file with the state and its pidfd are attached */
	PEER_FILES,	/* predecessor: further descriptors, in their order */
	PEER_READY,	/* successor: it could serve from now on */
	PEER_REFUSED,	/* either: with the reason */
	PEER_COMMIT,	/* predecessor: it does nothing any more */
};

/* A later version may append fields. */
struct peer_message {
	u32 kind;
	u32 version;		/* of PEER_VERSION, of the sender; STATE: that of the records */
	u32 oldest;
	u32 engine_version;
	u32 engine_oldest;
	u32 nr_fds;		/* STATE: all that will follow */
	u64 records_size;	/* STATE: bytes of the daemon's records, */
	u64 engine_size;	/* which the engine's follow */
	u64 began_ns;		/* STATE: when the last request may have been served */
	u32 left_behind;
	u32 unused;
	char text[200];		/* REFUSED; HELLO: the version of the program */
};

/* Sends @message, with @nr descriptors. False: the other one has ended, or does not receive. */
bool peer_send(int socket, const struct peer_message *message, const int *fds, u32 nr);
/* The same for a message of @kind with @text and the versions of this program. */
bool peer_say(int socket, enum peer_kind kind, const char *text, const int *fds, u32 nr);

/*
 * Receives a message within @timeout_ms, and at most @max descriptors at @fds, *@nr of them. 1;
 * 0: it did not come in time; -1: the other one has ended.
 */
int peer_receive(int socket, struct peer_message *message, int *fds, u32 max, u32 *nr,
		 int timeout_ms);

#endif
