/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Giving idle buffer pages back when the system is short of memory, which in a kernel is a
 * shrinker's job.
 */
#ifndef HOST_FUSE_PRESSURE_H
#define HOST_FUSE_PRESSURE_H

/*
 * Asks the kernel to tell of a shortage. Returns a descriptor that polls as EPOLLPRI then, or -1
 * where the kernel has no such thing.
 */
int pressure_open(void);

/* There is a shortage: gives all idle pages back. Sleeps. */
void pressure_relieve(void);

#endif
