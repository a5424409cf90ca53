/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contents of the tree, as in binderfs: devices, binder-control, features/ and binder_logs/.
 */
#ifndef HOST_FUSE_LAYOUT_H
#define HOST_FUSE_LAYOUT_H

#include "session/session.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct entry;

/* @mode: the permissions of a device; @max_devices: how many there may be. */
void layout_init(mode_t mode, unsigned int max_devices);

/*
 * Fills the tree. @devices: names separated by commas. Prints an error message and returns false on
 * failure.
 */
bool layout_create(const char *devices);

/*
 * Fills the tree with the devices, owners and permissions that a predecessor has kept
 * (persistent.h). Prints an error message and returns false on failure.
 */
bool layout_restore(void);

/* ---- for the process that takes over; after layout_restore() ---- */

/*
 * Gives a restored entry (tree_restore()) what its kind needs: a device its context, a report of a
 * process its text. False: no memory.
 */
bool layout_restore_entry(struct entry *entry);
/* Is it the directory of the processes' reports, whose entries come and go with the opens? */
bool layout_is_logs_proc(const struct entry *dir);
uint32_t layout_next_minor(void);
void layout_set_next_minor(uint32_t minor);

/* Replies to an ioctl on binder-control: BINDER_CTL_ADD creates a device. */
void layout_control(const struct request *request);

/* The process @pid has opened or closed a device: binder_logs/proc/PID exists while it has any. */
void layout_proc_opened(pid_t pid);
void layout_proc_closed(pid_t pid);

#endif
