// SPDX-License-Identifier: GPL-2.0
/*
 * Calling threads and their processes.
 *
 * A request names the calling thread. Its process, user id and security context are read from /proc
 * once for each open: as in the stock driver, a binder_proc stands for the process that opened the
 * device, even if another process uses the descriptor later. Payloads and command streams are
 * copied by process_vm_readv(2) and process_vm_writev(2), directly between the two address spaces.
 */
#include "clients/caller.h"

#include "clients/users.h"
#include "workers/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NO_UID (~0u)

/* The field of /proc/TID/stat with the processor, counted from 1. */
#define STAT_CORE 39u

/* The kernel's limit on the lines of /proc/PID/uid_map. */
#define ID_RANGES_MAX 340u

/* A process cannot give itself a longer security context: writes to attr/ are at most a page. */
#define CONTEXT_MAX 4096u

static bool has_contexts;

/* The directories exist where the module is active, also if nothing is mounted there. */
void caller_init(void)
{
	has_contexts = !access("/sys/fs/selinux", F_OK) || !access("/sys/fs/smackfs", F_OK);
}

static ssize_t read_proc_file(pid_t pid, const char *name, char *buffer, size_t size)
{
	char path[48];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = read(fd, buffer, size - 1);
	close(fd);
	if (got >= 0)
		buffer[got] = 0;
	return got;
}

/* The rest of the line of @text that begins with @key; NULL if there is none. */
static const char *find_line(const char *text, const char *key)
{
	size_t length = strlen(key);

	while (text && strncmp(text, key, length)) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + length : NULL;
}

static int read_status(pid_t tid, struct host_proc *proc)
{
	char buffer[2048];
	const char *tgid;
	const char *uid;
	const char *levels;
	const char *caps;
	int used;

	if (read_proc_file(tid, "status", buffer, sizeof(buffer)) <= 0)
		return -EACCES;
	tgid = find_line(buffer, "Tgid:");
	uid = find_line(buffer, "Uid:");
	levels = find_line(buffer, "NStgid:");
	caps = find_line(buffer, "CapEff:");
	proc->may_raise = caps && strtoull(caps, NULL, 16) & 1ull << CAP_SYS_NICE;
	if (!tgid || !uid || sscanf(tgid, "%d", &proc->pid) != 1 ||
	    sscanf(uid, "%*u %u", &proc->euid) != 1 || proc->pid <= 0)
		return -EACCES;
	proc->nr_levels = 0;
	while (levels && proc->nr_levels < HOST_PID_LEVELS &&
	       sscanf(levels, " %d%n", &proc->pids[proc->nr_levels], &used) == 1) {
		if (memchr(levels, '\n', (size_t)used))
			break;	/* the number was on the next line */
		levels += used;
		proc->nr_levels++;
	}
	return 0;
}

/* Is @capability, a number of capabilities(7), effective in the thread @tid? */
static bool has_capability(pid_t tid, unsigned int capability)
{
	char buffer[2048];
	const char *caps = NULL;

	if (tid > 0 && read_proc_file(tid, "status", buffer, sizeof(buffer)) > 0)
		caps = find_line(buffer, "CapEff:");
	return caps && strtoull(caps, NULL, 16) & 1ull << capability;
}

bool caller_may_overhear(pid_t tid)
{
	return has_capability(tid, CAP_SYS_PTRACE) || !has_capability(getpid(), CAP_SYS_PTRACE);
}

u32 caller_core(pid_t tid)
{
	char buffer[1024];
	const char *at;

	if (read_proc_file(tid, "stat", buffer, sizeof(buffer)) <= 0)
		return 0;
	/* the name may contain spaces and parentheses; behind it comes field 3, the state */
	at = strrchr(buffer, ')');
	for (unsigned int field = 2; at && field < STAT_CORE; field++)
		at = strchr(at + 1, ' ');
	return at ? (u32)strtoul(at, NULL, 10) + 1 : 0;
}

static u64 namespace_of(pid_t pid, const char *kind)
{
	char path[48];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kind);
	return stat(path, &st) ? 0 : st.st_ino;
}

static int read_id_map(pid_t pid, struct host_proc *proc)
{
	struct host_id_range *ranges;
	char *buffer = malloc(16384);
	char *line = buffer;
	u32 nr = 0;
	int used;

	proc->nr_id_ranges = 0;
	proc->id_ranges = NULL;
	ranges = calloc(ID_RANGES_MAX, sizeof(*ranges));
	if (!buffer || !ranges || read_proc_file(pid, "uid_map", buffer, 16384) < 0) {
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
	proc->id_ranges = realloc(ranges, (nr ? nr : 1) * sizeof(*ranges));
	return proc->id_ranges ? 0 : -ENOMEM;
}

static u64 own_user_ns(void)
{
	static _Atomic u64 own;

	if (!own)
		own = namespace_of(getpid(), "user");
	return own;
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

/*
 * A namespace that cannot be examined belongs to a process that the daemon cannot serve, because it
 * cannot read its memory either, or to one that has ended: all of them count as one user. The
 * kernel numbers namespaces from 0xf0000000 on, where there are no users.
 */
u32 caller_charged_uid(pid_t tid, u32 uid)
{
	u64 own = own_user_ns();
	uid_t owner = NO_UID;
	struct stat st;
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && st.st_ino == own) {
		close(fd);
		return uid;
	}
	fd = fd < 0 ? fd : outermost_below(fd, own);
	if (fd < 0 || ioctl(fd, NS_GET_OWNER_UID, &owner) || fstat(fd, &st))
		owner = NO_UID;
	else if (!users_is_limited(owner))
		owner = (u32)st.st_ino;
	if (fd >= 0)
		close(fd);
	return owner;
}

/*
 * As in the stock driver, of the thread that opens the device, and at that time: a process may
 * change its context later, and the open is then still that of the former one. What cannot be read
 * counts as no context; so does what does not fit, for a part of a context is another one.
 */
static int read_context(pid_t tid, struct host_proc *proc)
{
	char buffer[CONTEXT_MAX + 2];
	ssize_t got;

	proc->context = NULL;
	if (!has_contexts)
		return 0;
	got = read_proc_file(tid, "attr/current", buffer, sizeof(buffer));
	if (got <= 0 || got > (ssize_t)CONTEXT_MAX)
		return 0;
	proc->context = strdup(buffer);
	return proc->context ? 0 : -ENOMEM;
}

int caller_identify(pid_t tid, struct host_proc *proc)
{
	int error;

	if (tid <= 0)
		return -EACCES;
	error = read_status(tid, proc);
	if (error)
		return error;
	proc->opener = tid;
	proc->pid_ns = proc->nr_levels > 1 ? namespace_of(proc->pid, "pid") : 0;
	if (namespace_of(proc->pid, "user") != own_user_ns()) {
		proc->may_raise = false;
		error = read_id_map(proc->pid, proc);
		if (error)
			return error;
	}
	error = read_context(tid, proc);
	if (error) {
		caller_free_identity(proc);
		return error;
	}
	proc->pidfd = (int)syscall(SYS_pidfd_open, proc->pid, 0);
	if (proc->pidfd >= 0 || errno == ENOSYS)
		return 0;
	error = errno == EMFILE || errno == ENFILE ? -EMFILE : -EACCES;
	caller_free_identity(proc);
	return error;
}

void caller_free_identity(struct host_proc *proc)
{
	free(proc->id_ranges);
	proc->id_ranges = NULL;
	free(proc->context);
	proc->context = NULL;
	if (proc->pidfd >= 0)
		close(proc->pidfd);
	proc->pidfd = -1;
}

void caller_identity_moved(struct host_proc *proc)
{
	proc->id_ranges = NULL;
	proc->context = NULL;
	proc->pidfd = -1;
}

bool caller_is_thread_of(pid_t tid, pid_t pid)
{
	return !syscall(SYS_tgkill, pid, tid, 0) || errno == EPERM;
}

bool caller_exists(pid_t tid)
{
	return sched_getscheduler(tid) >= 0 || errno != ESRCH;
}

bool caller_is_dying(pid_t tid)
{
	char buffer[2048];
	const char *pending;

	if (read_proc_file(tid, "status", buffer, sizeof(buffer)) <= 0)
		return true;
	pending = find_line(buffer, "SigPnd:");
	/* a fatal signal of any kind makes SIGKILL pending in each thread */
	return pending && (strtoull(pending, NULL, 16) & 1u << (SIGKILL - 1));
}

pid_t caller_process_of(pid_t tid)
{
	struct host_proc proc = { 0 };

	return read_status(tid, &proc) ? 0 : proc.pid;
}

/* ESRCH: it is dead, and was waited for by its parent, so its number may have a new owner. */
static bool opener_is_gone(const struct host_proc *proc)
{
	return proc->pidfd >= 0 && syscall(SYS_pidfd_send_signal, proc->pidfd, 0, NULL, 0) &&
	       errno == ESRCH;
}

void caller_note_thread(struct host_proc *proc, pid_t tid)
{
	/* in this order: the opener, if it lives afterwards, also had its number before */
	if (!caller_is_thread_of(tid, proc->pid) || opener_is_gone(proc))
		atomic_store(&proc->is_shared, true);
}

/*
 * Processes in different namespaces of the same depth do not see each other. A dead opener has no
 * pid, as with the stock driver. As long as only its own threads call, and the watcher has not
 * seen it die, it lives, and no system call is needed.
 */
s32 caller_pid_seen_by(const struct host_proc *subject, const struct host_proc *viewer)
{
	if ((atomic_load_explicit(&subject->is_shared, memory_order_relaxed) ||
	     atomic_load_explicit(&subject->gone, memory_order_relaxed)) &&
	    opener_is_gone(subject))
		return 0;
	if (viewer->nr_levels <= 1)
		return subject->pid;
	if (subject->nr_levels != viewer->nr_levels || subject->pid_ns != viewer->pid_ns)
		return 0;
	return subject->pids[viewer->nr_levels - 1];
}

u32 caller_uid_seen_by(u32 uid, const struct host_proc *viewer)
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

/*
 * A thread that is blocked in a request exists until the reply, but its memory is released if it
 * is killed: ESRCH.
 */
static int copy_result(ssize_t got, size_t size)
{
	if (got == (ssize_t)size)
		return 0;
	return got < 0 && errno == ESRCH ? -ESRCH : -EFAULT;
}

int caller_read(pid_t tid, void *dst, u64 src, size_t size)
{
	struct iovec here = { dst, size };
	struct iovec there = { (void *)(uintptr_t)src, size };

	if (!size)
		return 0;
	return copy_result(process_vm_readv(tid, &here, 1, &there, 1, 0), size);
}

int caller_write(pid_t tid, u64 dst, const void *src, size_t size)
{
	struct iovec here = { (void *)src, size };
	struct iovec there = { (void *)(uintptr_t)dst, size };

	if (!size)
		return 0;
	return copy_result(process_vm_writev(tid, &here, 1, &there, 1, 0), size);
}

static bool is_real_time(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

/* The first version of struct sched_attr, which the C library does not declare. */
struct sched_attributes {
	u32 size;
	u32 policy;
	u64 flags;
	s32 nice;
	u32 priority;
	u64 runtime;
	u64 deadline;
	u64 period;
};

void caller_get_priority(pid_t tid, u8 *policy, s8 *prio)
{
	struct sched_attributes attributes = { 0 };

	/* one system call for both: this runs for every transaction */
	syscall(SYS_sched_getattr, tid, &attributes, sizeof(attributes), 0);
	*policy = (u8)attributes.policy;
	*prio = is_real_time((int)attributes.policy) ? (s8)attributes.priority
						     : (s8)attributes.nice;
}

/*
 * Limits a priority to what the thread may set itself. RLIMIT_NICE counts 20 - nice; 0 permits no
 * nice value at all, as in the stock driver. False: no change is permitted.
 */
static bool limit_priority(pid_t tid, u8 *policy, s8 *prio)
{
	struct rlimit limit;

	if (is_real_time(*policy)) {
		if (prlimit(tid, RLIMIT_RTPRIO, NULL, &limit))
			return false;
		if (limit.rlim_cur >= (rlim_t)*prio)
			return true;
		*prio = (s8)limit.rlim_cur;
		if (*prio)
			return true;
		*policy = SCHED_OTHER;
		*prio = -20;
	}
	if (prlimit(tid, RLIMIT_NICE, NULL, &limit) || !limit.rlim_cur)
		return false;
	if (limit.rlim_cur < 40 && *prio < 20 - (s8)limit.rlim_cur)
		*prio = (s8)(20 - (s8)limit.rlim_cur);
	return true;
}

/* CAP_SYS_NICE was read at open; a process that changed its user id since has usually lost it. */
static bool is_privileged(const struct host_thread *thread)
{
	return thread->proc->may_raise && thread->euid == thread->proc->euid;
}

void caller_set_priority(struct host_thread *thread, u8 policy, s8 prio, bool check)
{
	struct sched_param param = { 0 };
	bool real_time;

	if (thread->exited || worker_was_aborted(thread->unique))
		return;
	if (check && !is_privileged(thread) && !limit_priority(thread->tid, &policy, &prio))
		return;
	real_time = is_real_time(policy);
	if (real_time) {
		param.sched_priority = prio;
		sched_setscheduler(thread->tid, policy | SCHED_RESET_ON_FORK, &param);
	} else {
		if (is_real_time(sched_getscheduler(thread->tid) & ~SCHED_RESET_ON_FORK))
			sched_setscheduler(thread->tid, policy, &param);
		setpriority(PRIO_PROCESS, (id_t)thread->tid, prio);
	}
}
