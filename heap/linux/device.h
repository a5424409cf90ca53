/* SPDX-License-Identifier: GPL-2.0 */
/* device: the heaps' device files in /dev/dma_heap. */
#ifndef HEAP_LINUX_DEVICE_H
#define HEAP_LINUX_DEVICE_H

#include "store.h"

/* Brings up the directory of the devices, so to say: numbers and a class. -errno. */
int heap_devices_init(void);
/* /dev/dma_heap/@name, a heap of that kind. @name stays. -errno. */
int heap_device_add(const char *name, enum store_kind kind);
/* All devices, and what heap_devices_init() brought. */
void heap_devices_exit(void);

#endif
