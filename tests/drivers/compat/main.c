// SPDX-License-Identifier: GPL-2.0
/*
 * One source, compiled for both widths: a peer that is context manager or client. It makes its own
 * system calls, so that no C library of the other width is needed.
 */
#include "compat.h"

#define MAP_SIZE (128 * 1024)
#define PROT_READ 1
#define MAP_PRIVATE 2
#define O_RDWR 2

/* The compiler generates calls to these. */
void *memcpy(void *dst, const void *src, size_t size);
void *memmove(void *dst, const void *src, size_t size);
void *memset(void *dst, int c, size_t size);

void *memcpy(void *dst, const void *src, size_t size)
{
	uint8_t *to = dst;
	const uint8_t *from = src;

	while (size--) {
		*to++ = *from++;
		__asm__ volatile("");	/* or the compiler calls memcpy() for it */
	}
	return dst;
}

/* Commands move towards the beginning of their buffer only, so that copying forwards is right. */
void *memmove(void *dst, const void *src, size_t size)
{
	return memcpy(dst, src, size);
}

void *memset(void *dst, int c, size_t size)
{
	uint8_t *to = dst;

	while (size--) {
		*to++ = (uint8_t)c;
		__asm__ volatile("");
	}
	return dst;
}

#ifdef __i386__
uintptr_t sys_entry;

/* After the arguments and the environment comes the kernel's auxiliary vector. */
static void enter_the_fast_way(char **stack)
{
	const uintptr_t at_sysinfo = 32;
	const uintptr_t *at = (const uintptr_t *)stack + 1 + (uintptr_t)stack[0] + 1;

	while (*at)
		at++;
	for (at++; at[0]; at += 2) {
		if (at[0] == at_sysinfo)
			sys_entry = at[1];
	}
}
#else
static void enter_the_fast_way(char **stack)
{
}
#endif

static size_t length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

void peer_say(const char *what, const char *name)
{
	sys(NR_write, 1, (long)what, (long)length(what));
	sys(NR_write, 1, (long)name, (long)length(name));
	sys(NR_write, 1, (long)"\n", 1);
}

static int own_ioctl(struct port *port, unsigned long cmd, unsigned long arg)
{
	return (int)sys(NR_ioctl, port->fd, (long)cmd, (long)arg);
}

static const struct port_system own_system = { .ioctl = own_ioctl };

const char *peer_open(struct peer *peer, const char *device)
{
	struct binder_version version = { 0 };
	long at;

	peer->port.system = &own_system;
	peer->port.fd = (int)sys_open(device, O_RDWR);
	if (peer->port.fd < 0)
		return "open";
	if (port_ioctl(&peer->port, BINDER_VERSION, &version) ||
	    version.protocol_version != BINDER_CURRENT_PROTOCOL_VERSION)
		return "version";
	at = sys_map(MAP_SIZE, PROT_READ, MAP_PRIVATE, peer->port.fd);
	if (at < 0 && at > -4096)
		return "mmap";
	peer->port.map = (uint8_t *)at;
	looper_init(&peer->looper, &peer->port);
	return NULL;
}

void peer_pack(struct binder_transaction_data *txn, const void *data, size_t size,
	       const union object *object)
{
	static _Alignas(8) uint8_t bytes[256];
	static binder_size_t offset;
	struct payload payload = {
		.data = bytes, .room = sizeof(bytes), .offsets = &offset, .max = 1,
	};

	payload_add_bytes(&payload, data, size);
	if (object)
		payload_add(&payload, object);
	txn->data_size = payload.size;
	txn->offsets_size = payload.nr * sizeof(offset);
	txn->data.ptr.buffer = (uintptr_t)bytes;
	txn->data.ptr.offsets = (uintptr_t)&offset;
}

__asm__(".globl _start\n_start:\n" START);
_Noreturn void peer_start(char **stack);

_Noreturn void peer_start(char **stack)
{
	static struct peer peer;
	long argc = (long)stack[0];
	const char *failed;
	long status = 2;

	/* peer manager|client DEVICE; without a device it only says its version */
	if (argc < 3) {
		peer_say("peer ", ANYBINDER_VERSION);
		sys(NR_exit, 0, 0, 0);
	}
	/* the manager enters the kernel one way, the client the other */
	if (stack[2][0] == 'c')
		enter_the_fast_way(stack);
	failed = peer_open(&peer, stack[3]);
	if (failed)
		peer_say("not ok ", failed);
	else
		status = stack[2][0] == 'm' ? peer_serve(&peer) : peer_ask(&peer);
	sys(NR_exit, status, 0, 0);
	__builtin_unreachable();
}
