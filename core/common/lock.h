/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine's locks: their ranks, and the annotations that state the rules to the
 * compiler. docs/LOCKING.md explains them.
 *
 * A lock of a lower rank is taken before one of a higher rank. Two locks of one rank
 * are never nested. Nothing is allocated, freed, copied from or to a caller, logged or
 * destroyed with a spinlock held.
 *
 * The suffix of a function states the lock that its caller holds: _ilocked the
 * inner_lock of a process, _olocked its outer_lock, _nlocked the lock of a node. Its
 * declaration says the same by REQUIRES(), which clang checks (-Wthread-safety), and it
 * begins with binder_assert_held(), which builds with BINDER_DEBUG check at run time.
 */
#ifndef BINDER_LOCK_H
#define BINDER_LOCK_H

#include "host.h"

#if defined(__clang__)
#define TSA(x) __attribute__((x))
#else
#define TSA(x)
#endif

#define LOCKABLE	   TSA(capability("lock"))
#define GUARDED_BY(...)	   TSA(guarded_by(__VA_ARGS__))
#define EXCLUDES(...)	   TSA(locks_excluded(__VA_ARGS__))
#define TRY_ACQUIRE(...)   TSA(try_acquire_capability(__VA_ARGS__))
#define ASSERTS(...)	   TSA(assert_capability(__VA_ARGS__))
#define NO_TSA		   TSA(no_thread_safety_analysis)
#if defined(__CHECKER__) /* sparse counts locks */
#define REQUIRES(...)	   __attribute__((context(__VA_ARGS__, 1, 1)))
#define ACQUIRE_LOCK(...)  __attribute__((context(__VA_ARGS__, 0, 1)))
#define RELEASE_LOCK(...)  __attribute__((context(__VA_ARGS__, 1, 0)))
#define RELEASED(lock)	   __context__(lock, -1)
#else
#define REQUIRES(...)	   TSA(requires_capability(__VA_ARGS__))
#define ACQUIRE_LOCK(...)  TSA(acquire_capability(__VA_ARGS__))
#define RELEASE_LOCK(...)  TSA(release_capability(__VA_ARGS__))
#define RELEASED(lock)	   ((void)0) /* released by a function called through a pointer */
#endif

/*
 * Marked loads and stores of one word without its lock, for functions named *_racy,
 * where a stale value does no harm; each says why.
 */
#define BINDER_READ_ONCE(x)	  host_read_once(x)
#define BINDER_WRITE_ONCE(x, v)  host_write_once(x, v)

/* Outermost first. */
enum binder_lock_rank {
	RANK_WORLD = 1,	  /* PI mutex: the lists of processes and dead nodes */
	RANK_PAGES,	  /* PI mutex: eviction of pages of one map */
	RANK_CONTEXT,	  /* the manager of a context */
	RANK_OUTER,	  /* proc->outer_lock: references of a process */
	RANK_NODE,	  /* node->lock: one node */
	RANK_INNER,	  /* proc->inner_lock: threads, nodes, todo lists */
	RANK_TRANSACTION, /* leaf: the sender of a transaction */
	RANK_ALLOC,	  /* leaf: buffer space of a process */
	RANK_LOG,	  /* leaf: a ring of a transaction log */
	RANK_COUNT,
};

struct LOCKABLE binder_lock {
	struct host_spinlock raw;
	enum binder_lock_rank rank;
};

/* The owner inherits the priority of the waiters. */
struct LOCKABLE binder_pi_mutex {
	struct host_pi_mutex raw;
	enum binder_lock_rank rank;
};

#ifdef BINDER_DEBUG
/* Bit R of *host_lock_ranks() is set while a lock of rank R is held. */
static inline void binder_rank_take(enum binder_lock_rank rank)
{
	u32 *held = host_lock_ranks();

	if (*held >> rank)
		__builtin_trap(); /* a lock of this rank or a later one is held */
	*held |= 1u << rank;
}

static inline void binder_rank_drop(enum binder_lock_rank rank)
{
	u32 *held = host_lock_ranks();

	if (!(*held & 1u << rank))
		__builtin_trap(); /* not held */
	*held &= ~(1u << rank);
}

static inline void binder_rank_assert(enum binder_lock_rank rank)
{
	if (!(*host_lock_ranks() & 1u << rank))
		__builtin_trap(); /* not held */
}

/* For operations that may sleep or free: no lock is held. */
static inline void binder_assert_unlocked(void)
{
	if (*host_lock_ranks())
		__builtin_trap();
}
#else
static inline void binder_rank_take(enum binder_lock_rank rank)
{
	(void)rank;
}

static inline void binder_rank_drop(enum binder_lock_rank rank)
{
	(void)rank;
}

static inline void binder_rank_assert(enum binder_lock_rank rank)
{
	(void)rank;
}

static inline void binder_assert_unlocked(void)
{
}
#endif

/* The caller holds @lock. */
static inline void binder_assert_held(const struct binder_lock *lock) ASSERTS(lock)
{
	binder_rank_assert(lock->rank);
}

/*
 * The object that @lock belongs to is not visible to other threads: yet, or any more. The
 * compiler then takes the lock for held.
 */
static inline void binder_assert_private(const struct binder_lock *lock) ASSERTS(lock)
{
}

/* The object is not visible to other threads yet. */
static inline void binder_lock_init(struct binder_lock *lock, enum binder_lock_rank rank)
	ASSERTS(lock)
{
	host_spin_init(&lock->raw, rank);
	lock->rank = rank;
}

static inline void binder_lock_destroy(struct binder_lock *lock)
{
	host_spin_destroy(&lock->raw);
}

/* The primitives below are not analysed: the raw lock of a host has no annotations. */

static inline void binder_lock(struct binder_lock *lock) ACQUIRE_LOCK(lock) NO_TSA
{
	binder_rank_take(lock->rank);
	host_spin_lock(&lock->raw);
}

static inline void binder_unlock(struct binder_lock *lock) RELEASE_LOCK(lock) NO_TSA
{
	binder_rank_drop(lock->rank);
	host_spin_unlock(&lock->raw);
}

static inline void binder_pi_mutex_init(struct binder_pi_mutex *lock, enum binder_lock_rank rank)
	ASSERTS(lock)
{
	host_pi_mutex_init(&lock->raw, rank);
	lock->rank = rank;
}

static inline void binder_pi_mutex_destroy(struct binder_pi_mutex *lock)
{
	host_pi_mutex_destroy(&lock->raw);
}

static inline void binder_pi_mutex_lock(struct binder_pi_mutex *lock) ACQUIRE_LOCK(lock) NO_TSA
{
	binder_rank_take(lock->rank);
	host_pi_mutex_lock(&lock->raw);
}

/* Does not wait; false: the lock is taken. */
static inline bool binder_pi_mutex_trylock(struct binder_pi_mutex *lock)
	TRY_ACQUIRE(true, lock) NO_TSA
{
	if (!host_pi_mutex_trylock(&lock->raw))
		return false;
	binder_rank_take(lock->rank);
	return true;
}

static inline void binder_pi_mutex_unlock(struct binder_pi_mutex *lock) RELEASE_LOCK(lock) NO_TSA
{
	binder_rank_drop(lock->rank);
	host_pi_mutex_unlock(&lock->raw);
}

#endif
