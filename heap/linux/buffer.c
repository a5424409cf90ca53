// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a buffer (a body) is mapped by processes, by the kernel (vmap), and by devices.
 * Each attached device has a scatter-gather table of its own, because DMA addresses differ.
 *
 * CPU access is bracketed by DMA_BUF_IOCTL_SYNC (begin and end), which synchronises the caches with
 * every device that has the buffer mapped. This includes uncached memory: a device that cannot
 * address it works on a bounce buffer.
 */
#include "buffer.h"

#include "body.h"
#include "compat/compat.h"

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/highmem.h>
#include <linux/iosys-map.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

struct buffer {
	struct list_head link;		/* in all_buffers */
	struct body *body;
	struct mutex lock;
	struct list_head views;		/* under lock */
	void *vaddr;			/* under lock: the mapping in the kernel, or NULL */
	const char *heap;
	unsigned long ino;
	pid_t owner;
	char owner_name[TASK_COMM_LEN];
};

/* An attached device. */
struct view {
	struct list_head link;
	struct device *dev;
	struct sg_table table;
	bool mapped;			/* under the buffer's lock */
};

static DEFINE_MUTEX(all_lock);
static LIST_HEAD(all_buffers);

static bool is_uncached(const struct buffer *buffer)
{
	return buffer->body->kind == STORE_UNCACHED;
}

static int buffer_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attachment)
{
	struct buffer *buffer = dmabuf->priv;
	struct view *view = kzalloc(sizeof(*view), GFP_KERNEL);
	struct scatterlist *entry;
	struct page *page;

	if (!view)
		return -ENOMEM;
	if (sg_alloc_table(&view->table, (unsigned int)buffer->body->chain.nr_blocks, GFP_KERNEL)) {
		kfree(view);
		return -ENOMEM;
	}
	entry = view->table.sgl;
	for (page = body_first(buffer->body); page; page = body_next(page)) {
		sg_set_page(entry, page, PAGE_SIZE << compound_order(page), 0);
		entry = sg_next(entry);
	}
	view->dev = attachment->dev;
	attachment->priv = view;
	mutex_lock(&buffer->lock);
	list_add(&view->link, &buffer->views);
	mutex_unlock(&buffer->lock);
	return 0;
}

static void buffer_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attachment)
{
	struct buffer *buffer = dmabuf->priv;
	struct view *view = attachment->priv;

	mutex_lock(&buffer->lock);
	list_del(&view->link);
	mutex_unlock(&buffer->lock);
	sg_free_table(&view->table);
	kfree(view);
}

static struct sg_table *buffer_map(struct dma_buf_attachment *attachment,
				   enum dma_data_direction direction)
{
	struct buffer *buffer = attachment->dmabuf->priv;
	struct view *view = attachment->priv;
	int err;

	mutex_lock(&buffer->lock);
	err = dma_map_sgtable(view->dev, &view->table, direction, 0);
	view->mapped = !err;
	mutex_unlock(&buffer->lock);
	return err ? ERR_PTR(err) : &view->table;
}

static void buffer_unmap(struct dma_buf_attachment *attachment, struct sg_table *table,
			 enum dma_data_direction direction)
{
	struct buffer *buffer = attachment->dmabuf->priv;
	struct view *view = attachment->priv;

	mutex_lock(&buffer->lock);
	view->mapped = false;
	dma_unmap_sgtable(view->dev, table, direction, 0);
	mutex_unlock(&buffer->lock);
}

static int begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction direction)
{
	struct buffer *buffer = dmabuf->priv;
	struct view *view;

	mutex_lock(&buffer->lock);
	if (buffer->vaddr)
		invalidate_kernel_vmap_range(buffer->vaddr, (int)dmabuf->size);
	list_for_each_entry(view, &buffer->views, link) {
		if (view->mapped)
			dma_sync_sgtable_for_cpu(view->dev, &view->table, direction);
	}
	mutex_unlock(&buffer->lock);
	return 0;
}

static int end_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction direction)
{
	struct buffer *buffer = dmabuf->priv;
	struct view *view;

	mutex_lock(&buffer->lock);
	if (buffer->vaddr)
		flush_kernel_vmap_range(buffer->vaddr, (int)dmabuf->size);
	list_for_each_entry(view, &buffer->views, link) {
		if (view->mapped)
			dma_sync_sgtable_for_device(view->dev, &view->table, direction);
	}
	mutex_unlock(&buffer->lock);
	return 0;
}

/* vm_pgoff and the length select the range to map; the caller has checked it against the size. */
static int map_for_process(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct buffer *buffer = dmabuf->priv;
	unsigned long at = vma->vm_start, skip = vma->vm_pgoff, nr, size;
	struct page *page;
	int err;

	vma->vm_page_prot = pages_protection(is_uncached(buffer), vma->vm_page_prot);
	for (page = body_first(buffer->body); page && at < vma->vm_end; page = body_next(page)) {
		nr = 1UL << compound_order(page);
		if (skip >= nr) {
			skip -= nr;
			continue;
		}
		size = min((nr - skip) << PAGE_SHIFT, vma->vm_end - at);
		err = remap_pfn_range(vma, at, page_to_pfn(page) + skip, size, vma->vm_page_prot);
		if (err)
			return err;
		at += size;
		skip = 0;
	}
	return 0;
}

static int map_for_kernel(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct buffer *buffer = dmabuf->priv;
	unsigned long nr_pages = buffer->body->nr_pages, i, at = 0;
	struct page **pages = kvmalloc_array(nr_pages, sizeof(*pages), GFP_KERNEL);
	struct page *page;
	void *vaddr;

	if (!pages)
		return -ENOMEM;
	for (page = body_first(buffer->body); page; page = body_next(page)) {
		for (i = 0; i < 1UL << compound_order(page); i++)
			pages[at++] = page + i;
	}
	vaddr = vmap(pages, nr_pages, VM_MAP, pages_protection(is_uncached(buffer), PAGE_KERNEL));
	kvfree(pages);
	if (!vaddr)
		return -ENOMEM;
	mutex_lock(&buffer->lock);
	buffer->vaddr = vaddr;
	mutex_unlock(&buffer->lock);
	iosys_map_set_vaddr(map, vaddr);
	return 0;
}

static void unmap_for_kernel(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct buffer *buffer = dmabuf->priv;

	mutex_lock(&buffer->lock);
	buffer->vaddr = NULL;
	mutex_unlock(&buffer->lock);
	vunmap(map->vaddr);
	iosys_map_clear(map);
}

static void buffer_release(struct dma_buf *dmabuf)
{
	struct buffer *buffer = dmabuf->priv;

	mutex_lock(&all_lock);
	list_del(&buffer->link);
	mutex_unlock(&all_lock);
	body_free(buffer->body);
	kfree(buffer);
}

static const struct dma_buf_ops buffer_ops = {
	.attach = buffer_attach,
	.detach = buffer_detach,
	.map_dma_buf = buffer_map,
	.unmap_dma_buf = buffer_unmap,
	.begin_cpu_access = begin_cpu_access,
	.end_cpu_access = end_cpu_access,
	.mmap = map_for_process,
	.vmap = map_for_kernel,
	.vunmap = unmap_for_kernel,
	.release = buffer_release,
};

static struct dma_buf *buffer_export(struct buffer *buffer, unsigned int fd_flags)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);

	info.exp_name = buffer->heap;
	info.ops = &buffer_ops;
	info.size = buffer->body->nr_pages << PAGE_SHIFT;
	info.flags = (int)fd_flags;
	info.priv = buffer;
	return dma_buf_export(&info);
}

struct dma_buf *buffer_new(const char *heap, enum store_kind kind, size_t len,
			   unsigned int fd_flags, bool charged)
{
	struct buffer *buffer = kzalloc(sizeof(*buffer), GFP_KERNEL_ACCOUNT);
	struct dma_buf *dmabuf;

	if (!buffer)
		return ERR_PTR(-ENOMEM);
	mutex_init(&buffer->lock);
	INIT_LIST_HEAD(&buffer->views);
	buffer->heap = heap;
	buffer->owner = task_tgid_nr(current);
	get_task_comm(buffer->owner_name, current->group_leader);
	buffer->body = body_new(kind, len >> PAGE_SHIFT, charged);
	if (IS_ERR(buffer->body)) {
		dmabuf = ERR_CAST(buffer->body);
		goto no_body;
	}
	dmabuf = buffer_export(buffer, fd_flags);
	if (IS_ERR(dmabuf))
		goto no_export;
	buffer->ino = file_inode(dmabuf->file)->i_ino;
	mutex_lock(&all_lock);
	list_add_tail(&buffer->link, &all_buffers);
	mutex_unlock(&all_lock);
	return dmabuf;

no_export:
	body_free(buffer->body);
no_body:
	kfree(buffer);
	return dmabuf;
}

void buffer_report(struct seq_file *seq)
{
	struct buffer *buffer;

	seq_puts(seq, "pid comm bytes heap ino\n");
	mutex_lock(&all_lock);
	list_for_each_entry(buffer, &all_buffers, link)
		seq_printf(seq, "%d %s %lu %s %lu\n", buffer->owner, buffer->owner_name,
			   buffer->body->nr_pages << PAGE_SHIFT, buffer->heap, buffer->ino);
	mutex_unlock(&all_lock);
}

COMPAT_IMPORT_NS(DMA_BUF);
