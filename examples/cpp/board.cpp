// SPDX-License-Identifier: Apache-2.0
#include "board.h"
#include <android/binder_manager.h>
#include <android/binder_process.h>
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

static char **arguments;

bool until_there(const std::function<bool()> &attempt)
{
	for (int i = getenv(ANEW) ? ATTEMPTS : 0; i > 0; i--) {
		if (attempt())
			return true;
		sleep(1);
	}
	return attempt();
}

/*
 * Executes the program again. When the daemon has ended or crashed, the open device fails for ever,
 * and the library opens one for the whole life of a process.
 */
[[noreturn]] static void begin_anew(const char *why)
{
	printf("%s: beginning anew\n", why);
	setenv(ANEW, "1", 1);
	execv("/proc/self/exe", arguments);
	perror(arguments[0]);
	_exit(1);
}

void open_binder(char **argv)
{
	arguments = argv;
	auto can_be_opened = [] {
		return ScopedFileDescriptor(open(DEVICE, O_RDWR | O_CLOEXEC)).get() >= 0;
	};
	if (!until_there(can_be_opened)) {
		fprintf(stderr, "%s cannot be opened: start this with `anybinder run -- COMMAND`\n",
			DEVICE);
		exit(1);
	}
	ABinderProcess_startThreadPool();
}

void link_to_manager()
{
	static ndk::SpAIBinder manager(AServiceManager_checkService("manager"));
	AIBinder_DeathRecipient *notices = AIBinder_DeathRecipient_new(
		[](void *) { begin_anew("the service manager died"); });

	if (AIBinder_linkToDeath(manager.get(), notices, nullptr) != STATUS_OK)
		begin_anew("the service manager died");
}

void serve()
{
	ABinderProcess_joinThreadPool();
	begin_anew("the driver is gone");
}

/* A descriptor of the heap's, or -1 where there is no heap. */
static int allocate_dma_buf(size_t size)
{
	ScopedFileDescriptor heap(open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC));
	dma_heap_allocation_data allocation = {};

	allocation.len = size;
	allocation.fd_flags = O_RDWR | O_CLOEXEC;
	if (ioctl(heap.get(), DMA_HEAP_IOCTL_ALLOC, &allocation) < 0)
		return -1;
	return static_cast<int>(allocation.fd);
}

[[noreturn]] static void fail(const char *what)
{
	perror(what);
	exit(1);
}

buffer allocate(size_t size)
{
	buffer made = { ScopedFileDescriptor(allocate_dma_buf(size)), "DMA-BUF", nullptr };

	if (made.fd.get() < 0) {
		made.kind = "memfd";
		made.fd.set(memfd_create("board", MFD_CLOEXEC | MFD_ALLOW_SEALING));
		/* The receiver insists on the seal: reading a mapping of a file that shrinks is a SIGBUS. */
		if (ftruncate(made.fd.get(), size) != 0 ||
		    fcntl(made.fd.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
			fail("memfd");
	}
	void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, made.fd.get(), 0);
	if (memory == MAP_FAILED)
		fail("mmap");
	made.memory = static_cast<unsigned char *>(memory);
	return made;
}

int64_t add_up(const ScopedFileDescriptor &file)
{
	/* A DMA-BUF has no seals, and cannot shrink. */
	int seals = fcntl(file.get(), F_GET_SEALS);
	off_t size = lseek(file.get(), 0, SEEK_END);
	int64_t sum = 0;

	if (size < 0 || (seals >= 0 && !(seals & F_SEAL_SHRINK)))
		return -1;
	void *memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
	if (memory == MAP_FAILED)
		return -1;
	for (off_t i = 0; i < size; i++)
		sum += static_cast<unsigned char *>(memory)[i];
	munmap(memory, size);
	return sum;
}

}
