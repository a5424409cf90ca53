/* SPDX-License-Identifier: GPL-2.0 */
/* The helper process as such: its start, its control socket, its end. */
#ifndef HOST_FUSE_HELPER_PROCESS_H
#define HOST_FUSE_HELPER_PROCESS_H

#include "fds/fds.h"
#include "fds/helper/helper_msg.h"
#include "workers/worker.h"

/* Channels: those that workers use, and those that were abandoned. */
#define CHANNELS_MAX 256u

struct channel {
	bool exists;
	bool busy;		/* used by a thread, or abandoned */
	int fd;
	u32 generation;
	u32 op;			/* of the question that was abandoned */
	u32 uid;		/* charged for it */
};

struct helper {
	pthread_mutex_t lock;		/* guards the next three, and changes of @generation */
	int control;			/* -1: none */
	pid_t pid;		/* 0: it is not a child of this process, but has a pidfd */
	int pidfd;
	struct channel channels[CHANNELS_MAX];
	atomic_uint generation;
	atomic_ullong logged_ns; /* the last message of helper_ask() */

	/* Held while events are handled; guards @buffer; taken before @lock. */
	pthread_mutex_t receiving;
	_Alignas(8) char buffer[sizeof(struct helper_event) + HELPER_NUMBERS_MAX * sizeof(s32)];

	/* For the thread of the events alone: */
	struct worker worker;
	int epoll_fd;
	int wake_fd;
	atomic_bool ticking;
	u64 asleep_ns;			/* when it, or this thread, was last found not to run */
};

/* Has the thread of the events woken when @fd can be read. */
bool helper_is_watched(int fd, void *data);

/* ---- the lock is held ---- */

void helper_kill(void);

/* A helper that does not receive is replaced. */
bool helper_send_control(const void *data, size_t size, int attached);
/* Sends @op with one end of a new pair of sockets of @type; the other end, or -1. */
int helper_send_socket(int type, u32 op);

/*
 * The control socket is shut down when either process ends. False: errno is EPROTO if the helper
 * has no version of the messages in common with this process, ETIMEDOUT if it does not answer
 * within @ms, ECHILD if it has ended.
 */
bool helper_link_lives(int ms);

/* Starts the process, its control socket and its life. */
bool helper_start_process(void);

/* Says why that failed, by errno. */
const char *helper_start_error(void);

/* After its end, for a short time: one with a thread that a client keeps cannot be waited for. */
void helper_wait_for_end(void);

/* ---- no lock is held ---- */

/* A helper that was stopped, by whomever, is continued. */
void helper_continue_if_stopped(void);

#endif
