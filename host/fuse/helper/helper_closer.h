/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside the helper process: closing files, in threads that a file may keep for ever. Each function
 * may be called from any thread.
 */
#ifndef HOST_FUSE_HELPER_CLOSER_H
#define HOST_FUSE_HELPER_CLOSER_H

#include "helper/helper_msg.h"

void helper_closer_init(void);

/* The descriptor @fd is a file of a client of user @uid. */
void helper_close_add(s32 fd, u32 uid);
/* Has it closed; event HELPER_CLOSED with @id, unless that is 0. */
void helper_close_start(s32 fd, u32 uid, u64 id);
/* The daemon is gone: has all files closed. */
void helper_close_all(void);
bool helper_close_is_idle(void);

#endif
