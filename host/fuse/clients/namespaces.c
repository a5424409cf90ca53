// SPDX-License-Identifier: GPL-2.0
/* Clients in other pid and user namespaces than the daemon. */
#include "clients/namespaces.h"

#include "base/daemon_state.h"
#include "clients/client_thread.h"
#include "clients/users.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_UID (~0u)

/* The kernel's limit on the lines of /proc/PID/uid_map. */
#define ID_RANGES_MAX 340u

/* A result of namespace_around(): the process is in the daemon's own. */
#define SAME_NAMESPACE (-2)

struct namespaces {
	u64 own_user;		/* inode number of the daemon's user namespace */
	u64 own_pid;		/* of its pid namespace, if containers are users; else 0 */
};

static u64 namespace_of(pid_t pid, const char *kind)
{
	char path[48];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kind);
	return stat(path, &st) ? 0 : st.st_ino;
}

void namespaces_init(bool limit_containers)
{
	struct namespaces *namespaces = daemon_part(namespaces);

	namespaces->own_user = namespace_of(getpid(), "user");
	if (limit_containers)
		namespaces->own_pid = namespace_of(getpid(), "pid");
}

static int read_id_map(struct host_proc *proc)
{
	struct host_id_range *ranges, *shrunk;
	char *buffer = malloc(16384);
	char *line = buffer;
	u32 nr = 0;
	int used;

	proc->nr_id_ranges = 0;
	proc->id_ranges = NULL;
	ranges = calloc(ID_RANGES_MAX, sizeof(*ranges));
	if (!buffer || !ranges ||
	    client_thread_read_file(proc->opener, "uid_map", buffer, 16384) < 0) {
		free(ranges);
		free(buffer);
		return -ENOMEM;
	}
	while (nr < ID_RANGES_MAX && sscanf(line, "%u %u %u%n", &ranges[nr].inside,
					    &ranges[nr].outside, &ranges[nr].count, &used) == 3) {
		line += used;
		nr++;
	}
	free(buffer);
	proc->nr_id_ranges = nr;
	/* gives back what is not needed; if that fails, all of it is kept */
	shrunk = realloc(ranges, (nr ? nr : 1) * sizeof(*ranges));
	proc->id_ranges = shrunk ? shrunk : ranges;
	return 0;
}

int namespaces_read(struct host_proc *proc)
{
	proc->pid_ns = proc->nr_levels > 1 ? namespace_of(proc->opener, "pid") : 0;
	if (namespace_of(proc->opener, "user") == daemon_self->namespaces->own_user)
		return 0;
	proc->may_raise = false;
	return read_id_map(proc);
}

/* The outermost of the namespaces around @fd, which it closes, below the daemon's; -1: none. */
static int outermost_below(int fd, u64 own)
{
	for (;;) {
		int parent = ioctl(fd, NS_GET_PARENT);
		struct stat st;

		if (parent >= 0 && !fstat(parent, &st) && st.st_ino == own) {
			close(parent);
			return fd;
		}
		close(fd);
		if (parent < 0)
			return -1;
		fd = parent;
	}
}

/* The outermost namespace of @tid below the daemon's, @own: a descriptor; -1: it cannot be told. */
static int namespace_around(pid_t tid, const char *kind, u64 own)
{
	struct stat st;
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", tid, kind);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && st.st_ino == own) {
		close(fd);
		return SAME_NAMESPACE;
	}
	return fd < 0 ? fd : outermost_below(fd, own);
}

/* The user that the container of @tid is; 0: it is in none. */
static u32 container_uid(pid_t tid)
{
	u64 own = daemon_self->namespaces->own_pid;
	int fd = own ? namespace_around(tid, "pid", own) : SAME_NAMESPACE;
	u32 uid = fd == SAME_NAMESPACE ? 0 : NO_UID;
	struct stat st;

	if (fd >= 0) {
		if (!fstat(fd, &st))
			uid = (u32)st.st_ino;
		close(fd);
	}
	return uid;
}

/*
 * A namespace that cannot be examined belongs to a process that the daemon cannot serve, because it
 * cannot read its memory either, or to one that has ended: all of them count as one user. The
 * kernel numbers namespaces from 0xf0000000 on, where there are no users.
 */
u32 namespaces_charged_uid(pid_t tid, u32 uid)
{
	u32 container = container_uid(tid);
	uid_t owner = NO_UID;
	struct stat st;
	int fd;

	if (container)
		return container;
	fd = namespace_around(tid, "user", daemon_self->namespaces->own_user);
	if (fd == SAME_NAMESPACE)
		return uid;
	if (fd < 0 || ioctl(fd, NS_GET_OWNER_UID, &owner) || fstat(fd, &st))
		owner = NO_UID;
	else if (!users_is_limited(owner))
		owner = (u32)st.st_ino;
	if (fd >= 0)
		close(fd);
	return owner;
}

/* Processes in different namespaces of the same depth do not see each other. */
s32 namespaces_number(const struct host_proc *subject, const struct host_proc *viewer)
{
	if (viewer->nr_levels <= 1)
		return subject->pid;
	if (subject->nr_levels != viewer->nr_levels || subject->pid_ns != viewer->pid_ns)
		return 0;
	return subject->pids[viewer->nr_levels - 1];
}

/*
 * A dead opener has no pid, as with the C driver. As long as only its own threads call, and the
 * watcher has not seen it die, it lives, and no system call is needed.
 */
s32 namespaces_pid_seen_by(const struct host_proc *subject, const struct host_proc *viewer)
{
	if ((atomic_load_explicit(&subject->is_shared, memory_order_relaxed) ||
	     atomic_load_explicit(&subject->gone, memory_order_relaxed)) &&
	    client_thread_opener_is_gone(subject))
		return 0;
	return namespaces_number(subject, viewer);
}

u32 namespaces_uid_seen_by(u32 uid, const struct host_proc *viewer)
{
	if (!viewer->id_ranges)
		return uid;
	for (u32 i = 0; i < viewer->nr_id_ranges; i++) {
		const struct host_id_range *range = &viewer->id_ranges[i];

		if (uid - range->outside < range->count)
			return range->inside + (uid - range->outside);
	}
	return NO_UID;
}
