/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the tests of the injector: receivers (forked processes that block in the kernel), jobs
 * that can be waited for, and the inspection of a receiver's descriptors.
 */
#ifndef HOST_FUSE_INJECT_TEST_H
#define HOST_FUSE_INJECT_TEST_H

#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "check.h"
#include "fds/inject/inject.h"

#define MAX_THREADS 8
#define NO_RESULT 12345

extern struct injector *injector;

/* Filled in by a receiver and its parent; shared memory. */
struct report {
	volatile pid_t tids[MAX_THREADS];
	volatile int nr_threads;
	volatile int nr_rounds;		/* blocking calls that returned */
	volatile int nr_signals;	/* handler runs */
	volatile long signal_sum;	/* of their values */
	volatile int nr_children;	/* vfork children started */
	volatile pid_t pid;
	volatile int nr_stops;		/* times that its parent saw it stopped */
	volatile int nr_ends;		/* 1 once its parent saw it end, with this status */
	volatile int end_status;
	volatile int damage;		/* wrong registers or bytes seen */
};

struct receiver {
	pid_t pid;
	pid_t parent;			/* not the test itself, as with real receivers */
	int answers[MAX_THREADS];	/* a byte written here ends the blocking call */
	struct report *report;
};

/* Ways for a receiver to block. */
enum blocking {
	BLOCK_READ,	/* interruptible: PTRACE_INTERRUPT ends it, the kernel restarts it */
	BLOCK_VFORK,	/* killable only, as an interrupted FUSE request */
};

struct receiver_options {
	enum blocking blocking;
	int nr_threads;			/* 0: one */
	void (*prepare)(struct report *report);	/* runs in the receiver first */
};

/* Starts a receiver and waits until all its threads block. */
bool receiver_start(struct receiver *receiver, const struct receiver_options *options);

/* Ends the blocking call of thread @i. */
void receiver_answer(const struct receiver *receiver, int i);

/* Kills the receiver; false if it was dead before or detected damage. */
bool receiver_end(struct receiver *receiver);

/* Kills a receiver that may be dead; false if its parent is not notified. */
bool receiver_kill(struct receiver *receiver);

/* The thread of which the injector is told that it lacks a processor only; 0: none. */
extern volatile pid_t runnable_tid;

/* A job that can be waited for. */
struct waited_job {
	struct inject_job job;
	sem_t over;
	int armed_err;
	int done_err;
	volatile int nr_armed;
	volatile int nr_done;
	const struct receiver *answer;	/* unblocked by armed(); NULL: none */
	int thread;
	void (*on_armed)(struct waited_job *waited);
	void (*on_done)(struct waited_job *waited);
};

/* A job for thread @thread of @receiver, once that blocks; armed() unblocks it. */
void job_init(struct waited_job *waited, const struct receiver *receiver, int thread);
void job_files(struct waited_job *waited, int nr, const int *files, int *results);

/* Waits for the job's result, the error of armed() or that of done(); NO_RESULT after 10 s. */
int job_wait(struct waited_job *waited);

/* Submits and waits. */
int job_run(struct waited_job *waited);

/* Waits up to 5 s for *@counter to reach @value. */
bool wait_for(const volatile int *counter, int value);

/* @nr distinct files. */
bool files_open(int *files, int nr);
void files_close(int *files, int nr);

/* Is descriptor @fd of @pid the same file as @file of the test? */
bool same_file(pid_t pid, int fd, int file);

/* Is close-on-exec set on it? */
bool has_cloexec(pid_t pid, int fd);

/* Number of descriptors of @pid. */
int count_fds(pid_t pid);

#endif
