/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive buffer of one open: a memory file of the daemon's that the client maps when it maps
 * its device file.
 *
 * Where the kernel grants passthrough, the client's mapping is that very file. Elsewhere the
 * client maps the page cache of its own inode: reads of it are answered from the memory file, and
 * what changes is pushed by FUSE_NOTIFY_STORE. The daemon only ever writes here: what a client
 * scribbles into its own buffer is never read back.
 */
#ifndef HOST_FUSE_MAP_H
#define HOST_FUSE_MAP_H

#include "host_types.h"

/* The longest mapping that is used, as with the stock driver. */
#define MAP_SIZE ((size_t)4 << 20)

/* Makes the memory file of @proc's open. 0, -ENOMEM, -EMFILE. Sleeps. */
int map_init(struct host_map *map, const struct host_proc *proc);
void map_destroy(struct host_map *map);

/*
 * Looks into the process's list of mappings for the one of this open.
 * 0, or -ESRCH: it has made none. A search that took long is not repeated at once.
 */
int map_find(struct host_map *map, u64 *base, size_t *size);

/* Gets memory for @nr pages from @first on. 0 or -ENOMEM. Sleeps. */
int map_populate(struct host_map *map, size_t first, size_t nr);

/* Gives the memory of these pages back. Sleeps. */
void map_evict(struct host_map *map, size_t first, size_t nr);

/* Without passthrough: shows the client what was stored in this range. Sleeps. */
void map_publish(struct host_map *map, size_t off, size_t size);

#endif
