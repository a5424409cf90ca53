/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sys: the few system calls that a peer makes, for both widths, so that it needs no C library of
 * its width. Each returns what the kernel does: a negative errno on failure.
 */
#ifndef COMPAT_SYS_H
#define COMPAT_SYS_H

#include <stddef.h>
#include <stdint.h>

struct sys_poll_fd {
	int fd;
	short events, revents;
};

#if defined(__i386__)

enum { NR_exit = 252, NR_read = 3, NR_write = 4, NR_open = 5, NR_close = 6, NR_getpid = 20,
       NR_pipe = 42, NR_ioctl = 54, NR_mmap = 90, NR_poll = 168 };

/* The kernel's faster entry point; 0: by interrupt. */
extern uintptr_t sys_entry;

static inline long sys(long nr, long a, long b, long c)
{
	long ret;

	if (sys_entry)
		__asm__ volatile("call *%5"
				 : "=a"(ret)
				 : "a"(nr), "b"(a), "c"(b), "d"(c), "m"(sys_entry)
				 : "memory");
	else
		__asm__ volatile("int $0x80"
				 : "=a"(ret)
				 : "a"(nr), "b"(a), "c"(b), "d"(c)
				 : "memory");
	return ret;
}

/* The oldest of the calls: it takes its six arguments in memory, and the offset in bytes. */
static inline long sys_map(size_t size, int prot, int flags, int fd)
{
	const long args[] = { 0, (long)size, prot, flags, fd, 0 };

	return sys(NR_mmap, (long)args, 0, 0);
}

/* Where a program begins: the arguments lie on the stack, argc, argv[0], ... */
#define START "mov %esp, %eax\n and $-16, %esp\n sub $12, %esp\n push %eax\n call peer_start\n"

#else
#if defined(__x86_64__)

enum { NR_exit = 231, NR_read = 0, NR_write = 1, NR_open = 2, NR_close = 3, NR_getpid = 39,
       NR_pipe = 22, NR_ioctl = 16, NR_mmap = 9, NR_poll = 7 };

static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define START "mov %rsp, %rdi\n and $-16, %rsp\n call peer_start\n"

#elif defined(__aarch64__)

enum { NR_exit = 94, NR_read = 63, NR_write = 64, NR_openat = 56, NR_close = 57, NR_getpid = 172,
       NR_pipe = 59, NR_ioctl = 29, NR_mmap = 222, NR_ppoll = 73 };

static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	register long x8 __asm__("x8") = nr;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8)
			 : "memory");
	return x0;
}

#define START "mov x0, sp\n bl peer_start\n"

#elif defined(__arm__)

enum { NR_exit = 248, NR_read = 3, NR_write = 4, NR_openat = 322, NR_close = 6, NR_getpid = 20,
       NR_pipe = 359, NR_ioctl = 54, NR_mmap = 192, NR_ppoll = 336 };

/* r7, of the number, is the frame pointer of thumb code, which the compiler does not give away. */
static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r0 __asm__("r0") = a;
	register long r1 __asm__("r1") = b;
	register long r2 __asm__("r2") = c;
	register long r3 __asm__("r3") = d;
	register long r4 __asm__("r4") = e;
	register long r5 __asm__("r5") = f;
	register long r6 __asm__("r6") = nr;

	__asm__ volatile("mov r8, r7\n mov r7, r6\n svc #0\n mov r7, r8\n"
			 : "+r"(r0)
			 : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r6)
			 : "r8", "memory");
	return r0;
}

/* In arm state, from where the linker's call reaches thumb code, too. */
#define START ".type _start, %function\n mov r0, sp\n bl peer_start\n"

#else
#error "this machine has no other width here"
#endif

static inline long sys(long nr, long a, long b, long c)
{
	return sys6(nr, a, b, c, 0, 0, 0);
}

static inline long sys_map(size_t size, int prot, int flags, int fd)
{
	return sys6(NR_mmap, 0, (long)size, prot, flags, fd, 0);
}

#endif

#if defined(__i386__) || defined(__x86_64__)

static inline long sys_open(const char *path, int flags)
{
	return sys(NR_open, (long)path, flags, 0);
}

static inline long sys_poll(struct sys_poll_fd *fd, long timeout_ms)
{
	return sys(NR_poll, (long)fd, 1, timeout_ms);
}

#else

static inline long sys_open(const char *path, int flags)
{
	const long at_fdcwd = -100;

	return sys(NR_openat, at_fdcwd, (long)path, flags);
}

static inline long sys_poll(struct sys_poll_fd *fd, long timeout_ms)
{
	const long timeout[] = { timeout_ms / 1000, timeout_ms % 1000 * 1000000 };

	return sys6(NR_ppoll, (long)fd, 1, (long)timeout, 0, 0, 0);
}

#endif
#endif
