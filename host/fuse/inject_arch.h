/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registers of a stopped thread, as far as making it call the kernel needs them.
 *
 * A machine says how to set up a system call, how to read its result, how to make the thread's
 * own call once more, and whether a saved state is that of a native thread inside a system
 * call. The thread executes its own system call instruction again, so no code is written
 * into it. Only x86-64 is known so far. (On arm64 the first argument of the interrupted call
 * is lost in the register of its result; /proc/TID/syscall still has it.)
 */
#ifndef ANYBINDER_INJECT_ARCH_H
#define ANYBINDER_INJECT_ARCH_H

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

/* A system call to be made by the receiver. */
struct inject_call {
	long nr;
	uint64_t args[4];
};

#if defined(__x86_64__)

#define INJECT_INSN_SIZE 2
typedef struct user_regs_struct inject_regs;

static const unsigned char inject_insn[INJECT_INSN_SIZE] = { 0x0f, 0x05 };	/* syscall */

static inline uint64_t inject_insn_address(const inject_regs *regs)
{
	return regs->rip - INJECT_INSN_SIZE;
}

/* Is this a 64-bit thread inside a system call? 0x33 is the 64-bit user code segment. */
static inline bool inject_regs_usable(const inject_regs *regs, size_t size)
{
	return size == sizeof(*regs) && regs->cs == 0x33 && (long)regs->orig_rax >= 0;
}

/* The lowest address that the thread's functions may be using: 128 bytes of red zone. */
static inline uint64_t inject_stack_limit(const inject_regs *regs)
{
	return regs->rsp - 128;
}

/* Makes @regs those of a thread about to make @call; no restart is pending in them. */
static inline void inject_regs_call(inject_regs *regs, uint64_t insn,
				    const struct inject_call *call)
{
	regs->rip = insn;
	regs->orig_rax = (unsigned long)-1;
	regs->rax = (unsigned long)call->nr;
	regs->rdi = call->args[0];
	regs->rsi = call->args[1];
	regs->rdx = call->args[2];
	regs->r10 = call->args[3];
}

static inline long inject_regs_result(const inject_regs *regs)
{
	return (long)regs->rax;
}

/* Makes @regs those of a thread about to make its own system call once more. */
static inline void inject_regs_restart(inject_regs *regs, uint64_t insn)
{
	regs->rip = insn;
	regs->rax = regs->orig_rax;
	regs->orig_rax = (unsigned long)-1;
}

#else
#define INJECT_UNSUPPORTED
#endif

#ifndef INJECT_UNSUPPORTED

/* Reads the registers of a stopped thread; *@size tells a 32-bit thread by its smaller set. */
static inline int inject_regs_read(pid_t tid, inject_regs *regs, size_t *size)
{
	struct iovec iov = { regs, sizeof(*regs) };

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &iov) < 0)
		return -errno;
	*size = iov.iov_len;
	return 0;
}

static inline int inject_regs_write(pid_t tid, inject_regs *regs)
{
	struct iovec iov = { regs, sizeof(*regs) };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &iov) < 0 ? -errno : 0;
}

#endif
#endif
