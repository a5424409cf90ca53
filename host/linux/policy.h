/* SPDX-License-Identifier: GPL-2.0 */
/*
 * policy: decisions of the security module, by the hooks for Binder where the kernel exports them;
 * elsewhere everything is allowed. All functions may sleep.
 */
#ifndef HOST_LINUX_POLICY_H
#define HOST_LINUX_POLICY_H

#include "host_types.h"

/**
 * policy_init() - log it if the security module cannot be asked
 *
 * Context: Loading of the module.
 */
void policy_init(void);

/**
 * policy_may_manage() - may a process become a context manager?
 * @manager: its credentials
 *
 * Return: 0 or -errno.
 */
int policy_may_manage(const struct cred *manager);
/**
 * policy_may_transact() - may a process call another?
 * @from: the sender
 * @to: the receiver
 *
 * Return: 0 or -errno.
 */
int policy_may_transact(const struct cred *from, const struct cred *to);
/**
 * policy_may_transfer_object() - may a process send an object to another?
 * @from: the sender
 * @to: the receiver
 *
 * Return: 0 or -errno.
 */
int policy_may_transfer_object(const struct cred *from, const struct cred *to);
/**
 * policy_may_transfer_file() - may a process send a file to another?
 * @from: the sender
 * @to: the receiver
 * @file: the file
 *
 * Return: 0 or -errno.
 */
int policy_may_transfer_file(const struct cred *from, const struct cred *to,
			     struct host_file *file);

/* The parameter restrict_freeze. */
extern bool policy_restrict_freeze;
/**
 * policy_may_freeze() - may the calling thread freeze a process?
 * @target: credentials of the process
 * @manages: the caller manages the device
 *
 * The C driver allows it to all. With policy_restrict_freeze the caller must be of
 * the same user, be permitted to signal any process, or manage the device.
 *
 * Return: 0 or -EPERM.
 */
int policy_may_freeze(const struct cred *target, bool manages);

/**
 * policy_context_get() - the security context of a process
 * @cred: its credentials
 * @ctx: result; NULL: none
 * @len: its length without a final NUL; 0: none
 *
 * Context: Pair: policy_context_put().
 *
 * Return: 0 or -errno.
 */
int policy_context_get(const struct cred *cred, const char **ctx, u32 *len);
/**
 * policy_context_put() - free the result of policy_context_get()
 * @ctx: the result, or NULL
 */
void policy_context_put(const char *ctx);

#endif
