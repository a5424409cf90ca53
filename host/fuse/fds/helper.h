/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The helper process: whatever a client can delay besides its own memory.
 *
 * Closing a client's file, looking into its /proc directory and tracing it are system calls whose
 * end a client can decide, and some of them cannot be killed. They are made by a process that was
 * started by executing the daemon's program again, and that has neither the FUSE connection nor any
 * buffer: files in transactions exist in that process only. The daemon knows their numbers there.
 * So the daemon can always end, whatever becomes of the helper; the helper ends when the daemon
 * has.
 *
 * In the daemon, one thread receives the helper's events. If the helper is killed, that thread
 * starts another; files in transit are lost, and their transactions fail. A question is asked
 * again. A helper that was stopped is continued when an answer is missed, or as the daemon ends.
 *
 * No function may be called with an engine lock held.
 */
#ifndef HOST_FUSE_HELPER_H
#define HOST_FUSE_HELPER_H

#include "fds/helper/helper_msg.h"

/* What the daemon's thread calls, and helper_ask(). Of the first three one is called at a time. */
struct helper_handlers {
	void (*event)(const struct helper_event *event);
	/* The helper has ended, with all its descriptors and jobs. */
	void (*lost)(void);
	/* Several times a second after helper_arm_tick(), until it returns false. */
	bool (*tick)(void);
	/* helper_ask() has waited for longer than usual. */
	void (*waits_long)(void);
	/* May a worker wait for what the client of the open can delay? */
	bool (*may_delay)(u64 open_id);
};

/* Starts process and thread. False: an error was printed. */
bool helper_start(const struct helper_handlers *handlers);

/*
 * What a process needs to be the helper's master in place of another one, which goes on until it
 * ends. The descriptors are those of the present master.
 */
struct helper_state {
	int control;
	int pidfd;
	u32 generation;
};
void helper_save(struct helper_state *state);
/*
 * In place of helper_start(); takes over the descriptors. False: the helper does not answer; errno
 * is EPROTO if it speaks another version.
 */
bool helper_take_over(const struct helper_handlers *handlers, const struct helper_state *state);

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
 * Sends on the control socket of the helper number @to. False: that helper has ended, lost() is
 * called soon or was called.
 */
bool helper_send(const struct helper_message *message, u32 nr_numbers, u32 to);

/* Handles the events that the helper has sent so far, in place of the daemon's thread. */
void helper_receive(void);

/* Has tick() called. Cheap if it is being called. */
void helper_arm_tick(void);

/*
 * Asks whether a process other than the @nr @owners has the inode @nodeid open; if none has, the
 * event HELPER_UNHELD with @open_id comes later.
 */
void helper_search(u64 open_id, u64 nodeid, const s32 *owners, u32 nr);

#endif
