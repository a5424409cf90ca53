/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive buffers of bound opens: those that share an inode with other opens (bound_open.h).
 *
 * The pages of the inode stay empty. The client maps them privately, so a write to its mapping from
 * outside, through /proc/PID/mem, gives it pages of its own; that is how the contents of its
 * buffers get there when they are delivered. The memory file (receive_map.h) is the daemon's copy
 * alone.
 */
#ifndef HOST_FUSE_BOUND_BUFFER_H
#define HOST_FUSE_BOUND_BUFFER_H

#include "host_types.h"

struct request;

void bound_buffers_init(void);

/*
 * Opens the memory of the client of @map. Returns 0, -EMFILE, or -EPERM, which is logged: the
 * daemon may not write to it.
 */
int bound_buffer_init(struct host_map *map);
void bound_buffer_destroy(struct host_map *map);

/* Does what map_find() does for a bound open; may read the client's mappings to tell them apart. */
int bound_buffer_find(struct host_map *map, u64 *base, size_t *size);

/* Writes this range of @memory, the memory file, to the client's mapping. Sleeps. */
void bound_buffer_publish(struct host_map *map, const char *memory, size_t off, size_t size);

/* Replies to a page read: the pages of the inode are empty. */
void bound_buffer_reply_read(const struct request *request);

/* An open by thread @tid was refused, because a direct open uses the pages of its inode. */
void bound_buffer_log_busy(pid_t tid);

#endif
