/* SPDX-License-Identifier: GPL-2.0 */
/* host/linux/host_impl.h for the mode global-nopreempt: what may sleep enables preemption. */
#ifndef BENCH_LOCKING_HOST_IMPL_H
#define BENCH_LOCKING_HOST_IMPL_H

#include_next "host_impl.h"

#include "locking.h"

/* First in a form that does not sleep. */
static inline void *locking_alloc(const struct host_proc *owner, size_t size)
{
	void *ptr = NULL;

	if (locking_is_pinned())
		ptr = kzalloc(size, GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	return ptr ? ptr : MAY_SLEEP(host_alloc(owner, size));
}

static inline void locking_free(void *ptr)
{
	if (is_vmalloc_addr(ptr))
		MAY_SLEEP(host_free(ptr));
	else
		host_free(ptr);
}

static inline void locking_host_pi_mutex_lock(struct host_pi_mutex *lock)
{
	if (!locking_is_pinned() || !host_pi_mutex_trylock(lock))
		MAY_SLEEP(host_pi_mutex_lock(lock));
}

#define MAY_FAULT(call)								\
({										\
	int err_ = -EFAULT;							\
										\
	if (locking_is_pinned()) {						\
		pagefault_disable();						\
		err_ = call;							\
		pagefault_enable();						\
	}									\
	err_ ? MAY_SLEEP(call) : 0;						\
})

static inline int locking_read_caller(struct host_thread *thread, void *dst, u64 src, size_t size)
{
	return MAY_FAULT(host_read_caller(thread, dst, src, size));
}

static inline int locking_write_caller(struct host_thread *thread, u64 dst, const void *src,
				       size_t size)
{
	return MAY_FAULT(host_write_caller(thread, dst, src, size));
}

static inline int locking_map_copy(struct host_map *map, size_t off, struct host_thread *from,
				   u64 src, size_t size)
{
	int err = 0;

	while (size && !err) { /* by pages: what is done again with preemption enabled is short */
		size_t chunk = min_t(size_t, size, PAGE_SIZE - offset_in_page(off));

		err = MAY_FAULT(host_map_copy(map, off, from, src, chunk));
		off += chunk;
		src += chunk;
		size -= chunk;
	}
	return err;
}

#define host_alloc		     locking_alloc
#define host_alloc_large	     locking_alloc
#define host_free		     locking_free
#define host_pi_mutex_lock	     locking_host_pi_mutex_lock
#define host_read_caller	     locking_read_caller
#define host_write_caller	     locking_write_caller
#define host_map_copy		     locking_map_copy
#define host_proc_init(...)	     MAY_SLEEP(host_proc_init(__VA_ARGS__))
#define host_proc_destroy(...)	     MAY_SLEEP(host_proc_destroy(__VA_ARGS__))
#define host_map_populate(...)	     MAY_SLEEP(host_map_populate(__VA_ARGS__))
#define host_map_evict(...)	     MAY_SLEEP(host_map_evict(__VA_ARGS__))
#define host_files_install(...)	     MAY_SLEEP(host_files_install(__VA_ARGS__))
#define host_fds_close(...)	     MAY_SLEEP(host_fds_close(__VA_ARGS__))
#define host_may_manage(...)	     MAY_SLEEP(host_may_manage(__VA_ARGS__))
#define host_may_transfer_file(...)  MAY_SLEEP(host_may_transfer_file(__VA_ARGS__))
#define host_secctx_get(...)	     MAY_SLEEP(host_secctx_get(__VA_ARGS__))
#define host_secctx_put(...)	     MAY_SLEEP(host_secctx_put(__VA_ARGS__))
#define host_priority_set(...)	     MAY_SLEEP(host_priority_set(__VA_ARGS__))
#define host_notify_txn_failure(...) MAY_SLEEP(host_notify_txn_failure(__VA_ARGS__))

#endif
