/* SPDX-License-Identifier: GPL-2.0 */
/* dma_heap: the device files of the heaps in /dev/dma_heap. */
#ifndef HEAP_LINUX_DMA_HEAP_H
#define HEAP_LINUX_DMA_HEAP_H

#include "store.h"

/* Allocates device numbers and the class. Returns 0 or -errno. */
int heap_devices_init(void);
/* Adds /dev/dma_heap/@name. @name must stay valid. Returns 0 or -errno. */
int heap_device_add(const char *name, enum store_kind kind);
/* Removes all devices, the class and the numbers. */
void heap_devices_exit(void);

#endif
