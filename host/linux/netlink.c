// SPDX-License-Identifier: GPL-2.0
/*
 * One message for each failed transaction, with the return code of its sender: for a monitor that
 * stops, thaws or kills a process which is stuck, frozen or flooded with calls.
 *
 * Process numbers are those of the initial pid namespace, so messages are only sent in the initial
 * network namespace: containers do not see processes outside.
 */
#include "netlink.h"

#include "host.h"

#include <linux/module.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <net/genetlink.h>

/* The numbers of <linux/android/binder_netlink.h>, which older kernels do not have. */
#define USUAL_NAME     "binder"
#define OWN_NAME       "anybinder"
#define FAMILY_VERSION 1
#define GROUP_NAME     "report"
#define CMD_REPORT     1
enum {
	A_REPORT_ERROR = 1,
	A_REPORT_CONTEXT,
	A_REPORT_FROM_PID,
	A_REPORT_FROM_TID,
	A_REPORT_TO_PID,
	A_REPORT_TO_TID,
	A_REPORT_IS_REPLY,
	A_REPORT_FLAGS,
	A_REPORT_CODE,
	A_REPORT_DATA_SIZE,
};

enum { GROUP_REPORT, NR_GROUPS };

static const struct genl_multicast_group groups[NR_GROUPS] = {
	[GROUP_REPORT] = { .name = GROUP_NAME },
};

static struct genl_family report_family __ro_after_init = {
	.name = USUAL_NAME,
	.version = FAMILY_VERSION,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.mcgrps = groups,
	.n_mcgrps = ARRAY_SIZE(groups),
};

static bool registered __ro_after_init;

/* Registers the family by @name. 0 or -errno. */
static int __init netlink_register(const char *name)
{
	if (strscpy(report_family.name, name, sizeof(report_family.name)) < 0)
		return -EINVAL;
	return genl_register_family(&report_family);
}

void __init netlink_init(char **name)
{
	int err = netlink_register(*name ?: USUAL_NAME);

	if (err == -EEXIST && !*name) {
		err = netlink_register(OWN_NAME);
		if (!err)
			pr_info("another driver has the netlink family " USUAL_NAME
				": transaction reports are in " OWN_NAME "\n");
	}
	registered = !err;
	if (err)
		pr_info("no transaction reports: netlink family %s: %d\n", report_family.name, err);
	*name = report_family.name;
}

void netlink_exit(void)
{
	if (registered)
		genl_unregister_family(&report_family);
}

bool netlink_registered(void)
{
	return registered;
}

/* Adds a number, unless it is unknown. 0 or -EMSGSIZE. */
static int netlink_put_known(struct sk_buff *msg, int attribute, s32 pid)
{
	return pid ? nla_put_u32(msg, attribute, pid) : 0;
}

/* Writes the attributes of a failure. 0 or -EMSGSIZE. */
static int netlink_put_failure(struct sk_buff *msg, const struct host_txn_failure *failure)
{
	return nla_put_u32(msg, A_REPORT_ERROR, failure->error) ?:
	       nla_put_string(msg, A_REPORT_CONTEXT, failure->context) ?:
	       nla_put_u32(msg, A_REPORT_FROM_PID, failure->from_pid) ?:
	       nla_put_u32(msg, A_REPORT_FROM_TID, failure->from_tid) ?:
	       netlink_put_known(msg, A_REPORT_TO_PID, failure->to_pid) ?:
	       netlink_put_known(msg, A_REPORT_TO_TID, failure->to_tid) ?:
	       (failure->is_reply ? nla_put_flag(msg, A_REPORT_IS_REPLY) : 0) ?:
	       nla_put_u32(msg, A_REPORT_FLAGS, failure->flags) ?:
	       nla_put_u32(msg, A_REPORT_CODE, failure->code) ?:
	       /* The attribute has 32 bits; a buffer is never that large. */
	       nla_put_u32(msg, A_REPORT_DATA_SIZE, min_t(u64, failure->data_size, U32_MAX));
}

void netlink_notify_failure(const struct host_txn_failure *failure)
{
	struct sk_buff *msg;
	void *header;

	if (!registered || !genl_has_listeners(&report_family, &init_net, GROUP_REPORT))
		return;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!msg)
		return;
	header = genlmsg_put(msg, 0, 0, &report_family, 0, CMD_REPORT);
	if (!header || netlink_put_failure(msg, failure)) {
		nlmsg_free(msg);
		return;
	}
	genlmsg_end(msg, header);
	genlmsg_multicast(&report_family, msg, 0, GROUP_REPORT, GFP_KERNEL);
}
