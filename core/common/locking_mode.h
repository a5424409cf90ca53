/* SPDX-License-Identifier: GPL-2.0 */
/*
 * regime: how calls into the engine are kept from disturbing each other, chosen once, by name, for
 * measuring what the choice is worth.
 *
 *   fine		  by the locks of the things that they touch (docs/LOCKING.md)
 *   global		  besides, by one mutex around each entry of core.h, dropped while a call
 *			  waits, as Binder was before it had fine-grained locks
 *   global-nopreempt	  the same, and whoever holds the mutex stays on its CPU, as some shipped it
 *			  then; only where the home can do that
 *
 * Outside the mutex stays what must not wait for it (binder_shrink: its caller may be inside a
 * call; binder_flush: the engine may close a file that is a device of its own; mmap, under the
 * process's mmap_lock), and what only counts, looks a thread up or reports.  The fine locks stay
 * in use under it.
 */
#ifndef BINDER_LOCKING_MODE_H
#define BINDER_LOCKING_MODE_H

#include "common/lock.h"

enum binder_locking_mode { LOCKING_FINE, LOCKING_GLOBAL, LOCKING_GLOBAL_NOPREEMPT, LOCKING_COUNT };

/* False: there is none of this name. */
bool binder_locking_mode_parse(const char *name, enum binder_locking_mode *regime);
const char *binder_locking_mode_name(enum binder_locking_mode regime);

/* By the home, before anything else of the engine is called; what its host_locking_is_global() says
 * must agree. */
void binder_locking_mode_choose(enum binder_locking_mode regime);
enum binder_locking_mode binder_locking_mode_chosen(void);

/* Part of binder_world_init(). */
void binder_locking_mode_init(void);

/* Around each entry.  May sleep; no lock held.  They do not nest. */
void binder_locking_mode_lock(void);
void binder_locking_mode_unlock(void);

static inline void binder_locking_mode_enter(void)
{
	if (host_locking_is_global())
		binder_locking_mode_lock();
}

static inline void binder_locking_mode_leave(void)
{
	if (host_locking_is_global())
		binder_locking_mode_unlock();
}

#endif
