/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dma_buffer: buffers from the DMA-BUF heap under test, which the environment names:
 * HEAP=/dev/dma_heap/NAME.
 */
#ifndef TESTS_HEAP_DMA_BUFFER_H
#define TESTS_HEAP_DMA_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#define PAGE ((unsigned long)sysconf(_SC_PAGESIZE))
#define MIB (1024 * 1024UL)

/* A file of the heap's device. */
int heap_open(void);
/* Is it this project's? Then debugfs shows its memory. */
bool heap_is_ours(void);
/* One ioctl on a newly opened device file: 0 or -errno. */
int heap_ioctl(unsigned int command, void *arg);
/* The ioctl with all its fields, 0 or -errno: *@fd is what the kernel stored. */
int heap_alloc_raw(uint64_t len, uint32_t fd_in, uint32_t fd_flags, uint64_t heap_flags,
		   uint32_t *fd);
/* A buffer of @len bytes, O_RDWR | O_CLOEXEC: its file, or -errno. */
int heap_try(size_t len);
/* The same; the test fails if there is none. */
int heap_alloc(size_t len);
/* The whole buffer, shared, to be read and written. */
unsigned char *heap_map(int fd, size_t len);
/* mmap(): 0 or -errno; the mapping is gone again. */
int heap_try_map(int fd, size_t len, int prot, int flags, long offset);
/* Bytes different from @value. */
size_t heap_differing(const unsigned char *data, size_t len, unsigned char value);

/* Bytes in use by buffers of this project's heaps, and bytes idle or to be cleaned. */
long heap_bytes_in_use(void);
long heap_bytes_idle(void);
/* Gives idle memory back to the system. */
void heap_shrink(long bytes);
/*
 * Waits until no buffer is in use and none is to be cleaned: the kernel closes the files of dead
 * processes, and cleans memory, asynchronously.
 */
void heap_expect_unused(void);

#endif
