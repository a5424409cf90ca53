// SPDX-License-Identifier: GPL-2.0
#include "dma_buffer.h"

#include <fcntl.h>
#include <linux/dma-heap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

#define DEBUGFS "/sys/kernel/debug/anybinder_heap/"
#define UNUSED_TIMEOUT_MS 10000

static const char *path(void)
{
	const char *heap = getenv("HEAP");

	if (!heap)
		FAIL("the environment has no HEAP");
	return heap;
}

int heap_open(void)
{
	int fd = open(path(), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		FAIL("%s: %s", path(), test_errno_name(errno));
	return fd;
}

bool heap_is_ours(void)
{
	return !getenv("HEAP_IS_STOCK");
}

int heap_ioctl(unsigned int command, void *arg)
{
	int heap = heap_open();
	int err = ioctl(heap, command, arg) ? -errno : 0;

	close(heap);
	return err;
}

int heap_alloc_raw(uint64_t len, uint32_t fd_in, uint32_t fd_flags, uint64_t heap_flags,
		   uint32_t *fd)
{
	struct dma_heap_allocation_data data = {
		.len = len,
		.fd = fd_in,
		.fd_flags = fd_flags,
		.heap_flags = heap_flags,
	};
	int err = heap_ioctl(DMA_HEAP_IOCTL_ALLOC, &data);

	*fd = data.fd;
	return err;
}

int heap_try(size_t len)
{
	uint32_t fd;
	int err = heap_alloc_raw(len, 0, O_RDWR | O_CLOEXEC, 0, &fd);

	return err ? err : (int)fd;
}

int heap_alloc(size_t len)
{
	int fd = heap_try(len);

	EXPECT_OK(fd);
	return fd;
}

unsigned char *heap_map(int fd, size_t len)
{
	void *data = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	EXPECT(data != MAP_FAILED);
	return data;
}

int heap_try_map(int fd, size_t len, int prot, int flags, long offset)
{
	void *data = mmap(NULL, len, prot, flags, fd, offset);

	if (data == MAP_FAILED)
		return -errno;
	munmap(data, len);
	return 0;
}

/* A word at a time: uncached memory under emulation is slow. */
size_t heap_differing(const unsigned char *data, size_t len, unsigned char value)
{
	uint64_t wanted = 0x0101010101010101u * value, word;
	size_t nr = 0, i;

	for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, data + i, sizeof(word));
		nr += word != wanted;
	}
	for (; i < len; i++)
		nr += data[i] != value;
	return nr;
}

/* The number at the start of the line that ends with @what. */
static long pools_number(const char *what)
{
	FILE *file = fopen(DEBUGFS "pools", "r");
	char line[200], rest[200];
	long number, found = -1;

	EXPECT(file != NULL);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%ld %199[^\n]", &number, rest) == 2 && !strcmp(rest, what))
			found = number;
	}
	fclose(file);
	EXPECT(found >= 0);
	return found;
}

long heap_bytes_in_use(void)
{
	return pools_number("in use");
}

long heap_bytes_idle(void)
{
	FILE *file = fopen(DEBUGFS "shrink", "r");
	long bytes = -1;

	EXPECT(file && fscanf(file, "%ld", &bytes) == 1);
	fclose(file);
	return bytes;
}

void heap_shrink(long bytes)
{
	FILE *file = fopen(DEBUGFS "shrink", "w");

	EXPECT(file && fprintf(file, "%ld\n", bytes) > 0 && !fclose(file));
}

void heap_expect_unused(void)
{
	int64_t end = now_ms() + UNUSED_TIMEOUT_MS;

	while (heap_bytes_in_use() + pools_number("to be cleaned") && now_ms() < end)
		sleep_ms(5);
	EXPECT_EQ(heap_bytes_in_use(), 0);
	EXPECT_EQ(pools_number("to be cleaned"), 0);
}
