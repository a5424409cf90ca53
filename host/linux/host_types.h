/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The types of the contract (host/host.h) in the module. The engine includes this header through
 * host.h, so it includes only what the types need.
 */
#ifndef HOST_LINUX_HOST_TYPES_H
#define HOST_LINUX_HOST_TYPES_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/rtmutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <asm/page.h>

struct address_space;
struct cred;
struct file;
struct mm_struct;
struct page;
struct task_struct;

/* kmalloc() aligns what is larger than a cache line, unless slabs are being debugged. */
#define HOST_LINE_ALIGNED ____cacheline_aligned_in_smp

#define HOST_PAGE_SIZE PAGE_SIZE

/* Marked accesses. */
#define host_read_once(x)	    READ_ONCE(x)
#define host_write_once(x, v)	    WRITE_ONCE(x, v)
#define host_load_acquire(ptr)	    smp_load_acquire(ptr)
#define host_store_release(ptr, v)  smp_store_release(ptr, v)
#define host_xchg(ptr, v)	    xchg(ptr, v)

struct host_spinlock {
	spinlock_t lock;
};

struct host_pi_mutex {
	struct rt_mutex lock;
};

struct host_atomic {
	atomic_t value;
};

/* One open of a device (identity.c). */
struct host_proc {
	struct task_struct *task;	/* the thread group leader of the opener; a reference */
	struct file *file;		/* of the open; no reference */
	const struct cred *cred;	/* of the file; a reference */
	wait_queue_head_t poll_wait;	/* exists as long as the file, so longer than any poll */
};

/* A calling thread (wait.c, files.c). */
struct host_thread {
	wait_queue_head_t wait;
	struct wait_queue_entry entry; /* of the thread's task, a reference */
	bool woken;    /* host_wake() was called since the last sleep */
	bool sleeping; /* it sleeps, or is about to look at woken before it does */
	struct host_proc *proc;
	struct file *held_file; /* that of proc, a reference, once an ioctl has closed files */
};

/* The pages of one receive buffer (map.c). */
struct host_map {
	s32 pid;			/* of the opener, for tracepoints */
	struct mm_struct *mm;		/* of the opener; a reference to the structure only */
	struct address_space *mapping;	/* of this open only, so others are not unmapped with it */
	struct page **pages;		/* NULL before mmap; an entry is NULL without a page */
	size_t end;			/* behind the last page that there ever was */
	unsigned long base;		/* address in the process */
	unsigned long pgoff;		/* of the mapping in the file */
	bool present;
};

struct host_file;			/* stands for struct file */

/* The text of a report, as far as it fits (log.c). */
struct host_out {
	char *text;
	size_t len;
	size_t size;			/* of text, in bytes */
};

#endif
