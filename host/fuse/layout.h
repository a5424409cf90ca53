/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stands in the tree, as in binderfs: devices, binder-control, features/ and binder_logs/.
 */
#ifndef HOST_FUSE_LAYOUT_H
#define HOST_FUSE_LAYOUT_H

#include "session.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Fills the tree. @devices: names separated by commas; @mode: the permissions of a device. Prints
 * why and returns false if a name cannot be used.
 */
bool layout_init(const char *devices, mode_t mode, unsigned int max_devices);

/* Answers an ioctl on binder-control: BINDER_CTL_ADD makes a device. */
void layout_control(const struct request *request);

/* The process @pid has opened a device, or closed one: binder_logs/proc/PID comes and goes. */
void layout_proc_opened(pid_t pid);
void layout_proc_closed(pid_t pid);

#endif
