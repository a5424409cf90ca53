// SPDX-License-Identifier: GPL-2.0
/*
 * hostile-uring DEVICE: reads and polls the device through io_uring, whose threads make the
 * requests, and ends the ring with requests in it, again and again, until it is killed. Writes a
 * line when it begins.
 */
#include "tests/version.h"

#include <err.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES 64u

struct ring {
	int fd;
	struct io_uring_params params;
	char *submissions;		/* the kernel's struct of offsets into this mapping */
	struct io_uring_sqe *entries;
	size_t size, entries_size;
};

static void ring_open(struct ring *ring)
{
	memset(ring, 0, sizeof(*ring));
	ring->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &ring->params);
	if (ring->fd < 0)
		err(77, "io_uring_setup");
	ring->size = ring->params.sq_off.array + ring->params.sq_entries * sizeof(uint32_t);
	ring->entries_size = ring->params.sq_entries * sizeof(struct io_uring_sqe);
	ring->submissions = mmap(NULL, ring->size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
				 IORING_OFF_SQ_RING);
	ring->entries = mmap(NULL, ring->entries_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			     IORING_OFF_SQES);
	if (ring->submissions == MAP_FAILED || ring->entries == MAP_FAILED)
		err(1, "mmap");
}

static void ring_close(struct ring *ring)
{
	munmap(ring->submissions, ring->size);
	munmap(ring->entries, ring->entries_size);
	close(ring->fd);
}

/* Fills and submits a whole ring: reads and polls in turn. Returns what was submitted. */
static int submit(struct ring *ring, int device, void *buffer, unsigned int size)
{
	uint32_t *tail = (uint32_t *)(ring->submissions + ring->params.sq_off.tail);
	uint32_t *array = (uint32_t *)(ring->submissions + ring->params.sq_off.array);

	for (uint32_t i = 0; i < ring->params.sq_entries; i++) {
		struct io_uring_sqe *entry = &ring->entries[i];

		memset(entry, 0, sizeof(*entry));
		entry->fd = device;
		if (i % 2) {
			entry->opcode = IORING_OP_POLL_ADD;
			entry->poll32_events = POLLIN;
		} else {
			entry->opcode = IORING_OP_READ;
			entry->addr = (uintptr_t)buffer;
			entry->len = size;
			entry->flags = IOSQE_ASYNC;	/* in a thread of its own */
		}
		array[i] = i;
	}
	__atomic_store_n(tail, *tail + ring->params.sq_entries, __ATOMIC_RELEASE);
	return (int)syscall(SYS_io_uring_enter, ring->fd, ring->params.sq_entries,
			    ring->params.sq_entries / 2, IORING_ENTER_GETEVENTS, NULL, 0);
}

int main(int argc, char **argv)
{
	static char buffer[4096];
	int device;

	version_if_asked(argc, argv);
	device = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	if (device < 0)
		err(1, "usage: hostile-uring DEVICE");
	puts("begun");
	fflush(stdout);
	for (;;) {
		struct ring ring;

		ring_open(&ring);
		if (submit(&ring, device, buffer, sizeof(buffer)) < 0)
			err(1, "io_uring_enter");
		ring_close(&ring);
	}
}
