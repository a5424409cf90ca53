// SPDX-License-Identifier: GPL-2.0
/*
 * The engine decides which pages exist; here they are allocated, mapped and freed.
 *
 * A page is mapped when it is allocated, so a page fault means that there is no buffer at the
 * address. Each open file has an address_space of its own (file->f_mapping): with it
 * unmap_mapping_range() finds the mapping of this open without mmap_lock, for which reclaim must
 * not wait. It takes the i_mmap_rwsem of that address space, for which reclaim may wait. The mm is
 * only used while it has users (mmget_not_zero()), and the mapping is looked up each time, so no
 * pointer is kept that munmap() could make invalid.
 */
#include "map.h"

#include "binder_events.h"
#include "compat/compat.h"

#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

int map_init(struct host_map *map, const struct file *file)
{
	struct address_space *mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);

	if (!mapping)
		return -ENOMEM;
	address_space_init_once(mapping);
	mapping->host = file_inode(file);
	mapping->a_ops = file_inode(file)->i_mapping->a_ops;
	map->mapping = mapping;
	map->pid = current->group_leader->pid;
	map->mm = current->mm;
	mmgrab(map->mm);
	return 0;
}

void map_destroy(struct host_map *map)
{
	size_t i;

	for (i = 0; i < map->end; i++) {
		if (map->pages[i])
			put_page(map->pages[i]);
	}
	kvfree(map->pages);
	kfree(map->mapping);
	mmdrop(map->mm);
}

/* ---- the mapping in the process ---- */

/* Unmapping any range ends the mapping, as in the C driver. */
static void map_vma_close(struct vm_area_struct *vma)
{
	struct host_map *map = vma->vm_private_data;

	WRITE_ONCE(map->present, false);
}

static vm_fault_t map_vma_fault(struct vm_fault *vmf)
{
	return VM_FAULT_SIGBUS;
}

static const struct vm_operations_struct map_vma_ops = {
	.close = map_vma_close,
	.fault = map_vma_fault,
};

int map_attach(struct host_map *map, struct vm_area_struct *vma, size_t size)
{
	size_t nr = size / PAGE_SIZE;
	struct page **pages;

	if (vma->vm_mm != map->mm)
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	if (map->pages)
		return -EBUSY;
	pages = kvcalloc(nr, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return -ENOMEM;
	compat_vm_flags_mod(vma, VM_DONTCOPY | VM_MIXEDMAP, VM_MAYWRITE);
	vma->vm_ops = &map_vma_ops;
	vma->vm_private_data = map;
	map->base = vma->vm_start;
	map->pgoff = vma->vm_pgoff;
	map->pages = pages;
	WRITE_ONCE(map->present, true);
	return 0;
}

void map_detach(struct host_map *map, struct vm_area_struct *vma)
{
	vma->vm_ops = NULL;
	vma->vm_private_data = NULL;
	WRITE_ONCE(map->present, false);
	kvfree(map->pages);
	map->pages = NULL;
}

/* ---- pages ---- */

/* Page @at has been allocated. Pages may be at the same time, so the highest one stays. */
static void map_note_page(struct host_map *map, size_t at)
{
	size_t old = READ_ONCE(map->end), seen;

	while (old <= at) {
		seen = cmpxchg(&map->end, old, at + 1);
		if (seen == old)
			break;
		old = seen;
	}
}

/*
 * Allocates page @at unless it exists, and maps it. If several threads do so at the same time, the
 * first allocation stays, and a later thread finds the page mapped (-EBUSY): no thread waits for
 * another, which may have a lower priority.
 */
static int map_insert_page(struct host_map *map, struct vm_area_struct *vma, size_t at)
{
	struct page *page = READ_ONCE(map->pages[at]), *other;
	bool is_new = !page;
	int err;

	if (is_new) {
		trace_binder_alloc_page_start(map->pid, at);
		page = alloc_page(GFP_HIGHUSER | __GFP_ZERO | __GFP_NOWARN | __GFP_ACCOUNT);
		if (!page)
			return -ENOMEM;
		other = cmpxchg(&map->pages[at], NULL, page);
		if (other) {
			put_page(page);
			page = other;
		}
		map_note_page(map, at);
	}
	err = vm_insert_page(vma, map->base + at * PAGE_SIZE, page);
	if (is_new)
		trace_binder_alloc_page_end(map->pid, at);
	return err == -EBUSY ? 0 : err;
}

static bool map_is_mapped_by(const struct host_map *map, const struct vm_area_struct *vma,
			     size_t end)
{
	return vma && vma->vm_ops == &map_vma_ops && vma->vm_private_data == map &&
	       vma->vm_start <= map->base && vma->vm_end >= map->base + end * PAGE_SIZE;
}

int map_populate(struct host_map *map, size_t first, size_t nr)
{
	struct vm_area_struct *vma;
	size_t at;
	int err = 0;

	trace_binder_update_page_range(map->pid, true, first * PAGE_SIZE, nr * PAGE_SIZE);
	if (!mmget_not_zero(map->mm))
		return -ESRCH;
	mmap_read_lock(map->mm);
	vma = compat_vma_lookup(map->mm, map->base);
	if (!READ_ONCE(map->present) || !map_is_mapped_by(map, vma, first + nr))
		err = -ESRCH;
	for (at = first; at < first + nr && !err; at++)
		err = map_insert_page(map, vma, at);
	mmap_read_unlock(map->mm);
	mmput_async(map->mm);
	return err;
}

void map_evict(struct host_map *map, size_t first, size_t nr)
{
	size_t at;

	trace_binder_unmap_user_start(map->pid, first);
	unmap_mapping_range(map->mapping, (loff_t)(map->pgoff + first) << PAGE_SHIFT,
			    (loff_t)nr << PAGE_SHIFT, 1);
	trace_binder_unmap_user_end(map->pid, first);
	for (at = first; at < first + nr; at++) {
		if (map->pages[at])
			put_page(map->pages[at]);
		WRITE_ONCE(map->pages[at], NULL);
	}
}

/* ---- storing ---- */

/* Marked: the cmpxchg() of a thread that finds this page inserted may be at the same time. */
static struct page *map_page_at(const struct host_map *map, size_t off)
{
	return READ_ONCE(map->pages[off / PAGE_SIZE]);
}

/* How much of [@off, @off + @size) is in the first page. */
static size_t map_within_page(size_t off, size_t size)
{
	return min_t(size_t, size, PAGE_SIZE - offset_in_page(off));
}

void map_write(struct host_map *map, size_t off, const void *src, size_t size)
{
	while (size) {
		size_t chunk = map_within_page(off, size);

		memcpy_to_page(map_page_at(map, off), offset_in_page(off), src, chunk);
		off += chunk;
		src += chunk;
		size -= chunk;
	}
}

void map_zero(struct host_map *map, size_t off, size_t size)
{
	while (size) {
		size_t chunk = map_within_page(off, size);

		compat_zero_page(map_page_at(map, off), offset_in_page(off), chunk);
		off += chunk;
		size -= chunk;
	}
}

int map_copy_from_current(struct host_map *map, size_t off, u64 src, size_t size)
{
	while (size) {
		size_t chunk = map_within_page(off, size);
		struct page *page = map_page_at(map, off);
		char *to = compat_kmap_local(page);
		unsigned long left;

		left = copy_from_user(to + offset_in_page(off), u64_to_user_ptr(src), chunk);
		compat_kunmap_local(page, to);
		if (left)
			return -EFAULT;
		off += chunk;
		src += chunk;
		size -= chunk;
	}
	return 0;
}
