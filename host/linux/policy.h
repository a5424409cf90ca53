/* SPDX-License-Identifier: GPL-2.0 */
/*
 * policy: decisions of the security module, by the hooks for Binder where the kernel exports them;
 * elsewhere everything is allowed. All functions may sleep.
 */
#ifndef HOST_LINUX_POLICY_H
#define HOST_LINUX_POLICY_H

#include "host_types.h"

/* At load: says so in the kernel's log if the security module cannot be asked. */
void policy_init(void);

/* 0 or -errno. */
int policy_may_manage(const struct cred *manager);
int policy_may_transact(const struct cred *from, const struct cred *to);
int policy_may_transfer_object(const struct cred *from, const struct cred *to);
int policy_may_transfer_file(const struct cred *from, const struct cred *to,
			     struct host_file *file);

/*
 * May the calling thread freeze a process of @target? The stock driver allows it to all. With
 * policy_restrict_freeze (the parameter restrict_freeze) the caller must be of the same user,
 * be permitted to signal any process, or manage the device.
 */
extern bool policy_restrict_freeze;
int policy_may_freeze(const struct cred *target, bool manages);

/* The security context of @cred; *@len 0 and *@ctx NULL if there is none. Pair:
 * policy_context_put(). */
int policy_context_get(const struct cred *cred, const char **ctx, u32 *len);
void policy_context_put(const char *ctx);

#endif
