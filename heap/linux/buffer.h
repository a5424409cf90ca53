/* SPDX-License-Identifier: GPL-2.0 */
/* buffer: the DMA-BUF that a heap hands out. */
#ifndef HEAP_LINUX_BUFFER_H
#define HEAP_LINUX_BUFFER_H

#include "store.h"

struct dma_buf;
struct seq_file;

/*
 * A zeroed buffer of @len bytes (a multiple of the page size, not 0), opened with @fd_flags.
 * @heap: the exporter name that tools show. Sleeps. ERR_PTR: -ENOMEM; -EINTR if the caller is being
 * killed.
 */
struct dma_buf *buffer_new(const char *heap, enum store_kind kind, size_t len,
			   unsigned int fd_flags, bool charged);

/* A line for each buffer: the process that allocated it, its size, heap and inode number. */
void buffer_report(struct seq_file *seq);

#endif
