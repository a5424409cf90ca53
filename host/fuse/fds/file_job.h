/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs of the injector, which runs in the helper process, seen from the daemon.
 *
 * A job is armed when its receiver will stop as its ioctl returns, and done when the files are
 * installed; the event of that was sent before the receiver goes on. The job's thread is told of
 * both (pending_fds.h). A job that the receiver delays is given up: its thread is told that it has
 * failed, and it is charged to the receiver's user until the helper has finished it (USER_STALLED).
 * Until then it keeps its files.
 *
 * But for the first, the functions are for the thread of the helper's events.
 */
#ifndef HOST_FUSE_FILE_JOB_H
#define HOST_FUSE_FILE_JOB_H

#include "fds/helper/helper_msg.h"

void file_jobs_init(void);

/* HELPER_ARMED, HELPER_DONE. */
void file_job_event(const struct helper_event *event);
/* The helper has ended, with all jobs. */
void file_job_lost_all(void);
/* Gives up overdue jobs. False: none is under way. */
bool file_job_check_overdue(void);

#endif
