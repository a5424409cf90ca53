/* SPDX-License-Identifier: GPL-2.0 */
/* reclaim: a shrinker for idle buffer pages. */
#ifndef HOST_LINUX_RECLAIM_H
#define HOST_LINUX_RECLAIM_H

/**
 * reclaim_init() - register the shrinker
 *
 * Context: After binder_world_init(). Pair: reclaim_exit().
 *
 * Return: 0 or -ENOMEM.
 */
int reclaim_init(void);
/**
 * reclaim_exit() - undo reclaim_init()
 */
void reclaim_exit(void);

#endif
