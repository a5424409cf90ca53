/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Handing the running daemon over to another process, of the same or another version.
 *
 * The successor asks (HELLO). The predecessor brings its threads to rest (gate.h), writes its state
 * and sends it with its descriptors (STATE, FILES). The successor restores it, checks it, and says
 * READY, or REFUSED with a sentence; the predecessor commits (COMMIT) and ends. Until then it can
 * take everything back: it kills the successor and lets its threads go on. A successor whose
 * predecessor has died after it sent everything takes over without COMMIT: the threads of a dead
 * process have not gone on. Each step has a limit of time, so that clients notice a pause at most.
 */
#ifndef HOST_FUSE_HANDOVER_H
#define HOST_FUSE_HANDOVER_H

#include "host_types.h"

struct options;

enum handover_result {
	HANDOVER_NONE,		/* none was tried yet */
	HANDOVER_DONE,
	HANDOVER_REFUSED,	/* by either side, with the reason */
	HANDOVER_FAILED,	/* the successor died or did not answer in time */
	HANDOVER_DRY_RUN_DONE,
	HANDOVER_TOO_LONG,	/* clients would have waited for longer than they may */
};

struct handover_end {
	u32 result;		/* enum handover_result */
	u32 pause_us;		/* for which no request was served */
	u32 left_behind;	/* calls that did not come to rest; each failed with EINTR */
	char reason[200];	/* REFUSED, FAILED: a sentence */
};

/* For both processes, once. */
void handover_init(void);

/*
 * In the process that serves, in a thread that is not a member of the gate: hands over to the
 * process at the other end of @socket, which is closed. DONE: this process must exit at once,
 * without another word to the kernel. Else it serves as before. @dry_run: the successor restores
 * and compares, and is thrown away. @max_pause_ms: clients wait for no longer; 0: for 8 s.
 */
void handover_give(int socket, bool dry_run, u32 max_pause_ms, struct handover_end *end);

/*
 * In the successor, after the parts were initialised and before any thread: takes over from the
 * process at the other end of @socket, which is closed. True: this process serves now. False: it
 * was not wanted, or could not; it must exit. @start_threads: as at the daemon's start; they rest
 * as long as the gate is closed. False: it has printed the reason.
 */
bool handover_take(int socket, bool (*start_threads)(const struct options *options),
		   const struct options *options, struct handover_end *end);

#endif
