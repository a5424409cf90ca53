/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine's locks: their classes, their order, and the words in which the
 * rules are said to the compiler.  docs/LOCKING.md tells the story.
 *
 * A spinlock of a lower rank is taken before one of a higher rank.  Two locks
 * of one rank are never held together.  Under any of them nothing is
 * allocated, freed, copied from or to a caller, logged or destroyed.
 *
 * clang checks GUARDED_BY, REQUIRES and the rest (-Wthread-safety; `make
 * lint`); in builds with BINDER_DEBUG every lock operation also checks the
 * order at run time.
 */
#ifndef BINDER_LOCK_H
#define BINDER_LOCK_H

#include "host.h"

#if defined(__clang__)
#define TSA(x) __attribute__((x))
#else
#define TSA(x)
#endif

#define LOCKABLE	  TSA(capability("lock"))
#define GUARDED_BY(...)	  TSA(guarded_by(__VA_ARGS__))
#define PT_GUARDED_BY(...) TSA(pt_guarded_by(__VA_ARGS__))
#define EXCLUDES(...)	  TSA(locks_excluded(__VA_ARGS__))
#if defined(__CHECKER__) /* sparse counts locks, and is told where a function begins with one */
#define REQUIRES(...)	  __attribute__((context(__VA_ARGS__, 1, 1)))
#define ACQUIRE(...)	  __attribute__((context(__VA_ARGS__, 0, 1)))
#define RELEASE(...)	  __attribute__((context(__VA_ARGS__, 1, 0)))
#define RELEASED(lock)	  __context__(lock, -1)
#else
#define REQUIRES(...)	  TSA(requires_capability(__VA_ARGS__))
#define ACQUIRE(...)	  TSA(acquire_capability(__VA_ARGS__))
#define RELEASE(...)	  TSA(release_capability(__VA_ARGS__))
#define RELEASED(lock)	  ((void)0) /* by a function that was called through a pointer */
#endif
#define TRY_ACQUIRE(...)  TSA(try_acquire_capability(__VA_ARGS__))
#define NO_TSA		  TSA(no_thread_safety_analysis)

/* Marks a function that looks at a guarded field without its lock, one word, to
 * save taking the lock where the answer is nearly always "nothing to do"; it says
 * why being a moment late is no harm.  (Not for the race detector to report.) */
#define PEEKS NO_TSA __attribute__((no_sanitize("thread")))

/* The ranks, outermost first. */
enum binder_lock_rank {
	RANK_GLOBAL = 1,  /* mutex: all calls, in some regimes (regime.h) */
	RANK_WORLD,	  /* PI mutex: which processes and contexts exist */
	RANK_PAGES,	  /* PI mutex: pages of one map are being given back */
	RANK_CONTEXT,	  /* who manages a context */
	RANK_OUTER,	  /* proc->outer_lock: references of a process */
	RANK_NODE,	  /* node->lock: one node */
	RANK_INNER,	  /* proc->inner_lock: threads, nodes, todo lists */
	RANK_TRANSACTION, /* leaf: who sent a transaction */
	RANK_ALLOC,	  /* leaf: buffer space of a process */
	RANK_LOG,	  /* leaf: the transaction logs */
	RANK_COUNT,
};

struct LOCKABLE binder_lock {
	struct host_spinlock raw;
	enum binder_lock_rank rank;
};

struct LOCKABLE binder_mutex {
	struct host_mutex raw;
	enum binder_lock_rank rank;
};

/* Who holds it inherits the priority of those who wait. */
struct LOCKABLE binder_pi_mutex {
	struct host_pi_mutex raw;
	enum binder_lock_rank rank;
};

/* The same as the host's operation, and counts (contention.h). */
void binder_lock_counted(struct binder_lock *lock) ACQUIRE(lock);
void binder_mutex_lock_counted(struct binder_mutex *lock);
void binder_pi_mutex_lock_counted(struct binder_pi_mutex *lock);

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

/* No lock at all: for operations that may sleep or free.  (The regime's mutex is held over all.) */
static inline void binder_assert_unlocked(void)
{
	if (*host_lock_ranks() & ~(1u << RANK_GLOBAL))
		__builtin_trap();
}
#define BINDER_RANK_TAKE(lock)	 binder_rank_take((lock)->rank)
#define BINDER_RANK_DROP(lock)	 binder_rank_drop((lock)->rank)
#else
static inline void binder_assert_unlocked(void)
{
}
#define BINDER_RANK_TAKE(lock)	 ((void)0)
#define BINDER_RANK_DROP(lock)	 ((void)0)
#endif

static inline void binder_lock_init(struct binder_lock *lock,
				    enum binder_lock_rank rank)
{
	host_spin_init(&lock->raw, rank);
	lock->rank = rank;
}

static inline void binder_lock_destroy(struct binder_lock *lock)
{
	host_spin_destroy(&lock->raw);
}

static inline void binder_lock(struct binder_lock *lock) ACQUIRE(lock) NO_TSA
{
	BINDER_RANK_TAKE(lock);
	if (host_is_counting_locks())
		binder_lock_counted(lock);
	else
		host_spin_lock(&lock->raw);
}

static inline void binder_unlock(struct binder_lock *lock) RELEASE(lock) NO_TSA
{
	BINDER_RANK_DROP(lock); /* first: an unlocked lock may be freed by others */
	host_spin_unlock(&lock->raw);
}

static inline void binder_mutex_init(struct binder_mutex *lock,
				     enum binder_lock_rank rank)
{
	host_mutex_init(&lock->raw, rank);
	lock->rank = rank;
}

static inline void binder_mutex_lock(struct binder_mutex *lock)
	ACQUIRE(lock) NO_TSA
{
	BINDER_RANK_TAKE(lock);
	if (host_is_counting_locks())
		binder_mutex_lock_counted(lock);
	else
		host_mutex_lock(&lock->raw);
}

static inline void binder_mutex_unlock(struct binder_mutex *lock)
	RELEASE(lock) NO_TSA
{
	BINDER_RANK_DROP(lock);
	host_mutex_unlock(&lock->raw);
}

static inline void binder_pi_mutex_init(struct binder_pi_mutex *lock,
					enum binder_lock_rank rank)
{
	host_pi_mutex_init(&lock->raw, rank);
	lock->rank = rank;
}

static inline void binder_pi_mutex_lock(struct binder_pi_mutex *lock)
	ACQUIRE(lock) NO_TSA
{
	BINDER_RANK_TAKE(lock);
	if (host_is_counting_locks())
		binder_pi_mutex_lock_counted(lock);
	else
		host_pi_mutex_lock(&lock->raw);
}

/* Without waiting; false: somebody else holds it. */
static inline bool binder_pi_mutex_trylock(struct binder_pi_mutex *lock)
	TRY_ACQUIRE(true, lock) NO_TSA
{
	if (!host_pi_mutex_trylock(&lock->raw))
		return false;
	BINDER_RANK_TAKE(lock);
	return true;
}

static inline void binder_pi_mutex_unlock(struct binder_pi_mutex *lock)
	RELEASE(lock) NO_TSA
{
	BINDER_RANK_DROP(lock);
	host_pi_mutex_unlock(&lock->raw);
}

#endif
