/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive buffer of one open: a memory file of the daemon that the client sees in its mapping
 * of the device file.
 *
 * With passthrough the client's mapping is that file. Without it the client maps the page cache of
 * its own inode: FUSE_READ is served from the memory file, and later changes are pushed by
 * FUSE_NOTIFY_STORE. The daemon never reads back what a client may have written to its buffer.
 */
#ifndef HOST_FUSE_MAP_H
#define HOST_FUSE_MAP_H

#include "host_types.h"

/* The longest mapping that is used, as with the stock driver. */
#define MAP_SIZE ((size_t)4 << 20)

/* Creates the memory file of @proc's open. 0, -ENOMEM, -EMFILE. Sleeps. */
int map_init(struct host_map *map, const struct host_proc *proc);
void map_destroy(struct host_map *map);

/*
 * In place of map_init() for an open that was taken over: @map has the fields of the predecessor's,
 * and the descriptors. 0, -ENOMEM.
 */
int map_restore(struct host_map *map, const struct host_proc *proc);

/*
 * Searches the mappings of the process for that of this open. 0, or -ESRCH: there is none, or the
 * process delays the search. A search that took long is not repeated for a while.
 */
int map_find(struct host_map *map, u64 *base, size_t *size);

/* Allocates the memory of @nr pages from @first on. 0 or -ENOMEM. Sleeps. */
int map_populate(struct host_map *map, size_t first, size_t nr);

/* Frees the memory of these pages. Sleeps. */
void map_evict(struct host_map *map, size_t first, size_t nr);

/* Without passthrough: pushes this range to the client's mapping. Sleeps. */
void map_publish(struct host_map *map, size_t off, size_t size);

#endif
