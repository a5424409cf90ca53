// SPDX-License-Identifier: GPL-2.0
/*
 * A heap is a character device with one ioctl, DMA_HEAP_IOCTL_ALLOC. dma_heap_add() is not exported
 * to modules, so the devices are created here, with the same names in /dev. The class in sysfs is
 * called dma_heap as well, unless the kernel has its own class of that name.
 */
#include "dma_heap.h"

#include "buffer.h"
#include "compat/compat.h"

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <uapi/linux/dma-heap.h>

static bool mem_accounting;
module_param(mem_accounting, bool, 0644);
MODULE_PARM_DESC(mem_accounting, "charge buffers to the control group of the process that "
				 "allocates them; such memory is not pooled (default: N)");

struct heap {
	struct cdev cdev;
	struct device *device;
	const char *name;
	enum store_kind kind;
};

static struct heap dma_heaps[STORE_KINDS];
static unsigned int nr_dma_heaps;
static dev_t first_number;

static char *node_name(COMPAT_CLASS_DEVICE *device, umode_t *mode)
{
	return kasprintf(GFP_KERNEL, "dma_heap/%s", dev_name(device));
}

static struct class heap_class = {
	.name = IS_ENABLED(CONFIG_DMABUF_HEAPS) ? "anybinder_heap" : "dma_heap",
	.devnode = node_name,
};

static int heap_open(struct inode *inode, struct file *file)
{
	file->private_data = container_of(inode->i_cdev, struct heap, cdev);
	return nonseekable_open(inode, file);
}

static int heap_check(const struct dma_heap_allocation_data *data)
{
	if (data->fd || data->fd_flags & ~DMA_HEAP_VALID_FD_FLAGS ||
	    data->heap_flags & ~DMA_HEAP_VALID_HEAP_FLAGS)
		return -EINVAL;
	if (!data->len || data->len > SIZE_MAX - PAGE_SIZE + 1)
		return -EINVAL;
	return 0;
}

/* fd_install() comes last, so that a failing ioctl never leaves a descriptor behind. */
static int heap_alloc(struct heap *heap, struct dma_heap_allocation_data *data, void __user *to,
		      size_t size)
{
	struct dma_buf *dmabuf;
	size_t len = PAGE_ALIGN(data->len);
	int err, fd;

	if (len >> PAGE_SHIFT > totalram_pages())
		return -ENOMEM;
	fd = get_unused_fd_flags(data->fd_flags);
	if (fd < 0)
		return fd;
	dmabuf = buffer_new(heap->name, heap->kind, len, data->fd_flags, READ_ONCE(mem_accounting));
	if (IS_ERR(dmabuf)) {
		err = PTR_ERR(dmabuf);
		goto no_buffer;
	}
	data->fd = (u32)fd;
	err = -EFAULT;
	if (copy_to_user(to, data, size))
		goto no_copy;
	fd_install(fd, dmabuf->file);
	return 0;

no_copy:
	dma_buf_put(dmabuf);
no_buffer:
	put_unused_fd(fd);
	return err;
}

/*
 * Only the number of the ioctl is compared. A program built for another kernel may pass a shorter
 * or longer structure: missing fields are 0, excess bytes are ignored.
 */
static long heap_ioctl(struct file *file, unsigned int command, unsigned long arg)
{
	struct dma_heap_allocation_data data = { 0 };
	void __user *user = (void __user *)arg;
	size_t in = min_t(size_t, _IOC_SIZE(command), sizeof(data)), out = in;
	int err;

	if (_IOC_NR(command) != _IOC_NR(DMA_HEAP_IOCTL_ALLOC))
		return -EINVAL;
	if (!(_IOC_DIR(command) & _IOC_WRITE))
		in = 0;
	if (!(_IOC_DIR(command) & _IOC_READ))
		out = 0;
	if (copy_from_user(&data, user, in))
		return -EFAULT;
	err = heap_check(&data);
	return err ?: heap_alloc(file->private_data, &data, user, out);
}

static const struct file_operations heap_fops = {
	.owner = THIS_MODULE,
	.open = heap_open,
	.unlocked_ioctl = heap_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

int heap_devices_init(void)
{
	int err = alloc_chrdev_region(&first_number, 0, STORE_KINDS, "dma_heap");

	if (err)
		return err;
	err = class_register(&heap_class);
	if (err)
		unregister_chrdev_region(first_number, STORE_KINDS);
	return err;
}

int heap_device_add(const char *name, enum store_kind kind)
{
	struct heap *heap = &dma_heaps[nr_dma_heaps];
	dev_t number = first_number + nr_dma_heaps;
	int err;

	heap->name = name;
	heap->kind = kind;
	cdev_init(&heap->cdev, &heap_fops);
	heap->cdev.owner = THIS_MODULE;
	err = cdev_add(&heap->cdev, number, 1);
	if (err)
		return err;
	heap->device = device_create(&heap_class, NULL, number, NULL, "%s", name);
	if (IS_ERR(heap->device)) {
		cdev_del(&heap->cdev);
		return PTR_ERR(heap->device);
	}
	nr_dma_heaps++;
	return 0;
}

void heap_devices_exit(void)
{
	while (nr_dma_heaps) {
		nr_dma_heaps--;
		device_destroy(&heap_class, first_number + nr_dma_heaps);
		cdev_del(&dma_heaps[nr_dma_heaps].cdev);
	}
	class_unregister(&heap_class);
	unregister_chrdev_region(first_number, STORE_KINDS);
}
