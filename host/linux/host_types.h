/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The types of the host contract (host/host.h) in the kernel home.
 *
 * The engine includes this header through host.h, so it brings as little of the kernel as the types
 * need; whatever takes more stands in this directory's .c files.
 */
#ifndef HOST_LINUX_HOST_TYPES_H
#define HOST_LINUX_HOST_TYPES_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/rcuwait.h>
#include <linux/rtmutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

struct address_space;
struct cred;
struct mm_struct;
struct page;
struct seq_file;
struct task_struct;

struct host_spinlock {
	spinlock_t lock;
};

struct host_pi_mutex {
	struct rt_mutex lock;
};

struct host_atomic {
	atomic_t value;
};

/* One open of a device (who.c). */
struct host_proc {
	struct task_struct *task;	/* the opener's thread group leader, counted */
	const struct cred *cred;	/* of the open, counted */
	wait_queue_head_t poll_wait;	/* lives as long as the file, which every poller holds */
};

/* A calling thread. */
struct host_thread {
	struct rcuwait wait;	/* the thread, while it sleeps in an ioctl */
	bool woken;		/* host_wake() was called since the last sleep */
};

/* The pages of one receive buffer (map.c). */
struct host_map {
	s32 pid;			/* of the opener, for tracepoints */
	struct mm_struct *mm;		/* of the opener; its structure is counted, not its users */
	struct address_space *mapping;	/* of this open alone, so that unmapping hits nobody else */
	struct page **pages;		/* NULL before mmap; entries: NULL where none is */
	size_t nr;
	unsigned long base;		/* address in the process */
	unsigned long pgoff;		/* of the mapping in the file */
	bool present;
};

struct host_file;			/* a struct file in truth */

struct host_out {
	struct seq_file *seq;
};

#endif
