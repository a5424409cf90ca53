/* SPDX-License-Identifier: GPL-2.0 */
/* The signal mask of a traced receiver. */
#ifndef HOST_FUSE_INJECT_MASK_H
#define HOST_FUSE_INJECT_MASK_H

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>

/* The kernel's size of a signal mask, in bytes. */
#define INJECT_MASK_SIZE 8

static inline int set_mask(pid_t tid, uint64_t mask)
{
	return ptrace(PTRACE_SETSIGMASK, tid, INJECT_MASK_SIZE, &mask) < 0 ? -errno : 0;
}

/*
 * @mask and all signals but those of faults: if such a signal is blocked, the kernel resets its
 * handler when a fault raises it.
 */
static inline uint64_t quiet_mask(uint64_t mask)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	uint64_t quiet = ~0ull;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		quiet &= ~(1ull << (faults[i] - 1));
	return quiet | mask;
}

#endif
