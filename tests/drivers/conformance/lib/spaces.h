/* SPDX-License-Identifier: GPL-2.0 */
/*
 * spaces: processes in mount and user namespaces of their own, and binderfs mounted there; and in
 * SELinux domains, by the names of tests/kernel/selinux/domains.cil.
 */
#ifndef CONFORMANCE_SPACES_H
#define CONFORMANCE_SPACES_H

#include <stdint.h>

#include "client.h"

/* User and group ids `inside`, `inside + 1`, ... of a user namespace are `outside`, ... here. */
struct id_map {
	uint32_t inside, outside, count;
};

/*
 * A process in a mount namespace of its own, with an empty directory at /mnt; and, if the map has
 * a count, in a user namespace of its own, where it is user and group `map.inside`. Skips the test
 * where that is not allowed.
 */
struct actor *actor_apart(struct id_map map);
/* One more process in the same namespaces as an actor, as this user there. */
struct actor *actor_beside(const struct actor *of, uint32_t uid);

/* Mount a new binderfs at /mnt/NAME; 0 or -errno. */
int mount_binderfs(struct actor *by, const char *name, const char *options);
int remount_binderfs(struct actor *by, const char *name, const char *options);
/* The same, which must succeed; "/mnt/NAME/binder", never freed. */
const char *mounted_device(struct actor *by, const char *name, const char *options);

/* BINDER_CTL_ADD of the binderfs at /mnt/NAME; 0 or -errno, of the open or the call. */
int add_device(struct actor *by, const char *name, const char *device);

/* What an actor sees of a file: an errno, or mode and owner. */
struct seen {
	int err; /* negative */
	uint32_t mode, uid, gid;
};
struct seen look_at(struct actor *by, const char *path);

/* Change the domain of a client's process, which must have one thread. */
void enter_domain(struct client *client, const char *name);

/* client_new() by a process that was in a domain before it opened the device. */
struct client *client_in(const char *domain);

/* The security context of processes in a domain. */
const char *context_of(const char *domain);

#endif
