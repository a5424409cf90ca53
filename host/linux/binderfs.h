/* SPDX-License-Identifier: GPL-2.0 */
/* binderfs: the file system whose mounts have devices of their own. */
#ifndef HOST_LINUX_BINDERFS_H
#define HOST_LINUX_BINDERFS_H

/**
 * binderfs_init() - register the file system, as `anybinder` and by another name
 * @devices: of each new mount; names separated by commas
 * @name: the other name; NULL: `binder` unless another driver has it. Then the name that it has
 *
 * Context: Pair: binderfs_exit().
 *
 * Return: 0 or -errno; -EBUSY: another driver has the name that was asked for.
 */
int binderfs_init(const char *devices, char **name);
/**
 * binderfs_exit() - undo binderfs_init()
 */
void binderfs_exit(void);

#endif
