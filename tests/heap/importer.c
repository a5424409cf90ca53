// SPDX-License-Identifier: GPL-2.0
/* A buffer as devices and the kernel see it, through a test importer. */
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dma_buffer.h"
#include "importer/importer_abi.h"
#include "test.h"

#define MIXED (2 * MIB + 3 * 16 * PAGE + 5 * PAGE)

static int importer(void)
{
	int fd = open("/dev/heap-importer", O_RDWR | O_CLOEXEC);

	EXPECT(fd >= 0);
	return fd;
}

static struct importer_request ask(unsigned long command, int buffer, unsigned int value)
{
	struct importer_request request = { .fd = buffer, .value = value };
	int device = importer();

	if (ioctl(device, command, &request))
		FAIL("importer: %s", test_errno_name(errno));
	close(device);
	return request;
}

static void sync_end(int fd)
{
	struct dma_buf_sync sync = { DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW };

	EXPECT(!ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
}

TEST(importer_device_sees_it_all, "A device gets the whole buffer, and reads what was written.")
{
	int fd = heap_alloc(MIXED);
	struct importer_request found = ask(IMPORTER_DEVICE_LOOK, fd, 0);
	unsigned char *data = heap_map(fd, MIXED);

	EXPECT_EQ(found.len, MIXED);
	EXPECT_EQ(found.sum, 0);
	EXPECT(found.entries > 0);
	memset(data, 3, MIXED);
	sync_end(fd);
	EXPECT_EQ(ask(IMPORTER_DEVICE_LOOK, fd, 0).sum, 3 * MIXED);
	ask(IMPORTER_DEVICE_FILL, fd, 0x5a);
	EXPECT_EQ(heap_differing(data, MIXED, 0x5a), 0);
}

TEST(importer_kernel_sees_it_all, "The kernel's mapping is the same memory in one piece.")
{
	int fd = heap_alloc(MIXED);
	unsigned char *data = heap_map(fd, MIXED);

	data[MIXED - 1] = 77;
	EXPECT_EQ(ask(IMPORTER_KERNEL_LOOK, fd, 0).sum, 77);
	EXPECT_EQ(ask(IMPORTER_KERNEL_FILL, fd, 0xc3).len, MIXED);
	EXPECT_EQ(heap_differing(data, MIXED, 0xc3), 0);
	EXPECT_EQ(ask(IMPORTER_DEVICE_LOOK, fd, 0).sum, 0xc3 * MIXED);
}

TEST(importer_many_devices, "Several devices use a buffer, while processes go on using it.")
{
	int fd = heap_alloc(MIXED), devices[4];
	unsigned char *data = heap_map(fd, MIXED);
	struct dma_buf_sync sync = { DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };

	for (int i = 0; i < 4; i++) {
		struct importer_request request = { .fd = fd };

		devices[i] = importer();
		EXPECT(!ioctl(devices[i], IMPORTER_HOLD, &request));
	}
	EXPECT(!ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
	memset(data, 1, MIXED);
	sync_end(fd);
	close(devices[2]);
	EXPECT_EQ(ask(IMPORTER_DEVICE_LOOK, fd, 0).sum, MIXED);
	sync_end(fd);
}

TEST(importer_keeps_it, "A device that has mapped a buffer keeps it when all processes have ended.")
{
	struct importer_request request;
	int device = importer(), fd = heap_alloc(MIXED), status;
	pid_t pid = fork();

	close(fd);
	if (!pid) {
		request = (struct importer_request){ .fd = heap_alloc(MIXED) };
		EXPECT(!ioctl(device, IMPORTER_HOLD, &request));
		kill(getpid(), SIGKILL);
	}
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WIFSIGNALED(status));
	if (heap_is_ours())
		EXPECT_EQ(heap_bytes_in_use(), MIXED);
	close(device);
	if (heap_is_ours())
		heap_expect_unused();
}
