/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside the helper process: what its files share. Each function may be called from any of its
 * threads unless it says otherwise.
 */
#ifndef HOST_FUSE_HELPER_SIDE_H
#define HOST_FUSE_HELPER_SIDE_H

#include "helper/helper_msg.h"

/* Starts a detached thread with a small stack. */
bool helper_thread(void *(*body)(void *arg), void *arg);

void helper_send_event(const struct helper_event *event);

/* Is the daemon gone? The helper ends soon. */
bool helper_is_ending(void);

/* ---- helper_closer.c: closing files, in threads that a file may keep for ever ---- */

/* The descriptor @fd is a file of a client of user @uid. */
void helper_close_add(s32 fd, u32 uid);
/* Has it closed; event HELPER_CLOSED with @id, unless that is 0. */
void helper_close_start(s32 fd, u32 uid, u64 id);
/* The daemon is gone: has all files closed. */
void helper_close_all(void);
bool helper_close_is_idle(void);

/* ---- helper_inject.c: one injector for each user, so that a receiver delays only its own ---- */

/* Main thread only. */
void helper_inject_start(const struct helper_message *message);
void helper_inject_resume(u64 id);
bool helper_inject_is_idle(void);

/* ---- helper_proc.c: questions about processes ---- */

/* Serves a channel until the daemon closes it; @arg: the socket. */
void *helper_channel_main(void *arg);
void helper_search_start(const struct helper_message *message);

#endif
