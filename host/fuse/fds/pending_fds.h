/* SPDX-License-Identifier: GPL-2.0 */
/* The end of a job, told to its thread (struct pending_fds). */
#ifndef HOST_FUSE_PENDING_FDS_H
#define HOST_FUSE_PENDING_FDS_H

#include "fds/fds.h"

/*
 * The job of @thread is armed, or else has failed with @error: replies to the call, or has it
 * resumed. Mostly on the thread of the helper's events, which must not be blocked by a client's
 * memory: a worker takes over the calls that this resumes after each event.
 */
void pending_fds_armed(struct host_thread *thread, int error);
/* An armed job has ended; without @error the files have the numbers @numbers in the receiver. */
void pending_fds_done(struct host_thread *thread, int error, const s32 *numbers);

#endif
