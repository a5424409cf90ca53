/* SPDX-License-Identifier: GPL-2.0 */
/*
 * locking mode: how concurrent calls into the engine are serialised; chosen once, by name,
 * to measure what the choice is worth.
 *
 *   fine		  by the locks of the objects that a call touches (docs/LOCKING.md)
 *   global		  in addition by one mutex around each entry of core.h, released while a
 *			  call waits, as in Binder before it had fine-grained locks
 *   global-nopreempt	  the same, and the owner of the mutex is not preempted; only where
 *			  the host supports that
 *
 * Not under the mutex: binder_shrink() (its caller may be inside a call), binder_flush()
 * (the engine may close a file that is a device of its own), binder_mmap() (under the
 * process's mmap_lock), and what only counts, looks up a thread or prints a report.
 */
#ifndef BINDER_LOCKING_MODE_H
#define BINDER_LOCKING_MODE_H

#include "host.h"

enum binder_locking_mode { LOCKING_FINE, LOCKING_GLOBAL, LOCKING_GLOBAL_NOPREEMPT, LOCKING_COUNT };

/* Returns false if no mode has this name. */
bool binder_locking_mode_parse(const char *name, enum binder_locking_mode *mode);
const char *binder_locking_mode_name(enum binder_locking_mode mode);

/*
 * Called by the host before any other function of the engine; host_locking_is_global()
 * must agree.
 */
void binder_locking_mode_choose(enum binder_locking_mode mode);
enum binder_locking_mode binder_locking_mode_chosen(void);

/* The mutex. Not recursive; may sleep; no lock held. */
void binder_global_lock(void);
void binder_global_unlock(void);

/* Around each entry. */
static inline void binder_enter(void)
{
	if (host_locking_is_global())
		binder_global_lock();
}

static inline void binder_leave(void)
{
	if (host_locking_is_global())
		binder_global_unlock();
}

#endif
