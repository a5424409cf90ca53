// SPDX-License-Identifier: GPL-2.0
/* The injector on architectures that it does not support: inject_start() fails. */
#include "fds/inject/inject_arch.h"

bool inject_arch_supported(void)
{
	return false;
}

void inject_own_call_read(pid_t tid, struct inject_own_call *own)
{
}

bool inject_regs_narrow(const struct inject_regs *regs)
{
	return false;
}

int inject_find_insn(pid_t tid, const struct inject_regs *regs, struct inject_own_call *own,
		     uint64_t *insn)
{
	return -ENOSYS;
}

uint64_t inject_stack_limit(const struct inject_regs *regs)
{
	return 0;
}

const struct inject_number inject_numbers[] = { { 0 } };

void inject_regs_call(struct inject_regs *regs, uint64_t insn, const struct inject_call *call)
{
}

long inject_regs_result(const struct inject_regs *regs)
{
	return -ENOSYS;
}

long inject_trapped_result(const struct inject_regs *regs, const struct inject_call *call)
{
	return -ENOSYS;
}

void inject_regs_restart(struct inject_regs *regs, uint64_t insn,
			 const struct inject_own_call *own)
{
}
