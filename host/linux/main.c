// SPDX-License-Identifier: GPL-2.0
/*
 * The module: its parameters and the order of initialisation.
 *
 * The kernel may have another Binder driver: a name that is taken is replaced by a name of our own,
 * and the parameters then tell which. With names given by parameters this module can leave those of
 * the C driver to one that is loaded later.
 *
 * Scripts written for the C driver load `binder_linux` with devices=..., and mount the file
 * system type `binder`; aliases lead both to this module. Devices given by name are also created
 * in /dev, as by the C driver without binderfs.
 */
#include "binderfs.h"
#include "core.h"
#include "device.h"
#include "events.h"
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
				  "the context manager of the device (default: N, as in C)");

/* Names that are shared with other drivers: with NULL, the module finds out. */
static char *filesystem, *family, *debugfs;
module_param(filesystem, charp, 0444);
MODULE_PARM_DESC(filesystem, "file system type besides anybinder (default: binder, if it is free)");
module_param(family, charp, 0444);
MODULE_PARM_DESC(family, "netlink family (default: binder, or anybinder if that is taken)");
module_param(debugfs, charp, 0444);
MODULE_PARM_DESC(debugfs, "directory in debugfs (default: binder, or anybinder if that is taken)");

struct lock_class_key lock_classes[16];

static int __init anybinder_init(void)
{
	int err;

	binder_world_init();
	events_init();
	err = reclaim_init();
	if (err)
		return err;
	policy_init();
	reports_init(&debugfs);
	netlink_init(&family);
	err = binderfs_init(devices, &filesystem);
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
MODULE_ALIAS_FS("anybinder");
MODULE_DESCRIPTION("Android Binder IPC");
MODULE_LICENSE("GPL v2");
