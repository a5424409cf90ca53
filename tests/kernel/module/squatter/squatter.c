// SPDX-License-Identifier: GPL-2.0
/* Registers the netlink family `binder` first, as the C driver from 6.18 on does. */
#include <linux/module.h>
#include <net/genetlink.h>

static const struct genl_multicast_group groups[] = { { .name = "report" } };

static struct genl_family family = {
	.name = "binder",
	.version = 1,
	.module = THIS_MODULE,
	.mcgrps = groups,
	.n_mcgrps = ARRAY_SIZE(groups),
};

static int __init squatter_init(void)
{
	return genl_register_family(&family);
}

static void __exit squatter_exit(void)
{
	genl_unregister_family(&family);
}

module_init(squatter_init);
module_exit(squatter_exit);

MODULE_DESCRIPTION("Takes a name, for a test");
MODULE_LICENSE("GPL v2");
