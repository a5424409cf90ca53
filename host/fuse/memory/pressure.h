/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Returning idle buffer pages to the system under memory pressure; the counterpart of a shrinker.
 */
#ifndef HOST_FUSE_PRESSURE_H
#define HOST_FUSE_PRESSURE_H

/*
 * Returns a descriptor that polls as EPOLLPRI under memory pressure, or -1 where the kernel has no
 * pressure stall information.
 */
int pressure_open(void);

/* Returns all idle pages to the system. Sleeps. */
void pressure_relieve(void);

#endif
