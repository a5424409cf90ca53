/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registers of a stopped thread, as far as making it execute a system call needs them.
 *
 * An architecture (inject_x86.c, inject_arm64.c) defines how to set up a system call, how to read
 * its result, how to restart the thread's own call, and whether saved registers are those of a
 * thread inside a system call of a known kind. The thread executes its own system call instruction
 * again, so no code is written to it. On other architectures the build has inject_other.c in place
 * of all of the injector.
 */
#ifndef HOST_FUSE_INJECT_ARCH_H
#define HOST_FUSE_INJECT_ARCH_H

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>

/* A system call to be made by the receiver. */
struct inject_call {
	long nr;
	uint64_t args[4];
};

/* NT_PRSTATUS of a stopped thread. */
struct inject_regs {
	size_t size;		/* as the kernel filled in: shows the width of the program */
	uint64_t data[34];	/* the most: 64-bit arm64 */
};

/* The thread's own system call, where the registers do not show all of it after its return. */
struct inject_own_call {
	long nr;		/* -1: unknown, or not needed on this architecture */
	uint64_t arg0;
	uint64_t sp;
	uint64_t ip;		/* behind the system call instruction */
};

/* Reads @own before the thread is interrupted, while it is blocked or about to be. */
void inject_own_call_read(pid_t tid, struct inject_own_call *own);

/* Is it a 32-bit program? */
bool inject_regs_narrow(const struct inject_regs *regs);

/*
 * Checks that @regs are those of a thread that returns from its own system call, or restarts it,
 * and finds the system call instruction; completes @own. Errors: -ENOSYS.
 */
int inject_find_insn(pid_t tid, const struct inject_regs *regs, struct inject_own_call *own,
		     uint64_t *insn);

/* The lowest address that the thread may be using of its stack. */
uint64_t inject_stack_limit(const struct inject_regs *regs);

/* The system calls that are made in receivers: their numbers for both widths; ends with zeros. */
struct inject_number {
	long wide, narrow;
};

extern const struct inject_number inject_numbers[];

/* The number of the helper's system call @nr for a thread of this width; -1: none (inject.c). */
static inline long inject_call_number(const struct inject_regs *regs, long nr)
{
	const struct inject_number *number = inject_numbers;

	if (!inject_regs_narrow(regs))
		return nr;
	while (number->wide && number->wide != nr)
		number++;
	return number->wide ? number->narrow : -1;
}

/* Sets @regs up for @call; no restart is pending in them. */
void inject_regs_call(struct inject_regs *regs, uint64_t insn, const struct inject_call *call);

long inject_regs_result(const struct inject_regs *regs);

/* What inject_regs_result() returns for a call that a seccomp filter has answered by SIGSYS. */
long inject_trapped_result(const struct inject_regs *regs, const struct inject_call *call);

/* Sets @regs up for restarting the thread's own system call. */
void inject_regs_restart(struct inject_regs *regs, uint64_t insn,
			 const struct inject_own_call *own);

/* Is the instruction at @address of the thread @insn, of @size bytes (at most 8)? */
static inline bool inject_insn_is(pid_t tid, uint64_t address, const void *insn, size_t size)
{
	unsigned char found[8];
	struct iovec local = { found, size };
	struct iovec remote = { (void *)(uintptr_t)address, size };

	return size <= sizeof(found) &&
	       process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t)size &&
	       memcmp(found, insn, size) == 0;
}

/* @regs as those of a 64-bit program, and of a 32-bit one, whose struct an architecture defines. */
static inline struct user_regs_struct *inject_wide(const struct inject_regs *regs)
{
	return (struct user_regs_struct *)(uintptr_t)regs->data;
}

struct regs32;

static inline struct regs32 *inject_narrow(const struct inject_regs *regs)
{
	return (struct regs32 *)(uintptr_t)regs->data;
}

/* Reads the registers of a stopped thread. */
static inline int inject_regs_read(pid_t tid, struct inject_regs *regs)
{
	struct iovec iov = { regs->data, sizeof(regs->data) };

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &iov) < 0)
		return -errno;
	regs->size = iov.iov_len;
	return 0;
}

static inline int inject_regs_write(pid_t tid, struct inject_regs *regs)
{
	struct iovec iov = { regs->data, regs->size };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &iov) < 0 ? -errno : 0;
}

#endif
