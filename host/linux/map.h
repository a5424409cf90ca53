/* SPDX-License-Identifier: GPL-2.0 */
/*
 * map: the pages behind one process's receive buffer, and their place in its address space.
 *
 * Order of locks: mmap_lock, the kernel's own page-table locks.
 */
#ifndef HOST_LINUX_MAP_H
#define HOST_LINUX_MAP_H

#include "host_types.h"

struct file;
struct vm_area_struct;

/* For an open of @file by the calling process. -ENOMEM. May sleep. Pair: map_destroy(). */
int map_init(struct host_map *map, const struct file *file);
void map_destroy(struct host_map *map);

/* mmap() of the device: from now on @vma shows the pages, of which there are as many as fit in
 * @size bytes. The caller holds mmap_lock for writing. -EPERM writable, -EINVAL not the opener's
 * address space, -EBUSY mapped before, -ENOMEM. */
int map_attach(struct host_map *map, struct vm_area_struct *vma, size_t size);
/* What it did is undone: the engine refused the mapping. */
void map_detach(struct host_map *map, struct vm_area_struct *vma);

/* Sees that pages @first .. @first + @nr - 1 exist and are mapped. May sleep. -ENOMEM, -ESRCH. */
int map_populate(struct host_map *map, size_t first, size_t nr);
/* Unmaps and frees them; nobody uses them. Takes no lock that an allocation may be made under. */
void map_evict(struct host_map *map, size_t first, size_t nr);

/* Copies into pages that are populated. */
void map_write(struct host_map *map, size_t off, const void *src, size_t size);
void map_zero(struct host_map *map, size_t off, size_t size);
/* From the memory of the calling process. -EFAULT. May sleep. */
int map_copy_from_current(struct host_map *map, size_t off, u64 src, size_t size);

#endif
