/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs of the injector, which runs in the helper process, seen from the daemon.
 *
 * A job is armed when its receiver will stop as its ioctl returns, and done when the files are
 * installed; the event of that was sent before the receiver goes on. A job that the receiver delays
 * is given up: its owner is called as if it had failed, and it is charged to the receiver's user
 * until the helper has finished it (USER_STALLED). Until then it keeps its files.
 */
#ifndef HOST_FUSE_FILE_JOB_H
#define HOST_FUSE_FILE_JOB_H

#include "fds/helper/helper_msg.h"

struct file_job {
	struct host_thread *thread;	/* the receiver */
	u32 uid;
	s32 tid;
	s32 tgid;
	u32 nr;
	struct host_file **files;	/* to install; the job takes over array and references */
	u32 nr_close;
	const s32 *closes;
	/*
	 * Called by handlers of events: armed(), then done() if @error was 0. @numbers are those of
	 * the files in the receiver, if @error is 0.
	 */
	void (*armed)(struct host_thread *thread, int error);
	void (*done)(struct host_thread *thread, int error, const s32 *numbers);
};

void file_jobs_init(void);

/* Submits *@job. If that fails, armed() is called at once, on the calling thread. */
void file_job_submit(const struct file_job *job);

/* ---- for a process that hands the daemon over, and for the one that takes it over ---- */

/* A job that is under way, besides what struct file_job says. */
struct file_job_state {
	u64 id;
	u64 deadline_ns;
	bool armed;
	bool given_up;
};
void file_job_visit(void (*visit)(const struct file_job *job, const struct file_job_state *state,
				  void *arg), void *arg);
/* The functions of *@job need not be set. False: no memory. */
bool file_job_restore(const struct file_job *job, const struct file_job_state *state);

/* The rest is for the handlers of the helper's events. */
void file_job_event(const struct helper_event *event);
void file_job_lost_all(void);
/* Gives up overdue jobs. False: none is under way. */
bool file_job_check_overdue(void);

#endif
