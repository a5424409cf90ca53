/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netlink: failure notices over generic netlink, family `binder`, group `report`, as in mainline
 * since 6.18 (Documentation/netlink/specs/binder.yaml). Beside another driver the family is
 * `anybinder`.
 */
#ifndef HOST_LINUX_NETLINK_H
#define HOST_LINUX_NETLINK_H

#include "host_types.h"

struct host_txn_failure;

/**
 * netlink_init() - register the family
 * @name: its name; NULL: `binder`, or `anybinder` if another driver has that. Then the name
 *
 * If another driver has the name that was asked for, there are no failure notices.
 */
void netlink_init(char **name);
/**
 * netlink_exit() - undo netlink_init()
 */
void netlink_exit(void);
/**
 * netlink_registered() - are there failure notices?
 *
 * Return: true if netlink_init() has registered the family.
 */
bool netlink_registered(void);

/**
 * netlink_notify_failure() - send a failure notice to the initial network namespace
 * @failure: the notice, which is lost if there is no memory
 *
 * Context: May sleep.
 */
void netlink_notify_failure(const struct host_txn_failure *failure);

#endif
