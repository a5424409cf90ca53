// SPDX-License-Identifier: GPL-2.0
/*
 * Applications that allocate shared buffers: --address is a heap of the module anybinder_heap.
 *
 * A client is one application after another. As applications do when they start, each allocates
 * small and big buffers as fast as it can, frees many of them, keeps the rest for a while, and
 * ends. A call is one allocation. At every tenth end of an application the pools are shrunk, as
 * they are when memory is short.
 */
#include "bench/fail.h"
#include "bench/peer.h"

#include <fcntl.h>
#include <linux/dma-heap.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define KIB (1u << 10)
#define MIB (1u << 20)
#define SHRINK_FILE "/sys/kernel/debug/anybinder_heap/shrink"
#define SHRINK_EVERY 10
#define SHRINK_BYTES "41943040"
#define KEEP_US 20000

/* What an application allocates, part by part: 263 buffers. */
static const struct part {
	int nr;
	uint32_t bytes;		/* the largest, or all of them */
	bool has_one_size;
	bool is_scratch;	/* freed at the end of the part, with half of all others */
} parts[] = {
	{ .nr = 60, .bytes = 256 * KIB },			/* icons and other pictures */
	{ .nr = 3, .bytes = 2 * MIB, .has_one_size = true },	/* the buffers of a window */
	{ .nr = 40, .bytes = 512 * KIB, .is_scratch = true },
	{ .nr = 60, .bytes = 256 * KIB },
	{ .nr = 40, .bytes = 512 * KIB, .is_scratch = true },
	{ .nr = 60, .bytes = 256 * KIB },
};

#define NR_PARTS (int)(sizeof(parts) / sizeof(parts[0]))

struct app {
	int heap;
	uint64_t random;
	int part, nr_of_part;	/* the next allocation */
	int buffers[512], nr_buffers;
	atomic_int *nr_ended;	/* of all clients */
};

static void *heap_prepare(const struct cell *cell)
{
	return cell_shared_memory(sizeof(atomic_int));
}

static void *heap_connect(void *state, const struct cell *cell, int pair)
{
	struct app *new = new_zeroed(sizeof(*new));

	new->heap = open(cell->address, O_RDONLY | O_CLOEXEC);
	if (new->heap < 0)
		fail_errno("%s", cell->address);
	/* Never 0, and different for clients that are close. */
	new->random = (uint64_t)(pair + 1) * 0x9e3779b97f4a7c15;
	new->nr_ended = state;
	return new;
}

static uint32_t next_random(struct app *app)
{
	app->random ^= app->random << 13;
	app->random ^= app->random >> 7;
	app->random ^= app->random << 17;
	return (uint32_t)(app->random >> 16);
}

static void free_down_to(struct app *app, int nr)
{
	while (app->nr_buffers > nr)
		close(app->buffers[--app->nr_buffers]);
}

static void end_app(struct app *app)
{
	int fd;

	usleep(KEEP_US);
	free_down_to(app, 0);
	app->part = 0;
	if ((atomic_fetch_add(app->nr_ended, 1) + 1) % SHRINK_EVERY)
		return;
	fd = open(SHRINK_FILE, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, SHRINK_BYTES, sizeof(SHRINK_BYTES) - 1) < 0)
		fail_errno(SHRINK_FILE);
	close(fd);
}

/* What happens between two allocations. */
static void heap_before_call(void *connection)
{
	struct app *app = connection;
	const struct part *part = &parts[app->part];

	if (app->nr_of_part < part->nr)
		return;
	app->nr_of_part = 0;
	if (part->is_scratch) {
		free_down_to(app, app->nr_buffers - part->nr);
		free_down_to(app, app->nr_buffers / 2);
	}
	if (++app->part == NR_PARTS)
		end_app(app);
}

static void heap_call(void *connection)
{
	struct app *app = connection;
	const struct part *part = &parts[app->part];
	struct dma_heap_allocation_data data = {
		.len = part->has_one_size ? part->bytes : 1 + next_random(app) % part->bytes,
		.fd_flags = O_RDWR | O_CLOEXEC,
	};

	if (ioctl(app->heap, DMA_HEAP_IOCTL_ALLOC, &data))
		fail_errno("allocating %llu bytes", (unsigned long long)data.len);
	app->buffers[app->nr_buffers++] = (int)data.fd;
	app->nr_of_part++;
}

const struct peer peer_heap = {
	.name = "heap",
	.needs_address = true,
	.has_no_payload = true,
	.prepare = heap_prepare,
	.connect = heap_connect,
	.before_call = heap_before_call,
	.call = heap_call,
};
