// SPDX-License-Identifier: GPL-2.0
/*
 * A thread of a client, by its number. Payloads and command streams are copied directly between the
 * two address spaces, by process_vm_readv(2) and process_vm_writev(2).
 */
#include "clients/client_thread.h"

#include "base/gate.h"
#include "base/libc.h"
#include "workers/worker_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The field of /proc/TID/stat with the processor, counted from 1. */
#define STAT_CORE 39u

ssize_t client_thread_read_file(pid_t tid, const char *name, char *buffer, size_t size)
{
	char path[48];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = read(fd, buffer, size - 1);
	close(fd);
	if (got >= 0)
		buffer[got] = 0;
	return got;
}

const char *client_thread_line(const char *text, const char *key)
{
	size_t length = strlen(key);

	while (text && strncmp(text, key, length)) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + length : NULL;
}

bool client_thread_exists(pid_t tid)
{
	return get_scheduler(tid) >= 0 || errno != ESRCH;
}

bool client_thread_is_dying(pid_t tid)
{
	char buffer[2048];
	const char *pending;

	if (client_thread_read_file(tid, "status", buffer, sizeof(buffer)) <= 0)
		return true;
	pending = client_thread_line(buffer, "SigPnd:");
	/* a fatal signal of any kind makes SIGKILL pending in each thread */
	return pending && (strtoull(pending, NULL, 16) & 1u << (SIGKILL - 1));
}

/* Is the thread one of the process @pid? */
static bool is_of(pid_t tid, pid_t pid)
{
	return !syscall(SYS_tgkill, pid, tid, 0) || errno == EPERM;
}

pid_t client_thread_pid(const struct host_thread *thread)
{
	char buffer[2048];
	const char *tgid = NULL;

	if (is_of(thread->tid, thread->proc->pid))
		return thread->proc->pid;
	if (client_thread_read_file(thread->tid, "status", buffer, sizeof(buffer)) > 0)
		tgid = client_thread_line(buffer, "Tgid:");
	return tgid ? (pid_t)strtol(tgid, NULL, 10) : 0;
}

u32 client_thread_core(pid_t tid)
{
	char buffer[1024];
	const char *at;

	if (client_thread_read_file(tid, "stat", buffer, sizeof(buffer)) <= 0)
		return 0;
	/* the name may contain spaces and parentheses; behind it comes field 3, the state */
	at = strrchr(buffer, ')');
	for (unsigned int field = 2; at && field < STAT_CORE; field++)
		at = strchr(at + 1, ' ');
	return at ? (u32)strtoul(at, NULL, 10) + 1 : 0;
}

/* Is @capability, a number of capabilities(7), effective in the thread @tid? */
static bool has_capability(pid_t tid, unsigned int capability)
{
	char buffer[2048];
	const char *caps = NULL;

	if (tid > 0 && client_thread_read_file(tid, "status", buffer, sizeof(buffer)) > 0)
		caps = client_thread_line(buffer, "CapEff:");
	return caps && strtoull(caps, NULL, 16) & 1ull << capability;
}

bool client_thread_may_overhear(pid_t tid)
{
	return has_capability(tid, CAP_SYS_PTRACE) || !has_capability(getpid(), CAP_SYS_PTRACE);
}

/* A signal to the pidfd fails with ESRCH once the kernel has forgotten the process. */
bool client_thread_opener_is_gone(const struct host_proc *proc)
{
	return proc->pidfd >= 0 && syscall(SYS_pidfd_send_signal, proc->pidfd, 0, NULL, 0) &&
	       errno == ESRCH;
}

void client_thread_note(struct host_proc *proc, pid_t tid)
{
	/* in this order: the opener, if it lives afterwards, also had its number before */
	if (!is_of(tid, proc->pid) || client_thread_opener_is_gone(proc))
		atomic_store(&proc->is_shared, true);
}

/* ---- its memory ---- */

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

/* @copy: process_vm_readv or process_vm_writev */
static int copy_memory(__typeof__(process_vm_readv) *copy, pid_t tid, void *own, u64 address,
		       size_t size)
{
	struct iovec here = { own, size };
	struct iovec there = { (void *)(uintptr_t)address, size };
	unsigned int section;
	int error;

	if (!size)
		return 0;
	pool_begin_memory();
	section = gate_begin_client();
	error = copy_result(copy(tid, &here, 1, &there, 1, 0), size);
	gate_end_client(section);
	return error;
}

int client_thread_read(pid_t tid, void *dst, u64 src, size_t size)
{
	return copy_memory(process_vm_readv, tid, dst, src, size);
}

int client_thread_write(pid_t tid, u64 dst, const void *src, size_t size)
{
	return copy_memory(process_vm_writev, tid, (void *)src, dst, size);
}

/* ---- its scheduling ---- */

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

void client_thread_get_priority(pid_t tid, u8 *policy, s8 *prio)
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
 * nice value at all, as in the C driver. False: no change is permitted.
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
	return thread->proc->may_raise && thread->request.euid == thread->proc->euid;
}

void client_thread_set_priority(struct host_thread *thread, u8 policy, s8 prio, bool check)
{
	struct sched_param param = { 0 };
	bool real_time;

	if (thread->exited || worker_was_aborted(thread->request.unique))
		return;
	if (check && !is_privileged(thread) && !limit_priority(thread->tid, &policy, &prio))
		return;
	real_time = is_real_time(policy);
	if (real_time) {
		param.sched_priority = prio;
		set_scheduler(thread->tid, policy | SCHED_RESET_ON_FORK, &param);
	} else {
		if (is_real_time(get_scheduler(thread->tid) & ~SCHED_RESET_ON_FORK))
			set_scheduler(thread->tid, policy, &param);
		setpriority(PRIO_PROCESS, (id_t)thread->tid, prio);
	}
}
