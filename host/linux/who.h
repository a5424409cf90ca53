/* SPDX-License-Identifier: GPL-2.0 */
/* who: which process opened a device, and how others see its numbers. */
#ifndef HOST_LINUX_WHO_H
#define HOST_LINUX_WHO_H

#include "host_types.h"

struct file;

/* The calling process opens @file. -ENOMEM. May sleep. Pair: who_destroy(), after map_destroy(). */
int who_init(struct host_proc *proc, struct host_map *map, const struct file *file);
void who_destroy(struct host_proc *proc);

/* Its process number in the initial pid namespace, as stock reports show it. */
s32 who_pid(const struct host_proc *proc);
/* The same in the pid namespace of the calling process; 0 where it has none. */
s32 who_pid_seen_by_current(const struct host_proc *proc);
/* The effective user of @sender, in the user namespace of @viewer. */
u32 who_euid_seen_by(const struct host_proc *sender, const struct host_proc *viewer);
/* The calling thread's, in the initial user namespace. */
u32 who_current_euid(void);

#endif
