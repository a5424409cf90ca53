/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of fds/ that run in the daemon offer to each other. No function may be called with
 * an engine lock held.
 *
 * Whatever a client can delay besides its own memory is left to the helper process: closing a
 * client's file, looking into its /proc directory and tracing it are system calls whose end a
 * client can decide, and some of them cannot be killed. The helper was started by executing the
 * daemon's program again, and has neither the FUSE connection nor any buffer: files in transactions
 * exist in that process only. The daemon knows their numbers there. So the daemon can always end,
 * whatever becomes of the helper; the helper ends when the daemon has.
 */
#ifndef HOST_FUSE_DAEMON_SIDE_H
#define HOST_FUSE_DAEMON_SIDE_H

#include "fds/fds.h"
#include "fds/helper/helper_msg.h"
#include "workers/worker.h"

/* ---- helper_process.c: the helper process as such, its start, its control socket, its end ---- */

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

/* The lock is held for the following. */

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

/* Starts the helper process, with a control socket and a socket that tells of its end. */
bool helper_start_process(void);

/* Says why helper_start_process() failed, by errno. */
const char *helper_start_error(void);

/*
 * Waits for the helper's end, for a short time: a client can keep one of its threads in the kernel.
 */
void helper_wait_for_end(void);

/* A helper that was stopped, by whomever, is continued. No lock is held. */
void helper_continue_if_stopped(void);

/*
 * ---- helper_ask.c: asking the helper process ----
 *
 * A question is asked again if the helper is killed. A helper that was stopped is continued when an
 * answer is missed, or as the daemon ends.
 */

/* A helper that runs answers a question about nothing in this time. */
#define HELPER_ALIVE_MS 1000

/* Numbers the helper processes: descriptors of an earlier one do not exist any more. */
u32 helper_generation(void);

/*
 * Asks on a channel. Returns 0 with *@answer; -EBUSY: the user @message->uid, or all users
 * together, delay too many operations or workers already; -ETIMEDOUT: no answer in time, although
 * the helper runs: the channel is abandoned and charged to the user until the answer comes; -EIO:
 * there is no helper, and none for half a minute. @open_id: the open whose client can delay it.
 */
int helper_ask(const struct helper_message *message, int attached, u64 open_id,
	       struct helper_answer *answer);

/*
 * Sends on the control socket of the helper number @to. False: that helper has ended, and what it
 * had is or will be reported as lost.
 */
bool helper_send(const struct helper_message *message, u32 nr_numbers, u32 to);

/* A file is being closed, or a job begins: has overdue ones looked for. Cheap if that is done. */
void helper_arm_tick(void);

/* The following are for the thread of the helper's events. */

/* Does the helper answer a question that no client can delay? True also if it has ended. */
bool helper_is_alive(void);

/* An answer to the question of an abandoned channel can be read; also when the helper has ended. */
void helper_late_answer(struct channel *channel);

/* The helper has ended: fails the questions that are pending. Lock held. */
void helper_close_channels(void);

/*
 * ---- file_ref.c: references to clients' files, and the end of those ----
 *
 * A file stays charged to its user until it is closed, which the user can delay. A user with files
 * that do not close for a while cannot pass further ones (USER_STALLED).
 */

void file_refs_init(void);

struct host_file *file_ref_get(struct host_file *file);

/* The following are for the thread of the helper's events. */

/* The helper has closed the file that it knows by @id. */
void file_ref_closed(u64 id);
/* The helper has ended, with all files. */
void file_ref_lost_all(void);
/* Charges users for files that are overdue. False: none is being closed. */
bool file_ref_check_overdue(void);

/*
 * ---- file_job.c: jobs of the injector, which runs in the helper, seen from the daemon ----
 *
 * A job is armed when its receiver will stop as its ioctl returns, and done when the files are
 * installed; the event of that was sent before the receiver goes on. The job's thread is told of
 * both. A job that the receiver delays is given up: its thread is told that it has failed, and it
 * is charged to the receiver's user until the helper has finished it (USER_STALLED). Until then it
 * keeps its files.
 *
 * But for the first, the functions are for the thread of the helper's events.
 */

void file_jobs_init(void);

/* HELPER_ARMED, HELPER_DONE. */
void file_job_event(const struct helper_event *event);
/* The helper has ended, with all jobs. */
void file_job_lost_all(void);
/* Gives up overdue jobs. False: none is under way. */
bool file_job_check_overdue(void);

/* ---- pending_fds.c: the end of a job, told to its thread (struct pending_fds) ---- */

/*
 * The job of @thread is armed, or else has failed with @error: replies to the call, or has it
 * resumed. Mostly on the thread of the helper's events, which must not be blocked by a client's
 * memory: a worker takes over the calls that this resumes after each event.
 */
void pending_fds_armed(struct host_thread *thread, int error);
/* An armed job has ended; without @error the files have the numbers @numbers in the receiver. */
void pending_fds_done(struct host_thread *thread, int error, const s32 *numbers);

#endif
