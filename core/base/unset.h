/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernels are built so that every local variable starts as zeros, which saves others
 * from themselves and costs a clearing per call. BINDER_UNSET, after the name of a local that
 * is all written before it is read, says that it needs none.
 */
#ifndef BINDER_BASE_UNSET_H
#define BINDER_BASE_UNSET_H

#if defined(__has_attribute)
#if __has_attribute(uninitialized)
#define BINDER_UNSET __attribute__((uninitialized))
#endif
#endif
#ifndef BINDER_UNSET
#define BINDER_UNSET
#endif

#endif
