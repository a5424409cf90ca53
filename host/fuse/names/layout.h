/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contents of the tree, as in binderfs: devices, binder-control, features/ and binder_logs/.
 */
#ifndef HOST_FUSE_LAYOUT_H
#define HOST_FUSE_LAYOUT_H

#include "session/session.h"

#include <stdbool.h>
#include <sys/types.h>

/* @mode: the permissions of a device; @max_devices: how many there may be. */
void layout_init(mode_t mode, unsigned int max_devices);

/*
 * Fills the tree. @devices: names separated by commas. Prints an error message and returns false on
 * failure.
 */
bool layout_create(const char *devices);

/* The same with the devices, owners and permissions that a predecessor has kept (kept.h). */
bool layout_restore(void);

/* Replies to an ioctl on binder-control: BINDER_CTL_ADD creates a device. */
void layout_control(const struct request *request);

/* The process @pid has opened or closed a device: binder_logs/proc/PID exists while it has any. */
void layout_proc_opened(pid_t pid);
void layout_proc_closed(pid_t pid);

#endif
