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
#ifndef BINDER_REGIME_H
#define BINDER_REGIME_H

#include "lock.h"

enum binder_regime { REGIME_FINE, REGIME_GLOBAL, REGIME_GLOBAL_NOPREEMPT, REGIME_COUNT };

/* False: there is none of this name. */
bool binder_regime_parse(const char *name, enum binder_regime *regime);
const char *binder_regime_name(enum binder_regime regime);

/* By the home, before anything else of the engine is called; what its host_regime_is_global() says
 * must agree. */
void binder_regime_choose(enum binder_regime regime);
enum binder_regime binder_regime_chosen(void);

/* Part of binder_world_init(). */
void binder_regime_init(void);

/* Around each entry.  May sleep; no lock held.  They do not nest. */
void binder_regime_lock(void);
void binder_regime_unlock(void);

static inline void binder_regime_enter(void)
{
	if (host_regime_is_global())
		binder_regime_lock();
}

static inline void binder_regime_leave(void)
{
	if (host_regime_is_global())
		binder_regime_unlock();
}

#endif
