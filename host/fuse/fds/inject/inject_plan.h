/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sequence of system calls that a receiver is made to execute. inject.c is the event loop and
 * handles stops and signals; inject_plan.c chooses the system calls and handles sockets and
 * descriptors. Used by inject.c only, on the injector's thread.
 */
#ifndef HOST_FUSE_INJECT_PLAN_H
#define HOST_FUSE_INJECT_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fds/inject/inject_arch.h"

/* Files that one message can carry (the kernel's SCM_MAX_FD). */
#define INJECT_BATCH 253

enum inject_step {
	INJECT_CLOSE_ASKED,	/* the job's list of descriptors to close */
	INJECT_SOCKET,		/* create a socket, which is then duplicated by the helper */
	INJECT_MOVE,		/* duplicate it above the numbers of the files */
	INJECT_CLOSE_OLD,	/* close its first number */
	INJECT_RECEIVE,		/* once for each batch of files */
	INJECT_CLOSE_SOCKET,
	INJECT_UNDO,		/* after a failure: close the files that were received */
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

	/* Private to inject_plan.c, except for error. */
	enum inject_step step;
	int error;		/* first failure, 0 or -errno */
	int pidfd;		/* of the receiver; -1 */
	int socket;		/* the receiver's number of the socket; -1 */
	int old_socket;		/* its first number, after INJECT_MOVE; -1 */
	int socket_copy;	/* the helper's descriptor of the same socket; -1 */
	int nr_closed;
	int *fds;		/* the receiver's numbers in order of arrival */
	int nr_fds;
	int batch;		/* files in the message under way */
	uint64_t scratch;	/* address of the scratch memory in the receiver */
	size_t scratch_size;	/* 0: not in use */
	unsigned char *saved;	/* its original contents */
};

/* Prepares @plan, whose first section is set. Errors: -ENOMEM. */
int inject_plan_begin(struct inject_plan *plan);

/*
 * Chooses the next system call for the stopped receiver. False: there is none left; plan->error is
 * the result, inject_plan_result() returns the numbers.
 */
bool inject_plan_next(struct inject_plan *plan, struct inject_call *call);

/* The system call returned @ret. */
void inject_plan_returned(struct inject_plan *plan, long ret);

/* The job has failed with @error: the remaining steps only undo the previous ones. */
void inject_plan_abort(struct inject_plan *plan, int error);

/* The number of file @i in the receiver, after success. */
int inject_plan_result(const struct inject_plan *plan, int i);

/* Frees the helper's resources of the plan. */
void inject_plan_end(struct inject_plan *plan);

#endif
