// SPDX-License-Identifier: GPL-2.0
/* What the architectures have in common. */
#include "fds/inject/inject_arch.h"

#include <string.h>
#include <sys/uio.h>

bool inject_insn_is(pid_t tid, uint64_t address, const void *insn, size_t size)
{
	unsigned char found[8];
	struct iovec local = { found, size };
	struct iovec remote = { (void *)(uintptr_t)address, size };

	return size <= sizeof(found) &&
	       process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t)size &&
	       memcmp(found, insn, size) == 0;
}

long inject_call_number(const struct inject_regs *regs, long nr)
{
	const struct inject_number *number = inject_numbers;

	if (!inject_regs_narrow(regs))
		return nr;
	while (number->wide && number->wide != nr)
		number++;
	return number->wide ? number->narrow : -1;
}
