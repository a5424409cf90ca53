/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive buffer of one open: a memory file of the daemon that the client sees in its mapping
 * of the device file.
 *
 * With passthrough the client's mapping is that file. Without it the client maps the page cache of
 * its own inode: FUSE_READ is served from the memory file, and later changes are pushed by
 * FUSE_NOTIFY_STORE. The daemon never reads back what a client may have written to its buffer.
 */
#ifndef HOST_FUSE_RECEIVE_MAP_H
#define HOST_FUSE_RECEIVE_MAP_H

#include "host_types.h"

/* Creates the memory file of @proc's open. 0, -ENOMEM, -EMFILE. Sleeps. */
int map_init(struct host_map *map, const struct host_proc *proc);
void map_destroy(struct host_map *map);

/*
 * In place of map_init() for an open that was taken over: @map has the fields of the predecessor's,
 * and the descriptors.
 */
void map_restore(struct host_map *map, const struct host_proc *proc);

/*
 * The daemon's mapping of the memory file; NULL: no memory. A file that was taken over is mapped
 * when it is first used, because thousands at once would delay a hand-over.
 */
char *map_attach(struct host_map *map);
static inline char *map_memory(struct host_map *map)
{
	char *memory = atomic_load_explicit(&map->memory, memory_order_acquire);

	return memory ? memory : map_attach(map);
}

/*
 * Searches the mappings of the process for that of this open. 0, or -ESRCH: there is none, or the
 * process delays the search. A search that took long is not repeated for a while.
 */
int map_find(struct host_map *map, u64 *base, size_t *size);

/* Allocates the memory of @nr pages from @first on. 0 or -ENOMEM. Sleeps. */
int map_populate(struct host_map *map, size_t first, size_t nr);

/* Frees the memory of these pages. Sleeps. */
void map_evict(struct host_map *map, size_t first, size_t nr);

/* Fills this range with zeroes. Sleeps. */
void map_zero(struct host_map *map, size_t off, size_t size);

/* Without passthrough: pushes this range to the client's mapping. Sleeps. */
void map_publish(struct host_map *map, size_t off, size_t size);

#endif
