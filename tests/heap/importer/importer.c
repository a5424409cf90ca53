// SPDX-License-Identifier: GPL-2.0
/*
 * A test device without hardware: it gets a DMA-BUF by its file, maps it as any driver does, and
 * reads and writes the memory at the addresses that it gets.
 */
#include "importer_abi.h"

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/io.h>
#include <linux/iosys-map.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat/compat.h"

/* Kernels whose dma_buf_vmap() requires its caller to hold a lock have a variant that takes it. */
#ifdef COMPAT_HAVE_DMA_BUF_VMAP_UNLOCKED
#define kernel_map dma_buf_vmap_unlocked
#define kernel_unmap dma_buf_vunmap_unlocked
#else
#define kernel_map dma_buf_vmap
#define kernel_unmap dma_buf_vunmap
#endif

static struct platform_device *device;

struct mapped {
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attachment;
	struct sg_table *table;
};

static void touch(void *at, size_t len, struct importer_request *request, bool fill)
{
	size_t i;

	if (fill)
		memset(at, (int)request->value, len);
	for (i = 0; i < len; i++)
		request->sum += ((u8 *)at)[i];
	request->len += len;
}

static int map(struct mapped *mapped, struct dma_buf *dmabuf)
{
	mapped->dmabuf = dmabuf;
	mapped->attachment = dma_buf_attach(dmabuf, &device->dev);
	if (IS_ERR(mapped->attachment))
		return PTR_ERR(mapped->attachment);
	mapped->table = dma_buf_map_attachment_unlocked(mapped->attachment, DMA_BIDIRECTIONAL);
	if (!IS_ERR(mapped->table))
		return 0;
	dma_buf_detach(dmabuf, mapped->attachment);
	return PTR_ERR(mapped->table);
}

static void unmap(struct mapped *mapped)
{
	dma_buf_unmap_attachment_unlocked(mapped->attachment, mapped->table, DMA_BIDIRECTIONAL);
	dma_buf_detach(mapped->dmabuf, mapped->attachment);
}

/* There is no IOMMU in the test machine: a device address is an address of memory. */
static int by_device(struct dma_buf *dmabuf, struct importer_request *request, bool fill)
{
	struct mapped mapped;
	struct scatterlist *entry;
	unsigned int i;
	int err = map(&mapped, dmabuf);

	if (err)
		return err;
	for_each_sgtable_dma_sg(mapped.table, entry, i) {
		touch(phys_to_virt(sg_dma_address(entry)), sg_dma_len(entry), request, fill);
		request->entries++;
	}
	unmap(&mapped);
	return 0;
}

static int by_kernel(struct dma_buf *dmabuf, struct importer_request *request, bool fill)
{
	struct iosys_map at, again;
	int err = kernel_map(dmabuf, &at);

	if (err)
		return err;
	err = kernel_map(dmabuf, &again);
	if (!err) {
		if (!iosys_map_is_equal(&at, &again))
			err = -EUCLEAN;
		kernel_unmap(dmabuf, &again);
	}
	dma_buf_begin_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	touch(at.vaddr, dmabuf->size, request, fill);
	dma_buf_end_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	kernel_unmap(dmabuf, &at);
	return err;
}

static int hold(struct file *file, struct dma_buf *dmabuf)
{
	struct mapped *mapped;
	int err;

	if (file->private_data)
		return -EBUSY;
	mapped = kzalloc(sizeof(*mapped), GFP_KERNEL);
	if (!mapped)
		return -ENOMEM;
	get_dma_buf(dmabuf);
	err = map(mapped, dmabuf);
	if (err) {
		dma_buf_put(dmabuf);
		kfree(mapped);
		return err;
	}
	file->private_data = mapped;
	return 0;
}

static int serve(struct file *file, unsigned int command, struct importer_request *request)
{
	struct dma_buf *dmabuf = dma_buf_get(request->fd);
	int err = -ENOTTY;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	request->sum = request->len = request->entries = 0;
	switch (command) {
	case IMPORTER_DEVICE_LOOK:
	case IMPORTER_DEVICE_FILL:
		err = by_device(dmabuf, request, command == IMPORTER_DEVICE_FILL);
		break;
	case IMPORTER_KERNEL_LOOK:
	case IMPORTER_KERNEL_FILL:
		err = by_kernel(dmabuf, request, command == IMPORTER_KERNEL_FILL);
		break;
	case IMPORTER_HOLD:
		err = hold(file, dmabuf);
		break;
	}
	dma_buf_put(dmabuf);
	return err;
}

static long importer_ioctl(struct file *file, unsigned int command, unsigned long arg)
{
	struct importer_request request;
	int err;

	if (copy_from_user(&request, (void __user *)arg, sizeof(request)))
		return -EFAULT;
	err = serve(file, command, &request);
	if (!err && copy_to_user((void __user *)arg, &request, sizeof(request)))
		err = -EFAULT;
	return err;
}

static int importer_open(struct inode *inode, struct file *file)
{
	file->private_data = NULL;
	return 0;
}

static int importer_release(struct inode *inode, struct file *file)
{
	struct mapped *mapped = file->private_data;

	if (mapped) {
		unmap(mapped);
		dma_buf_put(mapped->dmabuf);
		kfree(mapped);
	}
	return 0;
}

static const struct file_operations importer_fops = {
	.owner = THIS_MODULE,
	.open = importer_open,
	.release = importer_release,
	.unlocked_ioctl = importer_ioctl,
};

static struct miscdevice importer_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "heap-importer",
	.fops = &importer_fops,
};

static int __init importer_init(void)
{
	int err;

	device = platform_device_register_simple("heap-importer", -1, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	err = dma_coerce_mask_and_coherent(&device->dev, DMA_BIT_MASK(64));
	if (!err)
		err = misc_register(&importer_device);
	if (err)
		platform_device_unregister(device);
	return err;
}

static void __exit importer_exit(void)
{
	misc_deregister(&importer_device);
	platform_device_unregister(device);
}

module_init(importer_init);
module_exit(importer_exit);

COMPAT_IMPORT_NS(DMA_BUF);
MODULE_DESCRIPTION("A test's importer of DMA-BUFs");
MODULE_LICENSE("GPL v2");
