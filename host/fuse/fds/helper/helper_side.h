/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the helper process offer to each other. Each function may be called from any of
 * its threads, save where the main thread is named.
 */
#ifndef HOST_FUSE_HELPER_SIDE_H
#define HOST_FUSE_HELPER_SIDE_H

#include "fds/helper/helper_msg.h"

/* ---- helper_main.c ---- */

void helper_send_event(const struct helper_event *event);

/* ---- helper_closer.c: closing files, in threads that a file may keep for ever ---- */

void helper_closer_init(void);

/* The descriptor @fd is a file of a client of user @uid. */
void helper_close_add(s32 fd, u32 uid);
/* Has the file @fd closed; then sends HELPER_CLOSED with @id, unless that is 0. */
void helper_close_start(s32 fd, u32 uid, u64 id);
/* The daemon is gone: has all files closed. */
void helper_close_all(void);
bool helper_close_is_idle(void);

/* ---- helper_inject.c: one injector for each user, so that a receiver delays only its own ---- */

void helper_injectors_init(void);

/* Main thread only. */
void helper_inject_start(const struct helper_message *message);
bool helper_inject_is_idle(void);

/* ---- helper_questions.c: questions about processes ---- */

void helper_searches_init(void);

/* Starts a thread that serves the channel @socket until the daemon closes it. False: none. */
bool helper_channel_start(int socket);

/* Searches for a process that has a file open; event HELPER_UNHELD if none has. */
void helper_search_start(const struct helper_message *message);

#endif
