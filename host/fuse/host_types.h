/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The types of the host contract (host/host.h) in the userspace home.
 *
 * The engine includes this header through host.h, so it holds plain data and no daemon header.
 */
#ifndef HOST_FUSE_HOST_TYPES_H
#define HOST_FUSE_HOST_TYPES_H

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
typedef unsigned long long u64;	/* so that the engine's %llu fits */
typedef int8_t s8;
typedef int32_t s32;
typedef long long s64;

/*
 * Both kinds of lock are one word: 0 free, 1 held, 2 held and somebody sleeps in futex(2). Workers
 * can be preempted with a lock held, so even the short ones must be able to sleep.
 */
struct host_lock_word {
	atomic_uint word;
};

struct host_spinlock {
	struct host_lock_word lock;
};

/* Seldom taken, so the library's will do. */
struct host_pi_mutex {
	pthread_mutex_t lock;
};

struct host_atomic {
	atomic_int value;
};

/* What user ids a namespace knows: [inside, inside + count) is [outside, ...) of the daemon's. */
struct host_id_range {
	u32 inside;
	u32 outside;
	u32 count;
};

/* How deep pid namespaces below the daemon's may nest for numbers to be translated. */
#define HOST_PID_LEVELS 4

struct binder_file;

/* One open of a device: who opened it. Filled at OPEN (caller.c), constant from then on ... */
struct host_proc {
	s32 pid;			/* process number in the daemon's pid namespace */
	s32 opener;			/* the thread that opened */
	u32 euid;			/* effective user id at OPEN, of the daemon's namespace */
	bool may_raise;			/* CAP_SYS_NICE in the daemon's user namespace, at OPEN */
	u32 nr_levels;			/* pid namespaces from the daemon's down to its own */
	s32 pids[HOST_PID_LEVELS];	/* its number in each; pids[0] == pid */
	u64 pid_ns;			/* inode number of its pid namespace */
	u32 nr_id_ranges;		/* 0: user ids are the daemon's own */
	struct host_id_range *id_ranges;
	int pidfd;			/* of the process; -1 where the kernel has none */
	u64 nodeid;			/* FUSE inode of this open, as seen in /proc/PID/maps */
	struct binder_file *file;	/* valid during a call, and while the open lives */

	/* ... except for what poll needs (park.c). */
	_Atomic u64 poll_handle;	/* the kernel's name of the polled file */
	atomic_bool poll_armed;		/* somebody waits for a notice */
	atomic_bool poll_queued;	/* on the list of a worker that will notify */
	struct host_proc *next_polled;	/* in that list */
	atomic_bool gone;		/* the process died: there is no mapping any more */
	atomic_bool ended;		/* the open is over: nothing may be parked any more */
};

struct host_map {
	char *memory;			/* the daemon's mapping of the buffer file */
	int backing_id;			/* the kernel's registration of that file; -1: none */
	u64 nodeid;
	const struct host_proc *proc;
	u64 retry_ns;			/* earliest time of the next search for the mapping */
};

/* Room for the argument of every ioctl of the ABI; the largest has 48 bytes. */
#define HOST_ARG_SIZE 64

struct pending_files;

/* A calling thread, and its request while it waits (park.c). */
struct host_thread {
	s32 tid;
	u32 euid;			/* of the present call */
	struct host_proc *proc;

	atomic_uint state;		/* enum park_state */
	bool interrupted;		/* a signal came while the call was not parked */
	u32 cmd;			/* of the present call */
	u32 out_size;
	u64 unique;			/* the kernel's name of the request */
	u64 deadline_ns;		/* of the wait; 0: none */
	_Alignas(8) char arg[HOST_ARG_SIZE];
	struct host_thread *next_woken;	/* in the list of the worker that woke it */
	struct host_thread *next_parked;	/* in its bucket of parked requests */
	struct host_thread **parked_slot;

	struct pending_files *files;	/* on their way into this process (files.c) */
};

struct host_file {
	int fd;				/* the daemon's duplicate */
	u32 uid;			/* the user who is charged for it */
};

struct host_out {
	void *text;			/* struct text */
};

#endif
