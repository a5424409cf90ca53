// SPDX-License-Identifier: GPL-2.0
/* A buffer as processes see it: mappings, whole and partial, shared, after a fork. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dma_buffer.h"
#include "test.h"

/* Two big blocks, some of the middle size, some single pages. */
#define MIXED (2 * MIB + 3 * 16 * PAGE + 5 * PAGE)

/* Each page has its number in it. */
static void number_pages(unsigned char *data, size_t len)
{
	for (size_t i = 0; i < len / PAGE; i++)
		*(uint32_t *)(data + i * PAGE) = (uint32_t)i;
}

static uint32_t page_number(const unsigned char *data)
{
	return *(const uint32_t *)data;
}

TEST(map_sees_one_memory, "All mappings of a buffer show the same memory.")
{
	int fd = heap_alloc(MIXED);
	unsigned char *one = heap_map(fd, MIXED), *other = heap_map(fd, MIXED);

	EXPECT_EQ(heap_differing(one, MIXED, 0), 0);
	number_pages(one, MIXED);
	for (size_t i = 0; i < MIXED / PAGE; i++)
		EXPECT_EQ(page_number(other + i * PAGE), i);
}

TEST(map_part, "A section is mapped by its offset, across blocks of all sizes.")
{
	int fd = heap_alloc(MIXED);
	size_t nr = MIXED / PAGE;

	number_pages(heap_map(fd, MIXED), MIXED);
	for (size_t at = 0; at < nr; at += 37) {
		for (size_t len = 1; at + len <= nr; len += 1 + len * 7) {
			unsigned char *part = mmap(NULL, len * PAGE, PROT_READ, MAP_SHARED, fd,
						   (long)(at * PAGE));

			EXPECT(part != MAP_FAILED);
			EXPECT_EQ(page_number(part), at);
			EXPECT_EQ(page_number(part + (len - 1) * PAGE), at + len - 1);
			munmap(part, len * PAGE);
		}
	}
}

TEST(map_refuses, "Beyond the end: EINVAL; a private mapping of several blocks: EINVAL.")
{
	int fd = heap_alloc(MIXED);

	EXPECT_ERR(heap_try_map(fd, MIXED + PAGE, PROT_READ, MAP_SHARED, 0), EINVAL);
	EXPECT_ERR(heap_try_map(fd, 2 * PAGE, PROT_READ, MAP_SHARED, MIXED - PAGE), EINVAL);
	EXPECT_ERR(heap_try_map(fd, PAGE, PROT_READ, MAP_SHARED, MIXED), EINVAL);
	EXPECT_ERR(heap_try_map(fd, MIXED, PROT_READ, MAP_PRIVATE, 0), EINVAL);
}

TEST(map_private, "A private mapping of one block has its own copy of what it writes.")
{
	int fd = heap_alloc(PAGE);
	unsigned char *private = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	EXPECT(private != MAP_FAILED);
	private[0] = 9;
	EXPECT_EQ(heap_map(fd, PAGE)[0], 0);
}

TEST(map_stays_as_it_is,
     "A mapping cannot be grown or dropped by madvise, and other processes "
     "cannot access it.")
{
	unsigned char *data = heap_map(heap_alloc(MIXED), MIXED);
	char copy[8];
	struct iovec here = { copy, sizeof(copy) }, there = { data, sizeof(copy) };

	EXPECT(mremap(data, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
	EXPECT(madvise(data, PAGE, MADV_DONTNEED) && errno == EINVAL);
	EXPECT(process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0 && errno == EFAULT);
}

TEST(map_outlives_the_file, "A mapping keeps the memory when the file is closed.")
{
	int fd = heap_alloc(MIXED);
	unsigned char *data = heap_map(fd, MIXED);

	close(fd);
	number_pages(data, MIXED);
	for (int i = 0; i < 20; i++)
		close(heap_alloc(MIXED));
	for (size_t i = 0; i < MIXED / PAGE; i++)
		EXPECT_EQ(page_number(data + i * PAGE), i);
	if (heap_is_ours())
		EXPECT_EQ(heap_bytes_in_use(), MIXED);
	munmap(data, MIXED);
	if (heap_is_ours())
		heap_expect_unused();
}

TEST(map_is_shared_by_fork, "A child's mapping is the parent's memory.")
{
	unsigned char *data = heap_map(heap_alloc(MIXED), MIXED);
	pid_t child = fork();
	int status;

	if (!child) {
		number_pages(data, MIXED);
		_exit(0);
	}
	EXPECT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(page_number(data + MIXED - PAGE), MIXED / PAGE - 1);
}
