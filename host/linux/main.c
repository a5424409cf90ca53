// SPDX-License-Identifier: GPL-2.0
/*
 * The module: its parameters and the order of initialisation.
 *
 * Scripts written for the stock driver load `binder_linux` with devices=..., and mount the file
 * system type `binder`; aliases lead both to this module. Devices given by name are also created
 * in /dev, as by a stock kernel without binderfs.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "binderfs.h"
#include "core.h"
#include "device.h"
#include "locking.h"
#include "log.h"
#include "netlink.h"
#include "policy.h"
#include "reclaim.h"
#include "reports.h"

#include <linux/fs.h>
#include <linux/module.h>

static char default_devices[] = "binder,hwbinder,vndbinder";
static char *devices = default_devices;
module_param(devices, charp, 0444);
MODULE_PARM_DESC(devices, "devices of each binderfs, in /dev too if given "
			  "(default: binder,hwbinder,vndbinder)");
module_param_named(debug_mask, log_mask, uint, 0644);
MODULE_PARM_DESC(debug_mask, "what is logged: 1 errors of users, 256 details (default: 1)");

module_param_named(restrict_freeze, policy_restrict_freeze, bool, 0644);
MODULE_PARM_DESC(restrict_freeze, "BINDER_FREEZE only of processes of the same user, or by root or "
				  "the context manager of the device (default: N, as stock)");

static int set_locking(const char *name, const struct kernel_param *param)
{
	enum binder_locking_mode mode;

	if (!binder_locking_mode_parse(name, &mode)) {
		pr_err("no locking mode '%s': use locking=fine, global or global-nopreempt\n",
		       name);
		return -EINVAL;
	}
	/* There, spinlocks sleep as well. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && mode == LOCKING_GLOBAL_NOPREEMPT) {
		pr_err("locking=%s is not possible on a PREEMPT_RT kernel: use fine or global\n",
		       name);
		return -EINVAL;
	}
	binder_locking_mode_choose(mode);
	return 0;
}

static int get_locking(char *text, const struct kernel_param *param)
{
	return sprintf(text, "%s\n", binder_locking_mode_name(binder_locking_mode_chosen()));
}

static const struct kernel_param_ops locking_ops = { .set = set_locking, .get = get_locking };
module_param_cb(locking, &locking_ops, NULL, 0444);
MODULE_PARM_DESC(locking, "locking mode, for measurements: fine (the default), or global or "
			  "global-nopreempt: one mutex held during each call");

static int set_regime(const char *name, const struct kernel_param *param)
{
	pr_err("the parameter regime= is now locking=: use locking=%s\n", name);
	return -EINVAL;
}

static const struct kernel_param_ops regime_ops = { .set = set_regime };
module_param_cb(regime, &regime_ops, NULL, 0);
MODULE_PARM_DESC(regime, "the former name of locking; refused");

static int set_count_locks(const char *value, const struct kernel_param *param)
{
	bool on;
	int err = kstrtobool(value, &on);

	if (!err)
		host_count_locks(on);
	return err;
}

static int get_count_locks(char *text, const struct kernel_param *param)
{
	return sprintf(text, "%c\n", host_is_counting_locks() ? 'Y' : 'N');
}

static const struct kernel_param_ops count_locks_ops = {
	.set = set_count_locks,
	.get = get_count_locks,
};
module_param_cb(count_locks, &count_locks_ops, NULL, 0644);
MODULE_PARM_DESC(count_locks, "count how often locks are contended: binder_logs/lock_contention");

static int __init anybinder_init(void)
{
	int err;

	locking_init();
	binder_world_init();
	err = reclaim_init();
	if (err)
		return err;
	policy_init();
	reports_init();
	netlink_init();
	err = binderfs_init(devices);
	if (err)
		goto no_binderfs;
	if (devices != default_devices)
		err = device_add_static(devices);
	if (err)
		goto no_static;
	return 0;

no_static:
	binderfs_exit();
no_binderfs:
	netlink_exit();
	reports_exit();
	reclaim_exit();
	return err;
}

static void __exit anybinder_exit(void)
{
	device_remove_static();
	binderfs_exit();
	netlink_exit();
	reports_exit();
	reclaim_exit();
}

module_init(anybinder_init);
module_exit(anybinder_exit);

MODULE_ALIAS("binder_linux");
MODULE_ALIAS_FS("binder");
MODULE_DESCRIPTION("Android Binder IPC");
MODULE_LICENSE("GPL v2");
