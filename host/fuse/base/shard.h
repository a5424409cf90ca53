/* SPDX-License-Identifier: GPL-2.0 */
/* shard: spreads the threads over counters or rings that they would contend for (host_shard()). */
#ifndef HOST_FUSE_SHARD_H
#define HOST_FUSE_SHARD_H

/* A number of the calling thread, from 1. */
unsigned int shard_number(void);

#endif
