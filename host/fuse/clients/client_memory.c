// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of clients: payloads and command streams are copied by process_vm_readv(2) and
 * process_vm_writev(2), directly between the two address spaces.
 */
#include "clients/client_memory.h"

#include <sys/uio.h>

/*
 * A thread that is blocked in a request exists until the reply, but its memory is released if it
 * is killed: ESRCH.
 */
static int copy_result(ssize_t got, size_t size)
{
	if (got == (ssize_t)size)
		return 0;
	return got < 0 && errno == ESRCH ? -ESRCH : -EFAULT;
}

int client_memory_read(pid_t tid, void *dst, u64 src, size_t size)
{
	struct iovec here = { dst, size };
	struct iovec there = { (void *)(uintptr_t)src, size };

	if (!size)
		return 0;
	return copy_result(process_vm_readv(tid, &here, 1, &there, 1, 0), size);
}

int client_memory_write(pid_t tid, u64 dst, const void *src, size_t size)
{
	struct iovec here = { (void *)src, size };
	struct iovec there = { (void *)(uintptr_t)dst, size };

	if (!size)
		return 0;
	return copy_result(process_vm_writev(tid, &here, 1, &there, 1, 0), size);
}
