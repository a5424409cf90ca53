// SPDX-License-Identifier: GPL-2.0
/*
 * Mainline does not export the four hooks for Binder, Debian does. They are weak references: NULL
 * in a kernel that does not export them, where everything is allowed.
 */
#include "policy.h"

#include "compat/compat.h"
#include "weak.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/init.h>
#include <linux/printk.h>
#include <linux/security.h>
#include <linux/slab.h>

#ifdef CONFIG_SECURITY

WEAK_FUNCTION(security_binder_set_context_mgr);
WEAK_FUNCTION(security_binder_transaction);
WEAK_FUNCTION(security_binder_transfer_binder);
WEAK_FUNCTION(security_binder_transfer_file);

#define HOOK(name, ...) (weak_exists(name) ? name(__VA_ARGS__) : 0)

void __init policy_init(void)
{
	if (!weak_exists(security_binder_transaction))
		pr_notice("the kernel exports no hooks for Binder: SELinux forbids nothing\n");
}

#else

#define HOOK(name, ...) 0

void __init policy_init(void)
{
}

#endif

int policy_may_manage(const struct cred *manager)
{
	return HOOK(security_binder_set_context_mgr, manager);
}

int policy_may_transact(const struct cred *from, const struct cred *to)
{
	return HOOK(security_binder_transaction, from, to);
}

int policy_may_transfer_object(const struct cred *from, const struct cred *to)
{
	return HOOK(security_binder_transfer_binder, from, to);
}

int policy_may_transfer_file(const struct cred *from, const struct cred *to,
			     struct host_file *file)
{
	return HOOK(security_binder_transfer_file, from, to, (struct file *)file);
}

bool policy_restrict_freeze;

int policy_may_freeze(const struct cred *target, bool manages)
{
	if (!READ_ONCE(policy_restrict_freeze) || manages ||
	    uid_eq(current_euid(), target->euid) || capable(CAP_KILL))
		return 0;
	return -EPERM;
}

/* Copies the text: the engine keeps no more, but the security module wants its structure back. */
int policy_context_get(const struct cred *cred, const char **ctx, u32 *len)
{
	compat_secctx secctx = {};
	u32 secid = 0;
	int err;

	*ctx = NULL;
	*len = 0;
	security_cred_getsecid(cred, &secid);
	err = compat_secid_to_secctx(secid, &secctx);
	if (err) {
		/* No security module supplies a context: the same as an empty one. */
		return err == -ENOMEM ? err : 0;
	}
	if (secctx.len) {
		*ctx = kmemdup(secctx.context, secctx.len, GFP_KERNEL);
		*len = *ctx ? secctx.len : 0;
		err = *ctx ? 0 : -ENOMEM;
	}
	compat_release_secctx(&secctx);
	return err;
}

void policy_context_put(const char *ctx)
{
	kfree(ctx);
}
