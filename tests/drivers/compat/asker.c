// SPDX-License-Identifier: GPL-2.0
/* The client: makes one request to the manager after the other, and prints the result of each. */
#include "compat.h"

#define EINVAL 22
#define EFAULT 14
#define POLLIN 1

static int ask_with(struct peer *peer, struct binder_transaction_data tr, const void *data,
		    size_t size, const union object *object, struct returned *got)
{
	peer_pack(&tr, data, size, object);
	return !looper_call(&peer->looper, &tr, got) && got->cmd == BR_REPLY;
}

static int ask(struct peer *peer, uint32_t code, const union object *object, struct returned *got)
{
	struct binder_transaction_data tr = { .code = code, .flags = TF_ACCEPT_FDS };

	return ask_with(peer, tr, "abcd", 4, object, got);
}

static void free_received(struct peer *peer, const struct returned *got)
{
	looper_free(&peer->looper, &got->txn);
}

static int has(const struct returned *got, const char *bytes, size_t size)
{
	if (got->txn.data_size != size)
		return 0;
	for (size_t i = 0; i < size; i++) {
		if (got->data[i] != (uint8_t)bytes[i])
			return 0;
	}
	return 1;
}

static int echo(struct peer *peer)
{
	struct returned got;

	if (!ask(peer, ASK_ECHO, NULL, &got) || !has(&got, "bcde", 4))
		return 0;
	free_received(peer, &got);
	return got.data >= peer->port.map;
}

static int send_pipe(struct peer *peer)
{
	union object fd;
	struct returned got;
	int ends[2];

	if (sys(NR_pipe, (long)ends, 0, 0) || sys(NR_write, ends[1], (long)"wxyz", 4) != 4)
		return 0;
	fd = (union object)OBJ_FD(ends[0]);
	if (!ask(peer, ASK_READ, &fd, &got) || !has(&got, "wxyz", 4))
		return 0;
	free_received(peer, &got);
	return !sys(NR_close, ends[0], 0, 0) && !sys(NR_close, ends[1], 0, 0);
}

static int get_pipe(struct peer *peer)
{
	const union object *fd;
	uint32_t word = 0;
	struct returned got;

	if (!ask(peer, ASK_PIPE, NULL, &got))
		return 0;
	fd = returned_object(&got, 0);
	if (!fd || sys(NR_read, (long)fd->fd.fd, (long)&word, 4) != 4 || word != MAGIC)
		return 0;
	free_received(peer, &got);
	return !sys(NR_close, (long)fd->fd.fd, 0, 0);
}

/* A handle arrives; sent back it is the manager's own object, which answers a call. */
static int get_object(struct peer *peer)
{
	const union object *object;
	struct binder_transaction_data tr = { .code = ASK_ECHO };
	struct returned got, echoed;
	int ok;

	if (!ask(peer, ASK_OBJECT, NULL, &got))
		return 0;
	object = returned_object(&got, 0);
	if (!object || object->hdr.type != BINDER_TYPE_HANDLE || !object->flat.handle ||
	    object->flat.cookie)
		return 0;
	tr.target.handle = object->flat.handle;
	ok = ask_with(peer, tr, "1234", 4, NULL, &echoed) && has(&echoed, "2345", 4);
	free_received(peer, &echoed);
	free_received(peer, &got);
	return ok;
}

/* The manager calls the object that is sent along before it answers. */
static int get_called_back(struct peer *peer)
{
	const union object mine = OBJ_BINDER(PTR_OF(2), COOKIE_OF(2));
	struct binder_transaction_data tr = { .code = ASK_CALLBACK }, reply = { 0 };
	struct returned got;

	peer_pack(&tr, "call", 4, &mine);
	commands_put_call(&peer->looper.out, &tr);
	if (looper_await(&peer->looper, BR_TRANSACTION, &got) || got.txn.code != 77 ||
	    got.txn.target.ptr != PTR_OF(2) || got.txn.cookie != COOKIE_OF(2) ||
	    !has(&got, "call", 4))
		return 0;
	free_received(peer, &got);
	peer_pack(&reply, "back", 4, NULL);
	commands_put_reply(&peer->looper.out, &reply);
	if (looper_await(&peer->looper, BR_REPLY, &got) || !has(&got, "back", 4))
		return 0;
	free_received(peer, &got);
	return 1;
}

static int gather(struct peer *peer)
{
	static const uint8_t bytes[] = { 1, 2, 3, 40, 50 };
	const union object object = OBJ_PTR(bytes, sizeof(bytes));
	struct binder_transaction_data_sg sg = {
		.transaction_data.code = ASK_GATHERED,
		.buffers_size = 8,
	};
	struct returned got;

	peer_pack(&sg.transaction_data, "", 0, &object);
	commands_put_call_sg(&peer->looper.out, &sg);
	if (looper_await(&peer->looper, BR_REPLY, &got) || !has(&got, "\x60", 1))
		return 0;
	free_received(peer, &got);
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
	return !looper_flush(&peer->looper) &&
	       !port_ioctl(&peer->port, BINDER_SET_MAX_THREADS, &max) &&
	       !port_ioctl(&peer->port, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &on) &&
	       !port_ioctl(&peer->port, BINDER_GET_NODE_DEBUG_INFO, &node) &&
	       !port_ioctl(&peer->port, BINDER_GET_FROZEN_INFO, &frozen) &&
	       !port_ioctl(&peer->port, BINDER_FREEZE, &freeze) && !frozen.sync_recv &&
	       port_ioctl(&peer->port, _IO('b', 99), NULL) == -EINVAL &&
	       port_ioctl(&peer->port, BINDER_WRITE_READ, (void *)8) == -EFAULT;
}

static int polls(struct peer *peer)
{
	struct sys_poll_fd poll = { .fd = peer->port.fd, .events = POLLIN };
	struct binder_transaction_data tr = { .code = ASK_ECHO };
	struct returned got;

	peer_pack(&tr, "4567", 4, NULL);
	commands_put_call(&peer->looper.out, &tr);
	if (looper_flush(&peer->looper) || sys_poll(&poll, 3000) != 1 || poll.revents != POLLIN)
		return 0;
	if (looper_await(&peer->looper, BR_REPLY, &got) || !has(&got, "5678", 4))
		return 0;
	free_received(peer, &got);
	return 1;
}

/* The manager is asked to exit, and its death is notified, with a cookie of 64 bits. */
static int see_it_die(struct peer *peer)
{
	struct binder_transaction_data tr = { .code = ASK_END, .flags = TF_ONE_WAY };
	struct commands *out = &peer->looper.out;
	struct returned got;

	commands_put_u32(out, BC_ACQUIRE, 0);
	commands_put_notice(out, BC_REQUEST_DEATH_NOTIFICATION, 0, COOKIE_OF(3));
	commands_put_call(out, &tr);
	if (looper_await(&peer->looper, BR_DEAD_BINDER, &got) || got.cookie != COOKIE_OF(3))
		return 0;
	commands_acknowledge(out, &got);
	return !looper_flush(&peer->looper);
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
