/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What SELinux's policy permits, asked through selinuxfs, as the drivers in the kernel ask by their
 * hooks: who may become context manager, call, and pass objects (--selinux). The kernel itself
 * checks files as they are received.
 *
 * Decisions are kept until the policy or the mode changes, which the kernel tells in a page of
 * memory. A call costs a lookup of two contexts, and a read of /proc that tells whether the caller
 * is still in the domain in which it opened the device.
 *
 * The functions make system calls; no engine lock may be held. Without selinux_start() nothing is
 * refused.
 */
#ifndef HOST_FUSE_SELINUX_H
#define HOST_FUSE_SELINUX_H

#include "base/daemon_state.h"
#include "host_types.h"

#define SELINUX_DIRECTORY "/sys/fs/selinux"

enum selinux_permission {
	SELINUX_CALL,
	SELINUX_TRANSFER,
	SELINUX_SET_CONTEXT_MGR,
	SELINUX_IMPERSONATE,
	SELINUX_PERMISSIONS,
};

/* @directory: of selinuxfs. False: no policy is loaded there; a message was printed. */
bool selinux_start(const char *directory);

/*
 * Does the policy give @subject @permission for @object, in the class binder? Always true while
 * SELinux does not enforce. A context that is NULL, or that the policy does not know, has no
 * permission.
 */
bool selinux_permits(const char *subject, const char *object, enum selinux_permission permission);

/*
 * The checks of the C driver's hooks. The first two are about the thread whose call the running
 * worker serves. Return 0, -EPERM or -EACCES.
 */
int selinux_check_manage(const struct host_proc *proc);
int selinux_check_call(const struct host_proc *from, const struct host_proc *to);
int selinux_check_transfer(const struct host_proc *from, const struct host_proc *to);

static inline bool selinux_is_on(void)
{
	return __builtin_expect(daemon_self->selinux != NULL, 0);
}

#endif
