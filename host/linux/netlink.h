/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netlink: failure notices over generic netlink, family `binder`, group `report`, as in mainline
 * since 6.18 (Documentation/netlink/specs/binder.yaml).
 */
#ifndef HOST_LINUX_NETLINK_H
#define HOST_LINUX_NETLINK_H

#include "host_types.h"

struct host_txn_failure;

/* Registers the family; if another driver has it, there are no failure notices. */
void netlink_init(void);
void netlink_exit(void);
bool netlink_registered(void);

/* Sends a message to the listeners of the initial network namespace, if there are any. It is lost
 * if there is no memory. May sleep. */
void netlink_notify_failure(const struct host_txn_failure *failure);

#endif
