/* SPDX-License-Identifier: GPL-2.0 */
/* domain: processes in the SELinux domains of tests/kernel/selinux/domains.cil, by their names. */
#ifndef CONFORMANCE_DOMAIN_H
#define CONFORMANCE_DOMAIN_H

#include "client.h"

/* Change the domain of a client's process, which must have one thread. */
void enter_domain(struct client *client, const char *name);

/* client_new() by a process that was in a domain before it opened the device. */
struct client *client_in(const char *domain);

/* The security context of processes in a domain. */
const char *context_of(const char *domain);

#endif
