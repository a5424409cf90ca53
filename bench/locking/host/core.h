/* SPDX-License-Identifier: GPL-2.0 */
/* core/core.h for a host: its calls into the engine are under the mutex of the locking mode. */
#ifndef BENCH_LOCKING_CORE_H
#define BENCH_LOCKING_CORE_H

#include_next "core.h"

#include "locking.h"

/* A scope under the mutex. */
#define UNDER_MUTEX bool entered_ __attribute__((cleanup(locking_leave))) = locking_enter()

static inline int locking_open(struct binder_context *context, const void *opener,
			       struct binder_proc **proc)
{
	UNDER_MUTEX;
	return binder_open(context, opener, proc);
}

static inline void locking_release(struct binder_proc *proc)
{
	UNDER_MUTEX;
	binder_release(proc);
}

static inline int locking_ioctl(struct binder_thread *thread, u32 cmd, void *arg, bool nonblock)
{
	UNDER_MUTEX;
	return binder_ioctl(thread, cmd, arg, nonblock);
}

static inline int locking_write_read(struct binder_thread *thread, struct binder_write_read *bwr,
				     bool nonblock)
{
	UNDER_MUTEX;
	return binder_write_read(thread, bwr, nonblock);
}

static inline int locking_resume(struct binder_thread *thread, u32 cmd, void *arg,
				 enum binder_resume_reason reason)
{
	UNDER_MUTEX;
	return binder_resume(thread, cmd, arg, reason);
}

static inline bool locking_poll(struct binder_thread *thread)
{
	UNDER_MUTEX;
	return binder_poll(thread);
}

/* Not the tracepoint of the name binder_ioctl. The arguments are evaluated without the mutex. */
#define binder_open(...) locking_open(__VA_ARGS__)
#define binder_release(...) locking_release(__VA_ARGS__)
#define binder_ioctl(...) locking_ioctl(__VA_ARGS__)
#define binder_write_read(...) locking_write_read(__VA_ARGS__)
#define binder_resume(...) locking_resume(__VA_ARGS__)
#define binder_poll(...) locking_poll(__VA_ARGS__)

#endif
