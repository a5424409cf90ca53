/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a visited receiver is made to call, one system call after the other: between the
 * event loop (inject.c), which knows stops and signals, and the plan (inject_plan.c), which knows
 * sockets and descriptors. Used by these two alone, on the injector's thread.
 */
#ifndef ANYBINDER_INJECT_PLAN_H
#define ANYBINDER_INJECT_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject.h"
#include "inject_arch.h"

/* Files that one message can carry (the kernel's SCM_MAX_FD). */
#define INJECT_BATCH 253

enum inject_stage {
	INJECT_CLOSE_ASKED,	/* the descriptors that the job wants closed */
	INJECT_SOCKET,		/* a socket of the receiver's, of which we take a copy */
	INJECT_RECEIVE,		/* as often as there are batches of files */
	INJECT_MOVE,		/* the first file takes the socket's number */
	INJECT_CLOSE_MOVED,	/* and gives up its old one */
	INJECT_UNDO,		/* after a failure: close what came in */
	INJECT_END,
};

struct inject_plan {
	/* Set by the event loop before the first call. */
	pid_t tid;
	pid_t tgid;
	uint64_t stack_limit;	/* scratch memory lies below this address */
	bool narrow;		/* it is a 32-bit program */
	int nr_install;
	const int *files;
	int nr_close;
	const int *closes;

	/* The plan's own. */
	enum inject_stage stage;
	int err;		/* first failure, 0 or -errno */
	int pidfd;		/* of the receiver; -1 */
	int socket;		/* the receiver's number of the socket; -1 */
	int socket_copy;	/* our descriptor of the same socket; -1 */
	int nr_closed;
	int *fds;		/* the receiver's numbers in order of arrival */
	int nr_fds;
	int batch;		/* files in the message under way */
	uint64_t scratch;	/* address and length of the borrowed memory, and what was there */
	size_t scratch_size;
	unsigned char *saved;
};

/* Prepares @plan (the first part is filled in). Errors: -ENOMEM. */
int inject_plan_begin(struct inject_plan *plan);

/*
 * The receiver is stopped and about to make a call: which? False when there is no more to
 * call; then plan->err tells how it went and inject_plan_result() gives the numbers.
 */
bool inject_plan_next(struct inject_plan *plan, struct inject_call *call);

/* The call returned @ret. */
void inject_plan_returned(struct inject_plan *plan, long ret);

/* From now on only undo what was done: the job has failed with @err for other reasons. */
void inject_plan_abort(struct inject_plan *plan, int err);

/* The number of file @i in the receiver, after the plan ended well. */
int inject_plan_result(const struct inject_plan *plan, int i);

/* Frees what the plan holds on our side. */
void inject_plan_end(struct inject_plan *plan);

#endif
