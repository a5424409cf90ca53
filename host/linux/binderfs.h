/* SPDX-License-Identifier: GPL-2.0 */
/* binderfs: the file system whose mounts have devices of their own. */
#ifndef HOST_LINUX_BINDERFS_H
#define HOST_LINUX_BINDERFS_H

/* @devices: names, separated by commas, of the devices that each new mount has. -errno. */
int binderfs_init(const char *devices);
void binderfs_exit(void);

#endif
