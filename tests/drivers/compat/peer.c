// SPDX-License-Identifier: GPL-2.0
/*
 * One source, compiled for both widths: a peer that is context manager or client. It makes its own
 * system calls, so that no C library of the other width is needed.
 */
#include "peer.h"

#define MAP_SIZE (128 * 1024)
#define PROT_READ 1
#define MAP_PRIVATE 2
#define O_RDWR 2

/* The compiler generates calls to this. */
void *memcpy(void *dst, const void *src, size_t size);
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

const char *peer_open(struct peer *peer, const char *device)
{
	struct binder_version version = { 0 };
	long at;

	peer->fd = (int)sys_open(device, O_RDWR);
	if (peer->fd < 0)
		return "open";
	if (sys(NR_ioctl, peer->fd, BINDER_VERSION, (long)&version) ||
	    version.protocol_version != BINDER_CURRENT_PROTOCOL_VERSION)
		return "version";
	at = sys_map(MAP_SIZE, PROT_READ, MAP_PRIVATE, peer->fd);
	if (at < 0 && at > -4096)
		return "mmap";
	peer->map = (const uint8_t *)at;
	return NULL;
}

void peer_put(struct peer *peer, uint32_t cmd, const void *arg, size_t size)
{
	memcpy(peer->out + peer->out_size, &cmd, sizeof(cmd));
	memcpy(peer->out + peer->out_size + sizeof(cmd), arg, size);
	peer->out_size += sizeof(cmd) + size;
}

void peer_send(struct peer *peer, uint32_t cmd, struct binder_transaction_data *tr,
	       const void *data, size_t size, const void *object, size_t object_size)
{
	static _Alignas(8) uint8_t payload[256];
	static binder_size_t offset;

	/* static: they are read when the commands are written */
	memcpy(payload, data, size);
	tr->data_size = size;
	if (object) {
		offset = (size + 7) & ~7ul;
		memcpy(payload + offset, object, object_size);
		tr->data_size = offset + object_size;
		tr->offsets_size = sizeof(offset);
	}
	tr->data.ptr.buffer = (uintptr_t)payload;
	tr->data.ptr.offsets = (uintptr_t)&offset;
	peer_put(peer, cmd, tr, sizeof(*tr));
}

static long write_read(struct peer *peer, size_t read_size)
{
	struct binder_write_read bwr = {
		.write_buffer = (uintptr_t)peer->out,
		.write_size = peer->out_size,
		.read_buffer = (uintptr_t)peer->in,
		.read_size = read_size,
	};
	long ret = sys(NR_ioctl, peer->fd, BINDER_WRITE_READ, (long)&bwr);

	if (!ret && bwr.write_consumed != peer->out_size)
		ret = -1;
	peer->out_size = 0;
	if (!ret && read_size) {
		peer->in_pos = 0;
		peer->in_end = bwr.read_consumed;
	}
	return ret;
}

long peer_flush(struct peer *peer)
{
	return peer->out_size ? write_read(peer, 0) : 0;
}

uint32_t peer_next(struct peer *peer, void *arg)
{
	uint32_t cmd = BR_NOOP;

	while (cmd == BR_NOOP) {
		if (peer->in_pos == peer->in_end && write_read(peer, sizeof(peer->in)))
			return 0;
		memcpy(&cmd, peer->in + peer->in_pos, sizeof(cmd));
		peer->in_pos += sizeof(cmd);
		memcpy(arg, peer->in + peer->in_pos, _IOC_SIZE(cmd));
		peer->in_pos += _IOC_SIZE(cmd);
	}
	return cmd;
}

int peer_expect(struct peer *peer, uint32_t want, void *arg)
{
	struct binder_ptr_cookie *ref = arg;
	uint32_t cmd;

	while ((cmd = peer_next(peer, arg)) != want) {
		if (cmd == BR_INCREFS)
			peer_put(peer, BC_INCREFS_DONE, ref, sizeof(*ref));
		else if (cmd == BR_ACQUIRE)
			peer_put(peer, BC_ACQUIRE_DONE, ref, sizeof(*ref));
		else if (cmd != BR_RELEASE && cmd != BR_DECREFS && cmd != BR_TRANSACTION_COMPLETE)
			return 0;
	}
	return 1;
}

void peer_free(struct peer *peer, const struct binder_transaction_data *tr)
{
	binder_uintptr_t at = tr->data.ptr.buffer;

	peer_put(peer, BC_FREE_BUFFER, &at, sizeof(at));
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
