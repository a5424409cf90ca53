/* SPDX-License-Identifier: GPL-2.0 */
/* The ioctls of /dev/heap-importer, which handles a DMA-BUF as the driver of a device does. */
#ifndef TESTS_HEAP_IMPORTER_ABI_H
#define TESTS_HEAP_IMPORTER_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

struct importer_request {
	__s32 fd;		/* the DMA-BUF */
	__u32 value;		/* for FILL: this byte */
	__u64 sum;		/* for LOOK: of all bytes */
	__u64 len;		/* bytes read */
	__u32 entries;		/* pieces that the device sees; 0 for the kernel's mapping */
	__u32 pad;
};

/* Attach, map, read or fill the memory at the device's addresses, unmap, detach. */
#define IMPORTER_DEVICE_LOOK _IOWR('h', 0, struct importer_request)
#define IMPORTER_DEVICE_FILL _IOWR('h', 1, struct importer_request)
/* The same through a kernel mapping. */
#define IMPORTER_KERNEL_LOOK _IOWR('h', 2, struct importer_request)
#define IMPORTER_KERNEL_FILL _IOWR('h', 3, struct importer_request)
/* Attach and map until the file is closed (one buffer a file). */
#define IMPORTER_HOLD _IOWR('h', 4, struct importer_request)

#endif
