// SPDX-License-Identifier: GPL-2.0
/*
 * The receive buffer of one open.
 *
 * FUSE has no request for mmap(2), so the address of the client's mapping is looked up when the
 * first transaction for it arrives: a line of /proc/PID/maps with the number of this open's inode,
 * which no other open shares, save for bound opens (bound_buffer.h). The helper process reads that
 * file, because the client can delay it.
 *
 * The memory file is not sealed against writing by clients (F_SEAL_FUTURE_WRITE), because that
 * would also forbid punching holes, so that memory could never be freed; a client that maps its
 * buffer writable harms only itself.
 */
#include "buffers/receive_map.h"

#include "base/clock.h"
#include "base/daemon_log.h"
#include "buffers/bound_buffer.h"
#include "fds/fds.h"
#include "memory/user_account.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/*
 * A search that failed is repeated no sooner than after ten times its duration, so that a process
 * with tens of thousands of mappings cannot keep a worker busy.
 */
#define RETRY_FACTOR 10

static void map_close(struct host_map *map)
{
	char *memory = atomic_load(&map->memory);

	if (memory)
		munmap(memory, MAP_SIZE);
	atomic_store(&map->memory, NULL);
	if (map->file >= 0)
		close(map->file);
	map->file = -1;
	bound_buffer_destroy(map);
}

char *map_attach(struct host_map *map)
{
	char *memory = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, map->file, 0);
	char *known = NULL;

	if (memory == MAP_FAILED)
		return NULL;
	/* another thread may have been faster */
	if (atomic_compare_exchange_strong(&map->memory, &known, memory))
		return memory;
	munmap(memory, MAP_SIZE);
	return known;
}

int map_init(struct host_map *map, const struct host_proc *proc)
{
	int error = 0;
	int fd;

	*map = (struct host_map){ .file = -1, .backing_id = -1, .client_memory = -1,
				  .proc = proc };
	if (proc->bound)
		error = bound_buffer_init(map);
	if (error)
		return error;
	fd = memfd_create("binder", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0) {
		error = -errno;
		bound_buffer_destroy(map);
		return error;
	}
	map->file = fd;
	if (ftruncate(fd, (off_t)MAP_SIZE) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL))
		error = -errno;
	else if (!map_attach(map))
		error = -ENOMEM;
	if (!error && daemon_self->session->passthrough && !proc->bound) {
		map->backing_id = session_backing_open(fd);
		if (map->backing_id < 0)
			log_debug("no passthrough for this open: %s", strerror(errno));
	}
	if (error)
		map_close(map);
	return error;
}

/* Discharges the pages of this range that are charged. */
static void discharge_pages(struct host_map *map, size_t first, size_t nr)
{
	size_t count = 0;

	for (size_t at = first; at < first + nr; at++) {
		u64 bit = 1ull << (at % 64);

		count += !!(atomic_fetch_and(&map->charged[at / 64], ~bit) & bit);
	}
	account_discharge(map->proc->account, count * HOST_PAGE_SIZE);
}

void map_destroy(struct host_map *map)
{
	if (map->backing_id >= 0)
		session_backing_close(map->backing_id);
	map_close(map);
	discharge_pages(map, 0, HOST_MAP_PAGES);
}

static unsigned int count_charged(const struct host_map *map)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < HOST_MAP_PAGES / 64; i++)
		nr += (unsigned int)__builtin_popcountll(atomic_load(&map->charged[i]));
	return nr;
}

void map_restore(struct host_map *map, const struct host_proc *proc)
{
	map->proc = proc;
	account_charge(proc->account, count_charged(map) * HOST_PAGE_SIZE);
}

static int find_direct(const struct host_map *map, u64 *base, size_t *size)
{
	struct fds_mapping mapping;
	int error = fds_find_mapping(map->proc, 0, &mapping);

	if (error)
		return error;
	*base = mapping.base;
	*size = mapping.size < MAP_SIZE ? mapping.size : MAP_SIZE;
	return 0;
}

int map_find(struct host_map *map, u64 *base, size_t *size)
{
	const struct host_proc *proc = map->proc;
	u64 start = clock_now_ns();
	u64 end;
	int error;

	if (atomic_load(&proc->gone) || start < map->retry_ns)
		return -ESRCH;
	error = proc->bound ? bound_buffer_find(map, base, size) : find_direct(map, base, size);
	end = clock_now_ns();
	if (error && end - start > 1000000)
		map->retry_ns = end + RETRY_FACTOR * (end - start);
	return error;
}

/* Charges the pages of this range that are not charged yet. Two threads may do so at once. */
static bool charge_pages(struct host_map *map, size_t first, size_t nr)
{
	for (size_t at = first; at < first + nr; at++) {
		u64 bit = 1ull << (at % 64);

		if (atomic_load(&map->charged[at / 64]) & bit)
			continue;
		if (!account_charge(map->proc->account, HOST_PAGE_SIZE))
			return false;
		if (atomic_fetch_or(&map->charged[at / 64], bit) & bit)
			account_discharge(map->proc->account, HOST_PAGE_SIZE);
	}
	return true;
}

/*
 * Pages for which this fails stay charged until they are evicted or populated again: another
 * thread may have succeeded for some of them.
 */
int map_populate(struct host_map *map, size_t first, size_t nr)
{
	char *memory = map_memory(map);

	if (!memory || !charge_pages(map, first, nr))
		return -ENOMEM;
	/* touching the pages would raise SIGBUS when there is no memory */
	if (madvise(memory + first * HOST_PAGE_SIZE, nr * HOST_PAGE_SIZE, MADV_POPULATE_WRITE) &&
	    errno != EINVAL)
		return -ENOMEM;
	return 0;
}

/* Frees whole pages, and fills parts of pages with zeroes. */
static void punch_hole(const struct host_map *map, size_t off, size_t size)
{
	if (fallocate(map->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off,
		      (off_t)size))
		log_debug("cannot free buffer pages: %s", strerror(errno));
}

void map_evict(struct host_map *map, size_t first, size_t nr)
{
	punch_hole(map, first * HOST_PAGE_SIZE, nr * HOST_PAGE_SIZE);
	discharge_pages(map, first, nr);
}

void map_zero(struct host_map *map, size_t off, size_t size)
{
	char *memory = map_memory(map);

	if (memory)
		memset(memory + off, 0, size);
	else
		punch_hole(map, off, size);
}

void map_publish(struct host_map *map, size_t off, size_t size)
{
	size_t start = off & ~(HOST_PAGE_SIZE - 1);
	size_t end = (off + size + HOST_PAGE_SIZE - 1) & ~(HOST_PAGE_SIZE - 1);
	char *memory = map_memory(map);

	if (!memory)
		log_warn("no memory for the buffer of process %d", map->proc->pid);
	else if (map->proc->bound)
		bound_buffer_publish(map, memory, off, size);
	/* the kernel keeps only whole pages */
	else
		session_notify_store(map->proc->nodeid, start, memory + start, end - start);
}
