// SPDX-License-Identifier: GPL-2.0
/*
 * The injector on arm64, with its 32-bit programs in arm and in thumb state.
 *
 * Before a stop in which the debugger may change the registers, the kernel has already prepared the
 * restart of an interrupted call: the instruction pointer is back at the instruction, the first
 * argument is in its register again, and the number of the call is forgotten. After a call that has
 * returned, its result is in the register of the first argument. So the first argument and the
 * place of the instruction are read from /proc/TID/syscall while the thread is blocked.
 *
 * At the stops before and after a system call the kernel shows in x7 (r12 of a 32-bit program)
 * which of the two it is, and restores the register afterwards, whatever is written to it. Neither
 * is used by the calls made here, so what it restores is the receiver's own value.
 */
#include "fds/inject/inject_arch.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bits in the state of a 32-bit program: thumb code; a block of conditional instructions. */
#define STATE_THUMB 0x20u
#define STATE_CONDITIONAL 0x0600fc00u

/* How often, and how far apart, a thread is looked at that is about to sleep in its call. */
#define TRIES 200
#define TRY_US 100

/* NT_PRSTATUS of a 32-bit program. */
struct regs32 {
	uint32_t r[13], sp, lr, pc, state, orig_r0;
};

/*
 * The text is "NUMBER ARGUMENT.. STACK-POINTER INSTRUCTION-POINTER", with six arguments, or
 * "running". False: it is running.
 */
static bool inject_parse(const char *text, struct inject_own_call *own)
{
	unsigned long arg0, sp, ip;
	long nr;

	if (sscanf(text, "%ld %lx %*x %*x %*x %*x %*x %lx %lx", &nr, &arg0, &sp, &ip) == 4)
		*own = (struct inject_own_call){ nr, arg0, sp, ip };
	return text[0] != 'r';
}

/* The daemon may have read the request of a thread that does not sleep yet. */
void inject_own_call_read(pid_t tid, struct inject_own_call *own)
{
	char path[64], text[256];
	bool blocked = false;

	own->nr = -1;
	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	for (int i = 0; !blocked && i < TRIES; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

		if (fd >= 0)
			close(fd);
		if (len <= 0)
			return;
		text[len] = 0;
		blocked = inject_parse(text, own);
		if (!blocked)
			usleep(TRY_US);
	}
}

bool inject_regs_narrow(const struct inject_regs *regs)
{
	return regs->size == sizeof(struct regs32);
}

/* The registers of either width that matter to find the thread's own call. */
struct place {
	uint64_t sp, ip, nr, arg0;
};

/*
 * Where the thread's call began, which the kernel has prepared for its restart, or where it
 * returned. If it was not seen in its call (it had been stopped by a signal before), its registers
 * must be those of a call to be restarted.
 */
static int find_insn(pid_t tid, const struct place *place, struct inject_own_call *own,
		     const void *expected, size_t size, uint64_t *insn)
{
	if (own->nr < 0) {
		*own = (struct inject_own_call){ (long)place->nr, place->arg0, place->sp,
						 place->ip + size };
	}
	*insn = own->ip - size;
	if (place->sp != own->sp || place->nr != (uint64_t)own->nr ||
	    (place->ip != own->ip && place->ip != *insn))
		return -ENOSYS;
	return inject_insn_is(tid, *insn, expected, size) ? 0 : -ENOSYS;
}

int inject_find_insn(pid_t tid, const struct inject_regs *regs, struct inject_own_call *own,
		     uint64_t *insn)
{
	static const uint32_t svc = 0xd4000001, svc_arm = 0xef000000;
	static const uint16_t svc_thumb = 0xdf00;
	const struct regs32 *r = inject_narrow(regs);

	if (regs->size == sizeof(struct user_regs_struct)) {
		const struct user_regs_struct *x = inject_wide(regs);
		struct place place = { x->sp, x->pc, x->regs[8], x->regs[0] };

		return find_insn(tid, &place, own, &svc, sizeof(svc), insn);
	}
	if (inject_regs_narrow(regs) && !(r->state & STATE_CONDITIONAL)) {
		struct place place = { r->sp, r->pc, r->r[7], r->r[0] };

		if (r->state & STATE_THUMB)
			return find_insn(tid, &place, own, &svc_thumb, sizeof(svc_thumb), insn);
		return find_insn(tid, &place, own, &svc_arm, sizeof(svc_arm), insn);
	}
	return -ENOSYS;
}

uint64_t inject_stack_limit(const struct inject_regs *regs)
{
	return inject_regs_narrow(regs) ? inject_narrow(regs)->sp : inject_wide(regs)->sp;
}

const struct inject_number inject_numbers[] = {
	{ SYS_close, 6 }, { SYS_socket, 281 }, { SYS_recvmsg, 297 }, { SYS_fcntl, 55 }, { 0 },
};

void inject_regs_call(struct inject_regs *regs, uint64_t insn, const struct inject_call *call)
{
	long nr = inject_call_number(regs, call->nr);

	if (inject_regs_narrow(regs)) {
		inject_narrow(regs)->pc = (uint32_t)insn;
		inject_narrow(regs)->r[7] = (uint32_t)nr;
		for (int i = 0; i < 4; i++)
			inject_narrow(regs)->r[i] = (uint32_t)call->args[i];
		return;
	}
	inject_wide(regs)->pc = insn;
	inject_wide(regs)->regs[8] = (uint64_t)nr;
	for (int i = 0; i < 4; i++)
		inject_wide(regs)->regs[i] = call->args[i];
}

long inject_regs_result(const struct inject_regs *regs)
{
	return inject_regs_narrow(regs) ? (int32_t)inject_narrow(regs)->r[0]
					: (long)inject_wide(regs)->regs[0];
}

/* The kernel restores the first argument. */
long inject_trapped_result(const struct inject_regs *regs, const struct inject_call *call)
{
	return inject_regs_narrow(regs) ? (int32_t)call->args[0] : (long)call->args[0];
}

void inject_regs_restart(struct inject_regs *regs, uint64_t insn,
			 const struct inject_own_call *own)
{
	if (inject_regs_narrow(regs)) {
		inject_narrow(regs)->pc = (uint32_t)insn;
		inject_narrow(regs)->r[0] = (uint32_t)own->arg0;
		return;
	}
	inject_wide(regs)->pc = insn;
	inject_wide(regs)->regs[0] = own->arg0;
}
