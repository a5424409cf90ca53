// SPDX-License-Identifier: GPL-2.0
/* The injector on x86-64, with its 32-bit programs. */
#include "fds/inject/inject_arch.h"

#include <sys/syscall.h>

#define INSN_SIZE 2

/* The code segments of 64-bit and of 32-bit programs. */
#define CS_WIDE 0x33
#define CS_NARROW 0x23

/* NT_PRSTATUS of a thread that executes 32-bit code. */
struct regs32 {
	uint32_t bx, cx, dx, si, di, bp, ax, ds, es, fs, gs, orig_ax, ip, cs, flags, sp, ss;
};

/* The registers of a stopped thread show all of it. */
void inject_own_call_read(pid_t tid, struct inject_own_call *own)
{
	own->nr = -1;
}

bool inject_regs_narrow(const struct inject_regs *regs)
{
	return regs->size == sizeof(struct regs32);
}

/* Is this a thread inside a system call of its width? */
static bool is_usable(const struct inject_regs *regs)
{
	if (inject_regs_narrow(regs))
		return inject_narrow(regs)->cs == CS_NARROW &&
		       (int32_t)inject_narrow(regs)->orig_ax >= 0;
	return regs->size == sizeof(struct user_regs_struct) && inject_wide(regs)->cs == CS_WIDE &&
	       (long)inject_wide(regs)->orig_rax >= 0;
}

/*
 * The instruction before the thread's instruction pointer: syscall; for 32-bit programs int 0x80,
 * behind which the kernel returns them however they entered.
 */
int inject_find_insn(pid_t tid, const struct inject_regs *regs, struct inject_own_call *own,
		     uint64_t *insn)
{
	static const unsigned char insns[2][INSN_SIZE] = { { 0x0f, 0x05 }, { 0xcd, 0x80 } };
	bool is_narrow = inject_regs_narrow(regs);

	if (!is_usable(regs))
		return -ENOSYS;
	*insn = (is_narrow ? inject_narrow(regs)->ip : inject_wide(regs)->rip) - INSN_SIZE;
	return inject_insn_is(tid, *insn, insns[is_narrow], INSN_SIZE) ? 0 : -ENOSYS;
}

/* The end of the red zone. */
uint64_t inject_stack_limit(const struct inject_regs *regs)
{
	return (inject_regs_narrow(regs) ? inject_narrow(regs)->sp : inject_wide(regs)->rsp) - 128;
}

const struct inject_number inject_numbers[] = {
	{ SYS_close, 6 }, { SYS_socket, 359 }, { SYS_recvmsg, 372 }, { SYS_fcntl, 55 }, { 0 },
};

void inject_regs_call(struct inject_regs *regs, uint64_t insn, const struct inject_call *call)
{
	long nr = inject_call_number(regs, call->nr);

	if (inject_regs_narrow(regs)) {
		inject_narrow(regs)->ip = (uint32_t)insn;
		inject_narrow(regs)->orig_ax = (uint32_t)-1;
		inject_narrow(regs)->ax = (uint32_t)nr;
		inject_narrow(regs)->bx = (uint32_t)call->args[0];
		inject_narrow(regs)->cx = (uint32_t)call->args[1];
		inject_narrow(regs)->dx = (uint32_t)call->args[2];
		inject_narrow(regs)->si = (uint32_t)call->args[3];
		return;
	}
	inject_wide(regs)->rip = insn;
	inject_wide(regs)->orig_rax = (unsigned long)-1;
	inject_wide(regs)->rax = (unsigned long)nr;
	inject_wide(regs)->rdi = call->args[0];
	inject_wide(regs)->rsi = call->args[1];
	inject_wide(regs)->rdx = call->args[2];
	inject_wide(regs)->r10 = call->args[3];
}

long inject_regs_result(const struct inject_regs *regs)
{
	return inject_regs_narrow(regs) ? (int32_t)inject_narrow(regs)->ax
					: (long)inject_wide(regs)->rax;
}

/* The register of the result still has the number. */
long inject_trapped_result(const struct inject_regs *regs, const struct inject_call *call)
{
	return inject_call_number(regs, call->nr);
}

void inject_regs_restart(struct inject_regs *regs, uint64_t insn,
			 const struct inject_own_call *own)
{
	if (inject_regs_narrow(regs)) {
		inject_narrow(regs)->ip = (uint32_t)insn;
		inject_narrow(regs)->ax = inject_narrow(regs)->orig_ax;
		inject_narrow(regs)->orig_ax = (uint32_t)-1;
		return;
	}
	inject_wide(regs)->rip = insn;
	inject_wide(regs)->rax = inject_wide(regs)->orig_rax;
	inject_wide(regs)->orig_rax = (unsigned long)-1;
}
