// SPDX-License-Identifier: GPL-2.0
/* The ioctl: what it returns and what it refuses. */
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dma_buffer.h"
#include "test.h"

/* DMA_HEAP_IOCTL_ALLOC of a program that was built for another kernel. */
#define ALLOC_OF(dir, nr, size) _IOC(dir, DMA_HEAP_IOC_MAGIC, nr, size)

static struct dma_heap_allocation_data one_page(void)
{
	return (struct dma_heap_allocation_data){ .len = PAGE, .fd_flags = O_RDWR };
}

TEST(alloc_rounds_up, "A buffer has whole pages, and the size of its file says how many.")
{
	const size_t sizes[] = { 1, PAGE - 1, PAGE, PAGE + 1, 17 * PAGE, 3 * MIB + 1 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int fd = heap_alloc(sizes[i]);

		EXPECT_EQ(lseek(fd, 0, SEEK_END), (sizes[i] + PAGE - 1) / PAGE * PAGE);
		close(fd);
	}
}

TEST(alloc_file_flags, "The file is opened as fd_flags say.")
{
	uint32_t fd;

	EXPECT_OK(heap_alloc_raw(PAGE, 0, O_RDWR | O_CLOEXEC, 0, &fd));
	EXPECT_EQ(fcntl((int)fd, F_GETFD), FD_CLOEXEC);
	EXPECT_EQ(fcntl((int)fd, F_GETFL) & O_ACCMODE, O_RDWR);
	EXPECT_OK(heap_alloc_raw(PAGE, 0, O_RDONLY, 0, &fd));
	EXPECT_EQ(fcntl((int)fd, F_GETFD), 0);
	EXPECT_EQ(fcntl((int)fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	EXPECT_ERR(heap_try_map((int)fd, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, 0), EACCES);
	EXPECT_OK(heap_try_map((int)fd, PAGE, PROT_READ, MAP_SHARED, 0));
	EXPECT_OK(heap_alloc_raw(PAGE, 0, O_WRONLY, 0, &fd));
	EXPECT_ERR(heap_try_map((int)fd, PAGE, PROT_WRITE, MAP_SHARED, 0), EACCES);
	EXPECT_OK(heap_alloc_raw(PAGE, 0, O_ACCMODE, 0, &fd));
}

TEST(alloc_refuses, "A length of 0, a file, unknown flags: EINVAL, and nothing is stored.")
{
	const struct {
		uint64_t len;
		uint32_t fd, fd_flags;
		uint64_t heap_flags;
	} wrong[] = {
		{ 0, 0, O_RDWR, 0 },
		{ PAGE, 5, O_RDWR, 0 },
		{ PAGE, 0, O_RDWR | O_NONBLOCK, 0 },
		{ PAGE, 0, O_RDWR | O_APPEND, 0 },
		{ PAGE, 0, 0x80000000u, 0 },
		{ PAGE, 0, O_RDWR, 1 },
		{ PAGE, 0, O_RDWR, 1ull << 63 },
		{ ~0ull, 0, O_RDWR, 0 },
		{ ~0ull - PAGE + 2, 0, O_RDWR, 0 },
	};
	uint32_t fd;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		EXPECT_ERR(heap_alloc_raw(wrong[i].len, wrong[i].fd, wrong[i].fd_flags,
					  wrong[i].heap_flags, &fd), EINVAL);
		EXPECT_EQ(fd, wrong[i].fd);
	}
}

TEST(alloc_is_known_by_its_number, "Other ioctl numbers: EINVAL; the magic does not matter.")
{
	struct dma_heap_allocation_data data = one_page();

	EXPECT_ERR(heap_ioctl(ALLOC_OF(_IOC_READ | _IOC_WRITE, 1, sizeof(data)), &data), EINVAL);
	EXPECT_ERR(heap_ioctl(ALLOC_OF(_IOC_READ | _IOC_WRITE, 255, sizeof(data)), &data), EINVAL);
	EXPECT_OK(heap_ioctl(_IOC(_IOC_READ | _IOC_WRITE, 'I', 0, sizeof(data)), &data));
	EXPECT(data.fd > 2);
}

TEST(alloc_of_another_size,
     "A shorter structure is filled with 0, the rest of a longer one is "
     "not touched.")
{
	struct dma_heap_allocation_data data = one_page();
	struct {
		struct dma_heap_allocation_data data;
		unsigned char more[40];
	} longer = { .data = one_page() };

	data.heap_flags = 1;
	EXPECT_OK(heap_ioctl(ALLOC_OF(_IOC_READ | _IOC_WRITE, 0, 16), &data));
	EXPECT(data.fd > 2);
	data.fd = 0;
	EXPECT_OK(heap_ioctl(ALLOC_OF(_IOC_READ | _IOC_WRITE, 0, 12), &data));
	EXPECT(data.fd > 2);
	data.fd = 0;
	EXPECT_OK(heap_ioctl(ALLOC_OF(_IOC_READ | _IOC_WRITE, 0, 8), &data));
	EXPECT_EQ(data.fd, 0);
	EXPECT_ERR(heap_ioctl(ALLOC_OF(_IOC_READ | _IOC_WRITE, 0, 0), &data), EINVAL);
	memset(longer.more, 0xff, sizeof(longer.more));
	EXPECT_OK(heap_ioctl(ALLOC_OF(_IOC_READ | _IOC_WRITE, 0, sizeof(longer)), &longer));
	EXPECT(longer.data.fd > 2);
	EXPECT_EQ(heap_differing(longer.more, sizeof(longer.more), 0xff), 0);
}

TEST(alloc_of_another_direction,
     "Without the write bit nothing is read, without the read bit "
     "nothing is stored.")
{
	struct dma_heap_allocation_data data = one_page();

	EXPECT_ERR(heap_ioctl(ALLOC_OF(_IOC_NONE, 0, sizeof(data)), &data), EINVAL);
	EXPECT_ERR(heap_ioctl(ALLOC_OF(_IOC_READ, 0, sizeof(data)), &data), EINVAL);
	EXPECT_OK(heap_ioctl(ALLOC_OF(_IOC_WRITE, 0, sizeof(data)), &data));
	EXPECT_EQ(data.fd, 0);
}

static int lowest_free_fd(void)
{
	int fd = dup(STDOUT_FILENO);

	close(fd);
	return fd;
}

TEST(alloc_bad_address, "A bad address: EFAULT, and no file is left behind.")
{
	struct dma_heap_allocation_data *data =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = lowest_free_fd();

	EXPECT_ERR(heap_ioctl(DMA_HEAP_IOCTL_ALLOC, NULL), EFAULT);
	EXPECT_ERR(heap_ioctl(DMA_HEAP_IOCTL_ALLOC, (void *)8), EFAULT);
	*data = one_page();
	mprotect(data, PAGE, PROT_READ);
	EXPECT_ERR(heap_ioctl(DMA_HEAP_IOCTL_ALLOC, data), EFAULT);
	EXPECT_EQ(lowest_free_fd(), fd);
}

TEST(alloc_no_file_left, "If the process has no free descriptor: EMFILE.")
{
	struct dma_heap_allocation_data data = one_page();
	int heap = heap_open();

	while (dup(heap) >= 0)
		;
	EXPECT_EQ(ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data) ? errno : 0, EMFILE);
}

TEST(alloc_device_is_no_file, "The device itself cannot be read, mapped or sought in.")
{
	int heap = heap_open();
	char byte;

	EXPECT(lseek(heap, 0, SEEK_SET) < 0 && errno == ESPIPE);
	EXPECT(read(heap, &byte, 1) < 0 && errno == EINVAL);
	EXPECT(pread(heap, &byte, 1, 0) < 0 && errno == ESPIPE);
	EXPECT_ERR(heap_try_map(heap, PAGE, PROT_READ, MAP_SHARED, 0), ENODEV);
}

TEST(alloc_shows_in_fdinfo, "/proc/PID/fdinfo shows size and heap of a buffer.")
{
	char path[64], text[1000] = "", wanted[64];
	int fd = heap_alloc(5 * PAGE), info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY);
	EXPECT(info >= 0 && read(info, text, sizeof(text) - 1) > 0);
	snprintf(wanted, sizeof(wanted), "size:\t%lu\n", 5 * PAGE);
	EXPECT(strstr(text, wanted));
	EXPECT(strstr(text, "exp_name:\t"));
}

TEST(alloc_sync, "DMA_BUF_IOCTL_SYNC begins and ends access; unknown flags: EINVAL.")
{
	struct dma_buf_sync sync = { DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	int fd = heap_alloc(PAGE);

	EXPECT(!ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
	sync.flags |= DMA_BUF_SYNC_END;
	EXPECT(!ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
	sync.flags = 0x100;
	EXPECT(ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync) && errno == EINVAL);
}
