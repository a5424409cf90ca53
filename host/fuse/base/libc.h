/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What glibc has and other C libraries, or older versions of them, lack.
 */
#ifndef HOST_FUSE_LIBC_H
#define HOST_FUSE_LIBC_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#include <sys/rseq.h>
#endif
#ifndef STATX_INO
#include <linux/stat.h>
#endif
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

/* closefrom(): closes all descriptors from @lowest on. */
static inline void close_from(int lowest)
{
#ifdef __GLIBC__
	closefrom(lowest);
#else
	/* Linux 5.9 */
	if (syscall(SYS_close_range, lowest, ~0U, 0))
		for (int fd = lowest; fd < sysconf(_SC_OPEN_MAX); fd++)
			close(fd);
#endif
}

/* tgkill(). */
static inline int kill_thread(pid_t process, pid_t thread, int sig)
{
	return syscall(SYS_tgkill, process, thread, sig);
}

/*
 * pidfd_open(): of a thread, which may have a descriptor table of its own, and whose process has no
 * other one if its first thread has ended; before Linux 6.9 of the process. Returns it, or a
 * negative errno.
 */
static inline int open_pidfd(pid_t process, pid_t thread)
{
	int fd = syscall(SYS_pidfd_open, thread, PIDFD_THREAD);

	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_pidfd_open, process, 0);
	return fd < 0 ? -errno : fd;
}

/* sched_getscheduler() and sched_setscheduler(), which fail in musl. */
static inline int get_scheduler(pid_t thread)
{
	return syscall(SYS_sched_getscheduler, thread);
}

static inline int set_scheduler(pid_t thread, int policy, const struct sched_param *param)
{
	return syscall(SYS_sched_setscheduler, thread, policy, param);
}

/* statx(). */
static inline int stat_more(int dir, const char *path, int flags, unsigned int mask,
			    struct statx *found)
{
	return syscall(SYS_statx, dir, path, flags, mask, found);
}

/* malloc_trim(0): returns free memory to the kernel, which musl does by itself. */
static inline void trim_memory(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

/*
 * glibc has the kernel store each thread's CPU number in the thread's memory, for sched_getcpu(3),
 * which can ask the processor instead (affinity.c does once for each request). The kernel writes it
 * after every context switch, of which a request takes two: unregister it. (A library that
 * registered another size keeps it.)
 */
static inline void drop_rseq(void)
{
#ifdef __GLIBC__
	if (__rseq_size)
		syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset,
			sizeof(struct rseq), RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
#endif
}

#endif
