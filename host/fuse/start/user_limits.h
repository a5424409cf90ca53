/* SPDX-License-Identifier: GPL-2.0 */
/* The limits of users (users.h): from the options, and from what the system gives the daemon. */
#ifndef HOST_FUSE_USER_LIMITS_H
#define HOST_FUSE_USER_LIMITS_H

struct options;

/* Once, before there are threads. Raises the daemon's own limit of open files, too. */
void limits_set(const struct options *options);

#endif
