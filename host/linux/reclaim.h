/* SPDX-License-Identifier: GPL-2.0 */
/* reclaim: a shrinker for idle buffer pages. */
#ifndef HOST_LINUX_RECLAIM_H
#define HOST_LINUX_RECLAIM_H

/* After binder_world_init(). -ENOMEM. */
int reclaim_init(void);
void reclaim_exit(void);

#endif
