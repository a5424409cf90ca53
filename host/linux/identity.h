/* SPDX-License-Identifier: GPL-2.0 */
/* identity: process numbers and user ids of the process that opened a device. */
#ifndef HOST_LINUX_IDENTITY_H
#define HOST_LINUX_IDENTITY_H

#include "host_types.h"

#include <linux/cred.h>
#include <linux/user_namespace.h>

struct file;

/* For an open of @file by the calling process. -ENOMEM. May sleep. Pair: identity_destroy(), after
 * map_destroy(). */
int identity_init(struct host_proc *proc, struct host_map *map, struct file *file);
void identity_destroy(struct host_proc *proc);

/* The process number in the initial pid namespace, as in reports. */
s32 identity_pid(const struct host_proc *proc);
/* The same in the pid namespace of the calling process; 0 if it has none there. */
s32 identity_pid_seen_by_current(const struct host_proc *proc);
/* The effective user id of the calling thread in the user namespace of @viewer. */
static inline u32 identity_current_euid_seen_by(const struct host_proc *viewer)
{
	struct user_namespace *ns = viewer->cred->user_ns;

	/* In the initial namespace, the usual case, no translation is needed. */
	return ns == &init_user_ns ? __kuid_val(current_euid()) : from_kuid(ns, current_euid());
}
/* The same in the initial user namespace. */
u32 identity_current_euid(void);

#endif
