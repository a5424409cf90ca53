/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A function of the kernel that some kernels do not export: a weak reference, and a variable with
 * its address, NULL where it is missing. Only the variable is tested: where code tests the address
 * of a weak symbol, compilers for arm64 read it from a global offset table, which the kernel's
 * loader does not provide ("unsupported RELA relocation: 311").
 */
#ifndef HOST_LINUX_WEAK_H
#define HOST_LINUX_WEAK_H

#include <linux/compiler.h>

#define WEAK_FUNCTION(name) \
	extern typeof(name) name __weak; \
	static typeof(name) *weak_##name = name

/* READ_ONCE(): else the compiler replaces the variable, which is never written, by its value. */
#define weak_exists(name) (READ_ONCE(weak_##name) != NULL)

#endif
