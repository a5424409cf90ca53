/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside the helper process: questions about processes.
 */
#ifndef HOST_FUSE_HELPER_PROC_H
#define HOST_FUSE_HELPER_PROC_H

#include "helper/helper_msg.h"

void helper_searches_init(void);

/* Starts a thread that serves the channel @socket until the daemon closes it. False: none. */
bool helper_channel_start(int socket);

/* Searches for a process that has a file open; event HELPER_UNHELD if none has. */
void helper_search_start(const struct helper_message *message);

#endif
