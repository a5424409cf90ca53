/* SPDX-License-Identifier: GPL-2.0 */
/*
 * map: the pages of one receive buffer, and their mapping in the address space of the process.
 *
 * Order of locks: mmap_lock, then the page-table locks of the kernel.
 */
#ifndef HOST_LINUX_MAP_H
#define HOST_LINUX_MAP_H

#include "host_types.h"

struct file;
struct vm_area_struct;

/* For an open of @file by the calling process. -ENOMEM. May sleep. Pair: map_destroy(). */
int map_init(struct host_map *map, const struct file *file);
void map_destroy(struct host_map *map);

/* mmap() of the device: @vma maps the pages, of which @size bytes make as many as fit. The caller
 * holds mmap_lock for writing. -EPERM: writable; -EINVAL: not the address space of the opener;
 * -EBUSY: mapped before; -ENOMEM. */
int map_attach(struct host_map *map, struct vm_area_struct *vma, size_t size);
/* Undoes it. */
void map_detach(struct host_map *map, struct vm_area_struct *vma);

/* Allocates and maps pages @first .. @first + @nr - 1 as far as needed. May sleep. -ENOMEM; -ESRCH:
 * the mapping is gone. */
int map_populate(struct host_map *map, size_t first, size_t nr);
/* Unmaps and frees pages that are not in use. Takes no lock that is held over an allocation. */
void map_evict(struct host_map *map, size_t first, size_t nr);

/* Write to populated pages. */
void map_write(struct host_map *map, size_t off, const void *src, size_t size);
void map_zero(struct host_map *map, size_t off, size_t size);
/* Copies from the memory of the calling process. -EFAULT. May sleep. */
int map_copy_from_current(struct host_map *map, size_t off, u64 src, size_t size);

#endif
