/* SPDX-License-Identifier: GPL-2.0 */
/* The locking modes in the daemon: fine and global; a process cannot disable preemption. */
#ifndef BENCH_LOCKING_FUSE_H
#define BENCH_LOCKING_FUSE_H

/* host/fuse/layout.c has a file that locking_write() fills. */
#define BINDER_MEASURE_LOCKS
struct text;
void locking_write(struct text *text, uint64_t arg);

/* Set from the environment before main(). */
extern enum locking_mode locking_mode;
extern bool locking_counted;

static inline bool locking_is_global(void)
{
	return locking_mode != MODE_FINE;
}

static inline bool locking_is_counting(void)
{
	return __builtin_expect(locking_counted, 0);
}

static inline bool locking_spin_trylock(struct host_spinlock *lock)
{
	return !atomic_exchange_explicit(&lock->word, 1, memory_order_acquire);
}

#endif
