/* SPDX-License-Identifier: GPL-2.0 */
/* The marked accesses of host.h by builtins of the compiler, for hosts in user space. */
#ifndef BINDER_USERSPACE_ATOMICS_H
#define BINDER_USERSPACE_ATOMICS_H

#define host_read_once(x)	    __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define host_write_once(x, v)	    __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define host_load_acquire(ptr)	    __atomic_load_n((ptr), __ATOMIC_ACQUIRE)
#define host_store_release(ptr, v)  __atomic_store_n((ptr), (v), __ATOMIC_RELEASE)
#define host_xchg(ptr, v)	    __atomic_exchange_n((ptr), (v), __ATOMIC_SEQ_CST)

#endif
