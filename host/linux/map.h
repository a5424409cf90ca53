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

/**
 * map_init() - prepare the map of an open by the calling process
 * @map: the map
 * @file: the open file
 *
 * Context: May sleep. Pair: map_destroy().
 *
 * Return: 0 or -ENOMEM.
 */
int map_init(struct host_map *map, const struct file *file);
/**
 * map_destroy() - free the pages and undo map_init()
 * @map: the map, which is no longer mapped
 *
 * Context: May sleep.
 */
void map_destroy(struct host_map *map);

/**
 * map_attach() - mmap() of the device
 * @map: the map
 * @vma: the mapping
 * @size: bytes of it that hold buffers
 *
 * Context: The caller holds mmap_lock for writing.
 *
 * Return: 0; -EPERM: writable; -EINVAL: not the address space of the opener;
 * -EBUSY: mapped before; -ENOMEM.
 */
int map_attach(struct host_map *map, struct vm_area_struct *vma, size_t size);
/**
 * map_detach() - undo map_attach()
 * @map: the map
 * @vma: the mapping
 *
 * Context: As map_attach().
 */
void map_detach(struct host_map *map, struct vm_area_struct *vma);

/**
 * map_populate() - allocate and map pages as far as needed
 * @map: the map
 * @first: number of the first page
 * @nr: number of pages
 *
 * Context: May sleep.
 *
 * Return: 0, -ENOMEM, or -ESRCH: the mapping is gone.
 */
int map_populate(struct host_map *map, size_t first, size_t nr);
/**
 * map_evict() - unmap and free pages that are not in use
 * @map: the map
 * @first: number of the first page
 * @nr: number of pages
 *
 * Context: May sleep, also in reclaim: takes no lock that is held over an allocation.
 */
void map_evict(struct host_map *map, size_t first, size_t nr);

/**
 * map_write() - write to populated pages
 * @map: the map
 * @off: offset in bytes
 * @src: the data
 * @size: its bytes
 */
void map_write(struct host_map *map, size_t off, const void *src, size_t size);
/**
 * map_zero() - clear populated pages
 * @map: the map
 * @off: offset in bytes
 * @size: bytes
 */
void map_zero(struct host_map *map, size_t off, size_t size);
/**
 * map_copy_from_current() - copy from the memory of the calling process
 * @map: the map
 * @off: offset in bytes
 * @src: address in the process
 * @size: bytes
 *
 * Context: May sleep.
 *
 * Return: 0 or -EFAULT.
 */
int map_copy_from_current(struct host_map *map, size_t off, u64 src, size_t size);

#endif
