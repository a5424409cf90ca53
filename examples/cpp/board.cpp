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
/* Set in a program that begins anew: it waits for what is not there yet. */
static constexpr char ANEW[] = "BOARD_ANEW";
static constexpr int ATTEMPTS = 300;

char **arguments;

bool until_there(const std::function<bool()> &attempt)
{
	for (int i = getenv(ANEW) ? ATTEMPTS : 0; i > 0; i--) {
		if (attempt())
			return true;
		sleep(1);
	}
	return attempt();
}

static bool open_device()
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Executes the program again: the open device fails for ever. */
[[noreturn]] static void begin_anew()
{
	printf("the driver is gone: beginning anew\n");
	setenv(ANEW, "1", 1);
	execvp(arguments[0], arguments);
	perror(arguments[0]);
	exit(1);
}

static bool has_name(GBinderServiceManager *manager)
{
	g_auto(GStrv) names = gbinder_servicemanager_list_sync(manager);

	return names && g_strv_contains(names, NAME);
}

bool add_service(GBinderServiceManager *manager, GBinderLocalObject *service)
{
	const bool was_taken = has_name(manager);
	int status;

	gbinder_servicemanager_add_service_sync(manager, NAME, service);
	if (!has_name(manager))
		return false;
	/* A taken name may still be another's: the object of this program is found as none. */
	return !was_taken || !gbinder_servicemanager_get_service_sync(manager, NAME, &status);
}

struct look {
	GBinderServiceManager *manager;
	std::function<void()> missing;
};

static gboolean look_now(void *data)
{
	const look *self = static_cast<look *>(data);
	g_auto(GStrv) names = gbinder_servicemanager_list_sync(self->manager);

	/* A service manager that answers has itself in the list. */
	if (!names || !names[0])
		begin_anew();
	if (!g_strv_contains(names, NAME))
		self->missing();
	return G_SOURCE_CONTINUE;
}

void look_after(GBinderServiceManager *manager, std::function<void()> missing)
{
	g_timeout_add_seconds(1, look_now, new look{ manager, std::move(missing) });
}

GBinderServiceManager *open_binder()
{
	if (!until_there(open_device)) {
		fprintf(stderr, "%s cannot be opened: start this with `anybinder run -- COMMAND`\n",
			DEVICE);
		exit(1);
	}
	GBinderServiceManager *manager = gbinder_servicemanager_new(DEVICE);
	auto is_there = [&] { return manager && gbinder_servicemanager_wait(manager, 5000); };
	if (!until_there(is_there)) {
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
