/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The mount: how the daemon's tree becomes visible, and how it goes away again.
 *
 * All functions run in the main thread at start or end, may block, and print their own error
 * sentence before they fail.
 */
#ifndef HOST_FUSE_MOUNT_H
#define HOST_FUSE_MOUNT_H

#include <stdbool.h>

/* @path from the root directory on, allocated; NULL and a message if that is impossible. */
char *mount_absolute(const char *path);

/*
 * Makes @mountpoint ready: clears a dead mount that a crashed daemon left behind and creates the
 * directory if it is missing. Fails where a live anybinderd or a file other than a directory is.
 */
bool mount_prepare(const char *mountpoint);

/*
 * Mounts an anybinder file system at @mountpoint: by mount(2) where permitted (root, or root of an
 * own user and mount namespace), else with the help of fusermount3.
 * Returns the open /dev/fuse descriptor, or -1.
 */
int mount_fuse(const char *mountpoint, bool allow_other);

/* Detaches the mount and removes the directory if mount_prepare() made it. */
void mount_undo(const char *mountpoint);

#endif
