/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The types of the host contract (host/host.h) in the daemon.
 *
 * The engine includes this header through host.h, so it contains only data types.
 */
#ifndef HOST_FUSE_HOST_TYPES_H
#define HOST_FUSE_HOST_TYPES_H

#include "userspace_atomics.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64; /* so that the engine's %llu fits */
typedef int8_t s8;
typedef int32_t s32;
typedef long long s64;

#define HOST_HANDS_OVER

/* 0: free, 1: held. A holder can be preempted; waiters spin, yield and nap (locks.c). */
struct host_spinlock {
	atomic_uint word;
};

struct host_pi_mutex {
	pthread_mutex_t lock;
};

struct host_atomic {
	atomic_int value;
};

/* User ids of a namespace: [inside, inside + count) are [outside, ...) in that of the daemon. */
struct host_id_range {
	u32 inside;
	u32 outside;
	u32 count;
};

/* Levels of nested pid namespaces below the daemon's for which pids are translated. */
#define HOST_PID_LEVELS 4

struct account;
struct open_file;

/* Bytes that each open takes besides what the engine allocates for it. */
#define HOST_PROC_MEMORY 8192

/* One open of a device. */
struct host_proc {
	/* The process that opened the device: set at OPEN (opener_identity.c), then constant. */
	s32 pid;			/* in the daemon's pid namespace */
	s32 opener;			/* the thread that opened it */
	u32 euid;			/* effective user id, in the daemon's user namespace */
	u32 charged_uid;		/* the user charged for it: namespaces_charged_uid() */
	struct account *account;	/* of that user (user_account.h) */
	bool may_raise;			/* CAP_SYS_NICE in the daemon's user namespace */
	u32 nr_levels;			/* pid namespaces from the daemon's down to its own */
	s32 pids[HOST_PID_LEVELS];	/* its pid in each; pids[0] == pid */
	u64 pid_ns;			/* inode number of its pid namespace */
	u32 nr_id_ranges;		/* 0: in the daemon's user namespace */
	struct host_id_range *id_ranges;
	char *context;			/* its security context; NULL: none */
	int pidfd;			/* -1: the kernel has no pidfds */
	u64 open_id;			/* of this open; never reused */
	u64 nodeid;			/* its FUSE inode, as seen in /proc/PID/maps */
	bool bound;			/* it shares that inode with others (bound_open.h) */
	struct open_file *file;		/* valid during a call, and until the open ends */

	/* What the kernel wants to be notified of (worker_arm_poll()). */
	_Atomic u64 poll_handle;	/* the kernel's identifier of the polled file */
	atomic_bool poll_armed;		/* the kernel waits for a notification */
	atomic_bool poll_queued;	/* queued at a worker that will send it */
	struct host_proc *next_polled;	/* in that queue */

	atomic_bool is_shared;		/* threads of other processes have called */
	atomic_bool gone;		/* the process died: its mapping does not exist any more */
	atomic_bool ended;		/* the open ended: no call may be parked any more */
};

/* The kernel's size of a page, set in main(). x86-64 has one, arm64 has 4, 16 and 64 KiB. */
extern size_t daemon_page_size;
#ifdef __x86_64__
#define HOST_PAGE_SIZE ((size_t)4096)
#else
#define HOST_PAGE_SIZE daemon_page_size
#endif

/* Pages of a receive buffer, as many as the engine uses of a mapping when they are smallest. */
#define HOST_MAP_PAGES 1024

/* The longest mapping that is used, in bytes, as with the C driver. */
#define MAP_SIZE ((size_t)4 << 20)

struct host_map {
	_Atomic(char *) memory;		/* see map_memory() */
	int file;			/* that file, for a process that takes over; -1: none */
	_Atomic u64 charged[HOST_MAP_PAGES / 64];	/* a bit for each page that has memory */
	int backing_id;			/* of that file, for passthrough; -1: none */
	int client_memory;		/* /proc/PID/mem, of a bound open; else -1 */
	u64 base;			/* of a bound open: address of the client's mapping */
	_Atomic u64 provided[HOST_MAP_PAGES / 64];	/* of a bound open: a bit for each page */
	const struct host_proc *proc;
	u64 retry_ns;			/* earliest time of the next search for the mapping */
};

/* ---- a calling thread ---- */

/* Size of the largest ioctl argument, which has 48 bytes, and some spare. */
#define HOST_ARG_SIZE 64

/*
 * The request of the present call, an ioctl, and between two calls that of the last one.
 * call_begin() fills it, and whoever owns the call reads it; the engine writes the argument's
 * result to @arg.
 */
struct call_request {
	u64 unique;			/* the kernel's number of the request */
	u32 euid;			/* of the caller, in the daemon's user namespace */
	u32 cmd;
	u32 out_size;			/* bytes of @arg that the reply copies back */
	u32 stamp;			/* the period of its begin (expire.h) */
	u64 address;			/* of the argument in the caller's memory */
	_Alignas(8) char arg[HOST_ARG_SIZE];
};

/*
 * Where the call waits without a thread of the daemon; for park.c. @state decides by
 * compare-and-exchange who owns the call. The lock of the call's bucket guards @interrupted and the
 * links; @deadline_ns belongs to the owner of the call until it is parked.
 */
struct park_slot {
	atomic_uint state;		/* enum park_state */
	bool interrupted;		/* an INTERRUPT came while the call was not parked */
	u64 deadline_ns;		/* of the wait; 0: none */
	struct host_thread *next;	/* in its bucket of requests */
	struct host_thread **slot;	/* NULL: in none */
};

/* On which core the thread calls; for affinity.c. The owner of the call writes it, for workers. */
struct caller_core {
	u32 nr_calls;			/* which wraps */
	u32 core;			/* where it last ran, plus 1; 0: not known */
};

/* Something to be done later: at a worker (worker.h), or by a thread of its own (worker_pool.h). */
struct work {
	struct work *next;
	void (*run)(struct work *work);
};

/*
 * What the call needs in the queue of a worker, which owns it there; for worker.c. The lock of that
 * worker guards @next; the rest is written before the call is queued.
 */
struct woken_call {
	struct host_thread *next;
	bool is_complete;		/* the worker only replies, with @result */
	int result;
	struct work release;		/* when the last reference to the thread is gone */
};

/* A call or a request in a queue that is fair between users (backlog.h). */
struct fair_item {
	struct fair_item *next;		/* of the same user */
	struct fair_item *next_user;
	struct fair_item *last_of_user;
	u32 uid;
	bool is_request;		/* else a call: in a struct host_thread */
};

/*
 * What the call needs in the backlog or the slow lane, which owns it there. The lock of the queue
 * guards @item; the rest is written before the call is queued.
 */
struct queued_call {
	struct fair_item item;
	bool not_begun;			/* the engine has not seen the call */
	u8 resume_reason;		/* else: what it is to be resumed for */
};

struct host_file;
struct pending_fds;

/*
 * A calling thread, and what each part of the daemon keeps for its call. A call is owned by one
 * thread of the daemon or one queue at a time.
 */
struct host_thread {
	s32 tid;
	bool exited;			/* its number may be that of another thread */
	struct host_proc *proc;
	struct park_slot park;
	struct call_request request;
	struct caller_core affinity;
	struct woken_call woken;
	struct queued_call queued;
	struct pending_fds *fds;	/* fds.h; NULL: nothing is pending */
};

struct text;

struct host_out {
	struct text *text;
};

#endif
