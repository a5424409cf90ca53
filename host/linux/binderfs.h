/* SPDX-License-Identifier: GPL-2.0 */
/* binderfs: the file system whose mounts have devices of their own. */
#ifndef HOST_LINUX_BINDERFS_H
#define HOST_LINUX_BINDERFS_H

/**
 * binderfs_init() - register the file system
 * @devices: of each new mount; names separated by commas
 *
 * Context: Pair: binderfs_exit().
 *
 * Return: 0 or -errno.
 */
int binderfs_init(const char *devices);
/**
 * binderfs_exit() - undo binderfs_init()
 */
void binderfs_exit(void);

#endif
