/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Asking the helper process: whatever a client can delay besides its own memory.
 *
 * Closing a client's file, looking into its /proc directory and tracing it are system calls whose
 * end a client can decide, and some of them cannot be killed. They are made by a process that was
 * started by executing the daemon's program again, and that has neither the FUSE connection nor any
 * buffer: files in transactions exist in that process only. The daemon knows their numbers there.
 * So the daemon can always end, whatever becomes of the helper; the helper ends when the daemon
 * has.
 *
 * A question is asked again if the helper is killed. A helper that was stopped is continued when an
 * answer is missed, or as the daemon ends.
 *
 * No function may be called with an engine lock held.
 */
#ifndef HOST_FUSE_HELPER_ASK_H
#define HOST_FUSE_HELPER_ASK_H

#include "fds/helper_process.h"

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

/* ---- for the thread of the helper's events ---- */

/* Does the helper answer a question that no client can delay? True also if it has ended. */
bool helper_is_alive(void);

/* An answer to the question of an abandoned channel can be read; also when the helper has ended. */
void helper_late_answer(struct channel *channel);

/* The helper has ended: fails the questions that are pending. Lock held. */
void helper_close_channels(void);

#endif
