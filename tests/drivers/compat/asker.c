// SPDX-License-Identifier: GPL-2.0
/* The client: makes one request to the manager after the other, and prints the result of each. */
#include "peer.h"

#define EINVAL 22
#define EFAULT 14
#define POLLIN 1

union got {
	struct binder_transaction_data tr;
	struct binder_ptr_cookie ref;
	binder_uintptr_t cookie;
};

static int ask_with(struct peer *peer, struct binder_transaction_data tr, const void *data,
		    size_t size, const void *object, size_t object_size, union got *got)
{
	peer_send(peer, BC_TRANSACTION, &tr, data, size, object, object_size);
	return peer_expect(peer, BR_REPLY, got);
}

static int ask(struct peer *peer, uint32_t code, const void *object, size_t object_size,
	       union got *got)
{
	struct binder_transaction_data tr = { .code = code, .flags = TF_ACCEPT_FDS };

	return ask_with(peer, tr, "abcd", 4, object, object_size, got);
}

static const void *payload(const union got *got)
{
	return (const void *)(uintptr_t)got->tr.data.ptr.buffer;
}

static int has(const union got *got, const char *bytes, size_t size)
{
	const char *there = payload(got);

	if (got->tr.data_size != size)
		return 0;
	for (size_t i = 0; i < size; i++) {
		if (there[i] != bytes[i])
			return 0;
	}
	return 1;
}

static int echo(struct peer *peer)
{
	union got got;

	if (!ask(peer, ASK_ECHO, NULL, 0, &got) || !has(&got, "bcde", 4))
		return 0;
	peer_free(peer, &got.tr);
	return (const uint8_t *)payload(&got) >= peer->map;
}

static int send_pipe(struct peer *peer)
{
	struct binder_fd_object fd = { .hdr.type = BINDER_TYPE_FD };
	union got got;
	int ends[2];

	if (sys(NR_pipe, (long)ends, 0, 0) || sys(NR_write, ends[1], (long)"wxyz", 4) != 4)
		return 0;
	fd.fd = (uint32_t)ends[0];
	if (!ask(peer, ASK_READ, &fd, sizeof(fd), &got) || !has(&got, "wxyz", 4))
		return 0;
	peer_free(peer, &got.tr);
	return !sys(NR_close, ends[0], 0, 0) && !sys(NR_close, ends[1], 0, 0);
}

static int get_pipe(struct peer *peer)
{
	const struct binder_fd_object *fd;
	uint32_t word = 0;
	union got got;

	if (!ask(peer, ASK_PIPE, NULL, 0, &got))
		return 0;
	fd = payload(&got);
	if (sys(NR_read, (long)fd->fd, (long)&word, 4) != 4 || word != MAGIC)
		return 0;
	peer_free(peer, &got.tr);
	return !sys(NR_close, fd->fd, 0, 0);
}

/* A handle arrives; sent back it is the manager's own object, which answers a call. */
static int get_object(struct peer *peer)
{
	const struct flat_binder_object *flat;
	struct binder_transaction_data tr = { .code = ASK_ECHO };
	union got got, echoed;
	int ok;

	if (!ask(peer, ASK_OBJECT, NULL, 0, &got))
		return 0;
	flat = payload(&got);
	if (flat->hdr.type != BINDER_TYPE_HANDLE || !flat->handle || flat->cookie)
		return 0;
	tr.target.handle = flat->handle;
	ok = ask_with(peer, tr, "1234", 4, NULL, 0, &echoed) && has(&echoed, "2345", 4);
	peer_free(peer, &echoed.tr);
	peer_free(peer, &got.tr);
	return ok;
}

/* The manager calls the object that is sent along before it answers. */
static int get_called_back(struct peer *peer)
{
	struct flat_binder_object flat = {
		.hdr.type = BINDER_TYPE_BINDER,
		.binder = PTR_OF(2),
		.cookie = COOKIE_OF(2),
	};
	struct binder_transaction_data tr = { .code = ASK_CALLBACK }, reply = { 0 };
	union got got;

	peer_send(peer, BC_TRANSACTION, &tr, "call", 4, &flat, sizeof(flat));
	if (!peer_expect(peer, BR_TRANSACTION, &got) || got.tr.code != 77 ||
	    got.tr.target.ptr != PTR_OF(2) || got.tr.cookie != COOKIE_OF(2) ||
	    !has(&got, "call", 4))
		return 0;
	peer_free(peer, &got.tr);
	peer_send(peer, BC_REPLY, &reply, "back", 4, NULL, 0);
	if (!peer_expect(peer, BR_REPLY, &got) || !has(&got, "back", 4))
		return 0;
	peer_free(peer, &got.tr);
	return 1;
}

static int gather(struct peer *peer)
{
	static const uint8_t bytes[] = { 1, 2, 3, 40, 50 };
	const struct binder_buffer_object object = {
		.hdr.type = BINDER_TYPE_PTR,
		.buffer = (uintptr_t)bytes,
		.length = sizeof(bytes),
	};
	static const binder_size_t offset;
	struct binder_transaction_data_sg sg = {
		.transaction_data = {
			.code = ASK_GATHERED,
			.data_size = sizeof(object),
			.offsets_size = sizeof(offset),
			.data.ptr.buffer = (uintptr_t)&object,
			.data.ptr.offsets = (uintptr_t)&offset,
		},
		.buffers_size = 8,
	};
	union got got;

	peer_put(peer, BC_TRANSACTION_SG, &sg, sizeof(sg));
	if (!peer_expect(peer, BR_REPLY, &got) || !has(&got, "\x60", 1))
		return 0;
	peer_free(peer, &got.tr);
	return 1;
}

static int ioctls(struct peer *peer)
{
	struct binder_node_debug_info node = { 0 };
	struct binder_frozen_status_info frozen = { 0 };
	struct binder_freeze_info freeze = { 0 };
	uint32_t max = 3, on = 1;

	frozen.pid = (uint32_t)sys(NR_getpid, 0, 0, 0);
	freeze.pid = frozen.pid;
	return !peer_flush(peer) && !sys(NR_ioctl, peer->fd, BINDER_SET_MAX_THREADS, (long)&max) &&
	       !sys(NR_ioctl, peer->fd, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, (long)&on) &&
	       !sys(NR_ioctl, peer->fd, BINDER_GET_NODE_DEBUG_INFO, (long)&node) &&
	       !sys(NR_ioctl, peer->fd, BINDER_GET_FROZEN_INFO, (long)&frozen) &&
	       !sys(NR_ioctl, peer->fd, BINDER_FREEZE, (long)&freeze) && !frozen.sync_recv &&
	       sys(NR_ioctl, peer->fd, _IO('b', 99), 0) == -EINVAL &&
	       sys(NR_ioctl, peer->fd, BINDER_WRITE_READ, 8) == -EFAULT;
}

static int polls(struct peer *peer)
{
	struct sys_poll_fd poll = { .fd = peer->fd, .events = POLLIN };
	struct binder_transaction_data tr = { .code = ASK_ECHO };
	union got got;

	peer_send(peer, BC_TRANSACTION, &tr, "4567", 4, NULL, 0);
	if (peer_flush(peer) || sys_poll(&poll, 3000) != 1 || poll.revents != POLLIN)
		return 0;
	if (!peer_expect(peer, BR_REPLY, &got) || !has(&got, "5678", 4))
		return 0;
	peer_free(peer, &got.tr);
	return 1;
}

/* The manager is asked to exit, and its death is notified, with a cookie of 64 bits. */
static int see_it_die(struct peer *peer)
{
	struct binder_transaction_data tr = { .code = ASK_END, .flags = TF_ONE_WAY };
	struct binder_handle_cookie request = { .handle = 0, .cookie = COOKIE_OF(3) };
	uint32_t handle = 0;
	union got got;

	peer_put(peer, BC_ACQUIRE, &handle, sizeof(handle));
	peer_put(peer, BC_REQUEST_DEATH_NOTIFICATION, &request, sizeof(request));
	peer_send(peer, BC_TRANSACTION, &tr, "", 0, NULL, 0);
	if (!peer_expect(peer, BR_DEAD_BINDER, &got) || got.cookie != COOKIE_OF(3))
		return 0;
	peer_put(peer, BC_DEAD_BINDER_DONE, &got.cookie, sizeof(got.cookie));
	return !peer_flush(peer);
}

static const struct {
	const char *name;
	int (*step)(struct peer *peer);
} steps[] = {
	{ "a call and its reply", echo },
	{ "a descriptor to the manager", send_pipe },
	{ "a descriptor to the client", get_pipe },
	{ "an object of the manager's", get_object },
	{ "a callback", get_called_back },
	{ "a scatter-gather call", gather },
	{ "the other ioctls", ioctls },
	{ "poll", polls },
	{ "the manager's death", see_it_die },
};

int peer_ask(struct peer *peer)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int ok = steps[i].step(peer);

		peer_say(ok ? "ok " : "not ok ", steps[i].name);
		failed += !ok;
	}
	return failed != 0;
}
