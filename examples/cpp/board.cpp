// SPDX-License-Identifier: Apache-2.0
#include "board.h"
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>

namespace board {

static constexpr char DEVICE[] = "/dev/binder";

GBinderServiceManager *open_binder()
{
	if (access(DEVICE, F_OK) != 0) {
		fprintf(stderr, "there is no %s: start this with `anybinder run -- COMMAND`\n", DEVICE);
		exit(1);
	}
	GBinderServiceManager *manager = gbinder_servicemanager_new(DEVICE);
	if (!manager || !gbinder_servicemanager_wait(manager, 5000)) {
		fprintf(stderr, "no service manager answers on %s: see /etc/gbinder.conf in "
				"docs/TUTORIAL.md\n", DEVICE);
		exit(1);
	}
	return manager;
}

void append_file(GBinderWriter *writer, int fd)
{
	gbinder_writer_append_int32(writer, 1);
	gbinder_writer_append_int32(writer, 0);
	gbinder_writer_append_fd(writer, fd);
}

int read_file(GBinderReader *reader)
{
	gint32 present, channel;

	if (!gbinder_reader_read_int32(reader, &present) || !present ||
	    !gbinder_reader_read_int32(reader, &channel))
		return -1;
	return gbinder_reader_read_dup_fd(reader);
}

std::string read_string(GBinderReader *reader)
{
	g_autofree char *text = gbinder_reader_read_string16(reader);

	return text ? text : "";
}

/* A descriptor of the heap's, or -1 where there is no heap. */
static int allocate_dma_buf(size_t size)
{
	int heap = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);
	dma_heap_allocation_data allocation = {};

	if (heap < 0)
		return -1;
	allocation.len = size;
	allocation.fd_flags = O_RDWR | O_CLOEXEC;
	int status = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &allocation);
	close(heap);
	return status < 0 ? -1 : static_cast<int>(allocation.fd);
}

buffer allocate(size_t size)
{
	buffer made = { allocate_dma_buf(size), "DMA-BUF", nullptr };

	if (made.fd < 0) {
		made.kind = "memfd";
		made.fd = memfd_create("board", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		/* The receiver insists on the seal: reading a mapping of a file that shrinks is a SIGBUS. */
		if (ftruncate(made.fd, size) != 0 || fcntl(made.fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
			perror("memfd");
			exit(1);
		}
	}
	void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, made.fd, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	made.memory = static_cast<unsigned char *>(memory);
	return made;
}

int64_t add_up(int fd)
{
	/* A DMA-BUF has no seals, and cannot shrink. */
	int seals = fcntl(fd, F_GET_SEALS);
	off_t size = lseek(fd, 0, SEEK_END);
	int64_t sum = 0;

	if (size < 0 || (seals >= 0 && !(seals & F_SEAL_SHRINK)))
		return -1;
	void *memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -1;
	for (off_t i = 0; i < size; i++)
		sum += static_cast<unsigned char *>(memory)[i];
	munmap(memory, size);
	return sum;
}

}
