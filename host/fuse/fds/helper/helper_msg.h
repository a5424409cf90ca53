/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The messages between the daemon and its helper process (fds.h). The structures are those of
 * memory: both ran the same program when the helper was started. After a hand-over the daemon may
 * be of another version. Each new master says which version of the messages it speaks, and the
 * helper answers with the version that both use, or that there is none. A later version may have
 * more messages, and more fields in them, which are only sent to one who knows them.
 *
 * The control socket carries messages that are not answered, and events in the other direction. A
 * channel is a socket of its own for one question at a time, served by one thread of the helper: if
 * a client delays the answer, that channel is abandoned and the others are not affected.
 */
#ifndef HOST_FUSE_HELPER_MSG_H
#define HOST_FUSE_HELPER_MSG_H

#include "base/message.h"
#include "host_types.h"

#ifndef HELPER_VERSION	/* tests have programs of other versions */
#define HELPER_VERSION 2u
#define HELPER_OLDEST 2u	/* before, a receiver waited for an answer to HELPER_DONE */
#endif

/* argv[0] of the helper; the descriptor of its control socket. */
#define HELPER_NAME "anybinder-files"
#define HELPER_CONTROL 3

/* Descriptors that one injection installs and closes at most. */
#define HELPER_INSTALLS_MAX 1024u
#define HELPER_CLOSES_MAX 4096u
/* Processes that one search leaves out at most. */
#define HELPER_OWNERS_MAX 64u
#define HELPER_NUMBERS_MAX (HELPER_INSTALLS_MAX + HELPER_CLOSES_MAX)

/*
 * How long the daemon waits for an answer of a helper that runs, and for a job or a close until it
 * counts as stalled.
 */
#define HELPER_DEADLINE_MS 3000

enum helper_op {
	/* On a channel; the answer is a struct helper_answer. */
	HELPER_TAKE,	/* descriptor @fd of the process whose pidfd is attached, of user @uid */
	HELPER_MAPS,	/* the mapping of @inode on @device in process @pid */
	HELPER_PING,	/* nothing: is it alive? */
	/* On the control socket. */
	/* The first message: a socket for exit_watch_start(), attached. The answer, on that socket,
	 * is a byte: the version that both use; 0: there is none, and nothing has changed.
	 */
	HELPER_LIFE,
	HELPER_CHANNEL,	/* a new channel, attached */
	HELPER_CLOSE,	/* the helper's descriptor @fd of user @uid; event HELPER_CLOSED */
	HELPER_INJECT,	/* a job (inject.h) for thread @tid of @pid, user @uid: ARMED, DONE */
	HELPER_SEARCH,	/* event HELPER_UNHELD if no process but those of numbers[] has
			 * @inode on @device open
			 */
};

struct helper_message {
	u32 op;
	u32 uid;
	u64 id;
	u64 inode;
	u64 device;
	s32 pid;
	s32 tid;
	s32 fd;
	u32 restart;
	u32 version;		/* HELPER_VERSION of the master, in HELPER_LIFE */
	u32 unused;
	u32 index;		/* HELPER_MAPS: which of several, */
	u32 count;		/* and whether to count them */
	u32 nr_install;		/* the helper's descriptors */
	u32 nr_close;		/* descriptors of the process; they follow in numbers[]
				 * (HELPER_SEARCH: processes)
				 */
	s32 numbers[];
};

struct helper_answer {
	s32 result;		/* HELPER_TAKE: the helper's descriptor; else 0; or -errno */
	u32 generation;		/* of the helper; set by helper_ask() */
	u64 base;
	u64 size;
	u32 count;
	u32 shared;		/* the mapping is */
};

enum helper_event_kind {
	HELPER_CLOSED,
	HELPER_ARMED,
	HELPER_DONE,	/* comes before the receiver goes on */
	HELPER_UNHELD,
};

struct helper_event {
	u32 kind;
	s32 error;
	u64 id;			/* of the message */
	u32 nr;
	s32 numbers[];		/* HELPER_DONE: in the process */
};

/* The body of the helper process: serves the control socket until the daemon has ended. */
_Noreturn void helper_main(void);

#endif
