/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mounting and unmounting.
 *
 * All functions run in the main thread of the supervisor or a server, at start or exit, may block,
 * and print an error message before they fail.
 */
#ifndef HOST_FUSE_MOUNT_H
#define HOST_FUSE_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

#define MOUNT_PATH_SIZE 4096u

/* What mount_fuse() has done. */
struct mount {
	bool made_directory;
	bool mounted;
	char at[MOUNT_PATH_SIZE];	/* the real path */
};

/* In a server, for a mount that the supervisor has made. */
void mount_adopt(const struct mount *mount);

/* @path as an absolute path, allocated; NULL after an error message. */
char *mount_absolute(const char *path);

/*
 * Prepares @mountpoint: detaches the dead mount of a crashed daemon, waits for one that is about to
 * end (its supervisor was killed), creates the directory if it is missing. Fails if a daemon serves
 * it for longer than an end takes, or if it is not a directory.
 */
bool mount_prepare(const char *mountpoint);

/*
 * Mounts an empty read-only file system at @mountpoint, which mount_prepare() has prepared, unless
 * one is there. It stays: while no daemon serves, nobody can make files of the devices' names, as a
 * container runtime makes a directory of each path that it shall bind and does not find.
 */
bool mount_seal(const char *mountpoint);

/*
 * Mounts an anybinder file system at @mountpoint: by mount(2) where permitted (root, or root of a
 * separate user and mount namespace), else through fusermount3.
 * Returns the open /dev/fuse descriptor, or -1.
 */
int mount_fuse(const char *mountpoint, bool allow_other);

/* Is what mount_fuse() mounted still there? Reads the list of mounts and does not touch it. */
bool mount_exists(void);

/*
 * Ends the connection, detaches the mount, and removes the directory if mount_prepare() created it.
 * Does nothing to what others have mounted there by now. @device: st_dev of this daemon's mount; 0:
 * it was not asked for yet.
 */
void mount_undo(const char *mountpoint, uint64_t device);

/* Does what mount_undo() does, in the supervisor for a server that cannot; waits for no client. */
void mount_abort(const char *mountpoint, uint64_t device);

#endif
