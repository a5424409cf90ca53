/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netlink: transactions that come to nothing are told to whoever looks after the system: generic
 * netlink, family `binder`, group `report`, as in mainline since 6.18
 * (Documentation/netlink/specs/binder.yaml).
 */
#ifndef HOST_LINUX_NETLINK_H
#define HOST_LINUX_NETLINK_H

#include "host_types.h"

struct host_txn_failure;

/* Offers the family, if no other driver does; without it the module goes on, and tells nobody. */
void netlink_init(void);
void netlink_exit(void);
/* Is the family ours to offer? */
bool netlink_offered(void);

/* One message to all who listen in the initial network namespace; next to nothing if nobody does,
 * and lost if there is no memory. May sleep. */
void netlink_report(const struct host_txn_failure *failure);

#endif
