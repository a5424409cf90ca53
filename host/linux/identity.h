/* SPDX-License-Identifier: GPL-2.0 */
/* identity: process numbers and user ids of the process that opened a device. */
#ifndef HOST_LINUX_IDENTITY_H
#define HOST_LINUX_IDENTITY_H

#include "host_types.h"

#include <linux/cred.h>
#include <linux/user_namespace.h>

struct file;

/**
 * identity_init() - note who opens a device, and prepare its map
 * @proc: the open
 * @map: its map
 * @file: the open file, of the calling process
 *
 * Context: May sleep. Pair: identity_destroy(), after map_destroy().
 *
 * Return: 0 or -ENOMEM.
 */
int identity_init(struct host_proc *proc, struct host_map *map, struct file *file);
/**
 * identity_destroy() - drop the references of identity_init()
 * @proc: the open
 */
void identity_destroy(struct host_proc *proc);

/**
 * identity_pid() - process number in the initial pid namespace, as in reports
 * @proc: the open
 *
 * Return: the number of the opener.
 */
s32 identity_pid(const struct host_proc *proc);
/**
 * identity_has_pid() - does the caller know an opener by this number?
 * @proc: the open
 * @pid: a process number in the pid namespace of the caller
 *
 * Return: whether it is the opener's.
 */
bool identity_has_pid(const struct host_proc *proc, s32 pid);
/**
 * identity_pid_seen_by_current() - process number in the pid namespace of the caller
 * @proc: the open
 *
 * Return: the number of the opener; 0 if it has none there.
 */
s32 identity_pid_seen_by_current(const struct host_proc *proc);
/**
 * identity_current_euid_seen_by() - effective user id of the calling thread
 * @viewer: the open whose user namespace counts
 *
 * Return: the id; -1 if it has none there.
 */
static inline u32 identity_current_euid_seen_by(const struct host_proc *viewer)
{
	struct user_namespace *ns = viewer->cred->user_ns;

	/* In the initial namespace, the usual case, no translation is needed. */
	return ns == &init_user_ns ? __kuid_val(current_euid()) : from_kuid(ns, current_euid());
}
/**
 * identity_current_euid() - effective user id of the calling thread
 *
 * Return: the id in the initial user namespace.
 */
u32 identity_current_euid(void);

#endif
