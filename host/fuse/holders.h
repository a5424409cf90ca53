/* SPDX-License-Identifier: GPL-2.0 */
/* Which processes have a file open, according to /proc. */
#ifndef HOST_FUSE_HOLDERS_H
#define HOST_FUSE_HOLDERS_H

#include "host_types.h"

/*
 * Does any process have a descriptor of inode @nodeid? Goes through the descriptors of all
 * processes; true if /proc cannot be read.
 */
bool holders_exist(u64 nodeid);

#endif
