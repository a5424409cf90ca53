// SPDX-License-Identifier: GPL-2.0
/*
 * The receive buffers of bound opens.
 *
 * /proc/PID/maps does not tell the mappings of two opens of one inode apart, but the kernel's
 * request for a page does: it carries the handle of the open that was mapped, and the number of the
 * thread that touched the page, which may be one of the daemon. So if a process has several opens
 * of the inode, the daemon drops a page, reads from a mapping, and sees whose it is.
 */
#include "buffers/bound_buffer.h"

#include "base/daemon_state.h"
#include "base/gate.h"
#include "base/locks.h"
#include "base/daemon_log.h"
#include "calls/open_file.h"
#include "calls/stuck_workers.h"
#include "clients/client_thread.h"
#include "fds/fds.h"
#include "session/session.h"
#include "workers/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Mappings of one inode that are looked at in a process. */
#define CANDIDATES_MAX 256u

/* A page that the client has a copy of causes no request; then another is tried. */
#define PROBES_MAX 4u

/* Messages that clients can cause, at the default level. */
#define LOG_INTERVAL_NS 1000000000ull

/* A worker that reads from a mapping to learn which open it belongs to. */
struct probe {
	struct bl_list in_probes;
	pid_t tid;
	u64 handle;		/* of the open; 0: the kernel has not requested the page */
};

/* Does the kernel let the daemon write to /proc/PID/mem? */
enum permission { NOT_KNOWN, PERMITTED, DENIED };

struct bound_buffers {
	atomic_uint permission;
	pthread_mutex_t lock;
	struct bl_list probes;
	atomic_ullong logged_ns;	/* when the last message was printed */
	char zeros[MAP_SIZE];		/* never written, so without memory */
};

void bound_buffers_init(void)
{
	pthread_mutex_init(&daemon_part(bound_buffers)->lock, NULL);
	bl_init(&daemon_self->bound_buffers->probes);
}

void bound_buffer_log_busy(pid_t tid)
{
	if (log_is_due(&daemon_self->bound_buffers->logged_ns, LOG_INTERVAL_NS))
		log_warn("thread %d opens a device file again by its descriptor, or through a bind "
			 "mount of a descriptor, while the first open uses the inode's pages: "
			 "open the device by its path, or bind that", tid);
}

/* Whether the daemon can write to a read-only page of its own by @memory; errno if not known. */
static enum permission try_page(int memory, int file)
{
	enum permission answer;
	char *page;

	if (ftruncate(file, (off_t)HOST_PAGE_SIZE))
		return NOT_KNOWN;
	page = mmap(NULL, HOST_PAGE_SIZE, PROT_READ, MAP_PRIVATE, file, 0);
	if (page == MAP_FAILED)
		return NOT_KNOWN;
	answer = pwrite(memory, "x", 1, (off_t)(uintptr_t)page) == 1 && *page == 'x' ? PERMITTED
										    : DENIED;
	munmap(page, HOST_PAGE_SIZE);
	return answer;
}

/* The kernel may be built or started to deny it even to the process itself (proc_mem.*). */
static enum permission try_own_memory(void)
{
	enum permission answer = NOT_KNOWN;
	int memory, file, error;

	memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (memory < 0)
		return errno == EMFILE || errno == ENFILE ? NOT_KNOWN : DENIED;
	file = memfd_create("probe", MFD_CLOEXEC);
	if (file >= 0)
		answer = try_page(memory, file);
	error = errno;
	if (file >= 0)
		close(file);
	close(memory);
	errno = error;
	return answer;
}

/*
 * May the daemon write to /proc/PID/mem? Returns 0 or -errno. The kernel is asked once, unless
 * there was no descriptor or memory for that.
 */
static int ask_kernel(void)
{
	unsigned int answer = atomic_load(&daemon_self->bound_buffers->permission);

	if (answer == NOT_KNOWN) {
		answer = try_own_memory();
		if (answer == NOT_KNOWN)
			return -errno;
		atomic_store(&daemon_self->bound_buffers->permission, answer);
	}
	return answer == PERMITTED ? 0 : -EPERM;
}

int bound_buffer_init(struct host_map *map)
{
	const struct host_proc *proc = map->proc;
	int error = ask_kernel();
	bool denied;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", proc->opener);
	if (!error) {
		map->client_memory = open(path, O_RDWR | O_CLOEXEC);
		if (map->client_memory >= 0)
			return 0;
		error = -errno;
	}
	if (error == -EMFILE || error == -ENFILE)
		return -EMFILE;
	denied = atomic_load(&daemon_self->bound_buffers->permission) == DENIED;
	if (log_is_due(&daemon_self->bound_buffers->logged_ns, LOG_INTERVAL_NS))
		log_warn("process %d of user %u may not open a device through a bind mount of its "
			 "file, because the daemon may not write to its memory (%s). Bind the "
			 "directory of the devices and link the name, or %s (docs/CONTAINERS.md)",
			 proc->pid, proc->euid, denied ? "proc_mem restrictions" : strerror(-error),
			 denied ? "start the kernel with proc_mem.force_override=always"
				: "run the daemon with CAP_SYS_PTRACE");
	return -EPERM;
}

void bound_buffer_destroy(struct host_map *map)
{
	if (map->client_memory >= 0)
		close(map->client_memory);
	map->client_memory = -1;
}

/* ---- which mapping is it ---- */

static void note_probe(pid_t tid, u64 handle)
{
	struct probe *probe;

	guard_mutex(&daemon_self->bound_buffers->lock);
	bl_for_each(probe, &daemon_self->bound_buffers->probes, in_probes)
		if (probe->tid == tid)
			probe->handle = handle;
}

static void list_probe(struct probe *probe)
{
	guard_mutex(&daemon_self->bound_buffers->lock);
	bl_add_head(&daemon_self->bound_buffers->probes, &probe->in_probes);
}

static void unlist_probe(struct probe *probe)
{
	guard_mutex(&daemon_self->bound_buffers->lock);
	bl_del(&probe->in_probes);
}

void bound_buffer_reply_read(const struct request *request)
{
	const struct fuse_read_in *in = request->body;
	size_t off = in->offset < MAP_SIZE ? in->offset : MAP_SIZE;
	size_t size = in->size < MAP_SIZE - off ? in->size : MAP_SIZE - off;

	note_probe((pid_t)request->head->pid, in->fh);
	session_reply(request->head->unique, daemon_self->bound_buffers->zeros, size);
}

/* The open whose mapping contains @address, the page at @off; 0: unknown. */
static u64 owner_of_page(const struct host_proc *proc, u64 address, size_t off)
{
	struct probe probe = { .tid = gettid() };
	char byte;

	list_probe(&probe);
	session_notify_inval(proc->nodeid, off, HOST_PAGE_SIZE);
	if (client_thread_read(proc->pid, &byte, address, 1))
		probe.handle = 0;
	unlist_probe(&probe);
	return probe.handle;
}

/* Does the mapping belong to the open @file of @proc? The last pages are used last. */
static bool is_own_mapping(const struct host_proc *proc, const struct open_file *file, u64 base,
			   size_t size)
{
	u64 before = worker_begin_wait(proc->open_id);
	u64 handle = 0;

	/* the kernel's request for the page is served by another worker */
	pool_replace_self();
	for (size_t i = 1; i <= PROBES_MAX && !handle && i * HOST_PAGE_SIZE <= size; i++) {
		size_t off = size - i * HOST_PAGE_SIZE;

		handle = owner_of_page(proc, base + off, off);
	}
	worker_end_wait(before);
	return handle == file->handle;
}

static void log_shared(const struct host_proc *proc)
{
	if (log_is_due(&daemon_self->bound_buffers->logged_ns, LOG_INTERVAL_NS))
		log_warn("process %d has mapped its buffer with MAP_SHARED, through a bind mount "
			 "of a device file: calls to it fail. Bind the directory of the devices "
			 "and link the name (docs/CONTAINERS.md)", proc->pid);
}

static int find_mapping(const struct host_proc *proc, const struct open_file *file,
			struct fds_mapping *mapping)
{
	for (u32 i = 0; i < CANDIDATES_MAX; i++) {
		int error = fds_find_mapping(proc, i, mapping);

		if (error)
			return error;
		if (mapping->size > MAP_SIZE)
			mapping->size = MAP_SIZE;
		/* asked after the mappings were read: another open may have come meanwhile */
		if ((mapping->nr == 1 && !open_file_has_siblings(file)) ||
		    is_own_mapping(proc, file, mapping->base, mapping->size))
			return 0;
	}
	return -ESRCH;
}

int bound_buffer_find(struct host_map *map, u64 *base, size_t *size)
{
	struct open_file *file = open_file_find(map->proc->open_id);
	struct fds_mapping mapping;
	int error;

	if (!file)
		return -ESRCH;
	error = find_mapping(map->proc, file, &mapping);
	open_file_leave(file);
	if (!error && mapping.is_shared) {
		log_shared(map->proc);
		error = -ESRCH;
	}
	if (error)
		return error;
	map->base = mapping.base;
	*base = mapping.base;
	*size = mapping.size;
	return 0;
}

/* ---- writing ---- */

/*
 * Puts the empty pages of this range where the kernel looks for them before it copies them for the
 * client: a request for one could only be served by another worker.
 */
static void provide_pages(struct host_map *map, size_t first, size_t end)
{
	for (size_t at = first; at < end; at++) {
		u64 bit = 1ull << (at % 64);

		if (!(atomic_fetch_or(&map->provided[at / 64], bit) & bit))
			session_notify_store(map->proc->nodeid, at * HOST_PAGE_SIZE,
					     daemon_self->bound_buffers->zeros, HOST_PAGE_SIZE);
	}
}

void bound_buffer_publish(struct host_map *map, const char *memory, size_t off, size_t size)
{
	size_t done = 0;

	provide_pages(map, off / HOST_PAGE_SIZE,
		      (off + size + HOST_PAGE_SIZE - 1) / HOST_PAGE_SIZE);
	while (done < size) {
		unsigned int section = gate_begin_client();
		ssize_t count = pwrite(map->client_memory, memory + off + done, size - done,
				       (off_t)(map->base + off + done));

		gate_end_client(section);
		if (count <= 0) {	/* unmapped, or the process is gone */
			log_debug("process %d: cannot write to its buffer: %s", map->proc->pid,
				  count ? strerror(errno) : "its memory does not exist any more");
			return;
		}
		done += (size_t)count;
	}
}
