/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registers of a stopped thread, as far as making it execute a system call needs them.
 *
 * An architecture defines how to set up a system call, how to read its result, how to restart the
 * thread's own call, and whether saved registers are those of a thread inside a system call of a
 * known kind. The thread executes its own system call instruction again, so no code is written to
 * it. Only x86-64 is supported so far, with its 32-bit programs. (On arm64 the first argument of
 * the interrupted call is overwritten by its result; /proc/TID/syscall still has it.)
 */
#ifndef ANYBINDER_INJECT_ARCH_H
#define ANYBINDER_INJECT_ARCH_H

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

/* A system call to be made by the receiver. */
struct inject_call {
	long nr;
	uint64_t args[4];
};

#if defined(__x86_64__)

#define INJECT_INSN_SIZE 2

/* NT_PRSTATUS of a thread that executes 32-bit code. */
struct inject_regs32 {
	uint32_t bx, cx, dx, si, di, bp, ax, ds, es, fs, gs, orig_ax, ip, cs, flags, sp, ss;
};

typedef struct {
	size_t size;		/* selects the member */
	union {
		struct user_regs_struct wide;
		struct inject_regs32 narrow;
	};
} inject_regs;

static inline bool inject_regs_narrow(const inject_regs *regs)
{
	return regs->size == sizeof(regs->narrow);
}

/*
 * The instruction before the thread's instruction pointer: syscall; for 32-bit programs int 0x80,
 * behind which the kernel returns them however they entered.
 */
static inline const unsigned char *inject_insn(const inject_regs *regs)
{
	static const unsigned char insns[2][INJECT_INSN_SIZE] = { { 0x0f, 0x05 }, { 0xcd, 0x80 } };

	return insns[inject_regs_narrow(regs)];
}

static inline uint64_t inject_insn_address(const inject_regs *regs)
{
	return (inject_regs_narrow(regs) ? regs->narrow.ip : regs->wide.rip) - INJECT_INSN_SIZE;
}

/*
 * Is this a thread inside a system call of its width? 0x33 and 0x23 are the code segments of
 * 64-bit and 32-bit programs.
 */
static inline bool inject_regs_usable(const inject_regs *regs)
{
	if (inject_regs_narrow(regs))
		return regs->narrow.cs == 0x23 && (int32_t)regs->narrow.orig_ax >= 0;
	return regs->size == sizeof(regs->wide) && regs->wide.cs == 0x33 &&
	       (long)regs->wide.orig_rax >= 0;
}

/* The end of the red zone, the lowest address that the thread may be using. */
static inline uint64_t inject_stack_limit(const inject_regs *regs)
{
	return (inject_regs_narrow(regs) ? regs->narrow.sp : regs->wide.rsp) - 128;
}

/* The number of the daemon's system call @nr for a thread of this width; -1: none. */
static inline long inject_call_number(const inject_regs *regs, long nr)
{
	static const struct {
		long wide, narrow;
	} calls[] = {
		{ SYS_close, 6 }, { SYS_socket, 359 }, { SYS_recvmsg, 372 }, { SYS_dup3, 330 },
	};

	for (size_t i = 0; inject_regs_narrow(regs) && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].wide == nr)
			return calls[i].narrow;
	}
	return inject_regs_narrow(regs) ? -1 : nr;
}

/* Sets @regs up for @call; no restart is pending in them. */
static inline void inject_regs_call(inject_regs *regs, uint64_t insn,
				    const struct inject_call *call)
{
	long nr = inject_call_number(regs, call->nr);

	if (inject_regs_narrow(regs)) {
		regs->narrow.ip = (uint32_t)insn;
		regs->narrow.orig_ax = (uint32_t)-1;
		regs->narrow.ax = (uint32_t)nr;
		regs->narrow.bx = (uint32_t)call->args[0];
		regs->narrow.cx = (uint32_t)call->args[1];
		regs->narrow.dx = (uint32_t)call->args[2];
		regs->narrow.si = (uint32_t)call->args[3];
		return;
	}
	regs->wide.rip = insn;
	regs->wide.orig_rax = (unsigned long)-1;
	regs->wide.rax = (unsigned long)nr;
	regs->wide.rdi = call->args[0];
	regs->wide.rsi = call->args[1];
	regs->wide.rdx = call->args[2];
	regs->wide.r10 = call->args[3];
}

static inline long inject_regs_result(const inject_regs *regs)
{
	return inject_regs_narrow(regs) ? (int32_t)regs->narrow.ax : (long)regs->wide.rax;
}

/* Sets @regs up for restarting the thread's own system call. */
static inline void inject_regs_restart(inject_regs *regs, uint64_t insn)
{
	if (inject_regs_narrow(regs)) {
		regs->narrow.ip = (uint32_t)insn;
		regs->narrow.ax = regs->narrow.orig_ax;
		regs->narrow.orig_ax = (uint32_t)-1;
		return;
	}
	regs->wide.rip = insn;
	regs->wide.rax = regs->wide.orig_rax;
	regs->wide.orig_rax = (unsigned long)-1;
}

#else
#define INJECT_UNSUPPORTED
#endif

#ifndef INJECT_UNSUPPORTED

/* Reads the registers of a stopped thread. */
static inline int inject_regs_read(pid_t tid, inject_regs *regs)
{
	struct iovec iov = { &regs->wide, sizeof(regs->wide) };

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &iov) < 0)
		return -errno;
	regs->size = iov.iov_len;
	return 0;
}

static inline int inject_regs_write(pid_t tid, inject_regs *regs)
{
	struct iovec iov = { &regs->wide, regs->size };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &iov) < 0 ? -errno : 0;
}

#endif
#endif
