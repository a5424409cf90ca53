// SPDX-License-Identifier: GPL-2.0
/* The context manager: serves requests until it is asked to exit. */
#include "compat.h"

struct answer {
	uint8_t data[64];
	size_t size;
	union object object;	/* type 0: none */
};

static int echo(struct peer *peer, const struct returned *got, struct answer *answer)
{
	answer->size = got->txn.data_size;
	for (size_t i = 0; i < answer->size && i < sizeof(answer->data); i++)
		answer->data[i] = (uint8_t)(got->data[i] + 1);
	return 1;
}

static int read_pipe(struct peer *peer, const struct returned *got, struct answer *answer)
{
	const union object *object = returned_object(got, 0);

	answer->size = 4;
	return object && sys(NR_read, (long)object->fd.fd, (long)answer->data, 4) == 4 &&
	       !sys(NR_close, (long)object->fd.fd, 0, 0);
}

static int make_pipe(struct peer *peer, const struct returned *got, struct answer *answer)
{
	const uint32_t magic = MAGIC;
	int ends[2];

	if (sys(NR_pipe, (long)ends, 0, 0) || sys(NR_write, ends[1], (long)&magic, 4) != 4)
		return 0;
	sys(NR_close, ends[1], 0, 0);
	answer->object = (union object)OBJ_FD(ends[0]);
	return 1;
}

static int give_object(struct peer *peer, const struct returned *got, struct answer *answer)
{
	answer->object = (union object)OBJ_BINDER(PTR_OF(1), COOKIE_OF(1),
						  .flags = FLAT_BINDER_FLAG_ACCEPTS_FDS);
	return 1;
}

static int call_back(struct peer *peer, const struct returned *got, struct answer *answer)
{
	const union object *object = returned_object(got, 0);
	struct binder_transaction_data inner = { .code = 77 };
	struct returned reply;

	if (!object)
		return 0;
	inner.target.handle = object->flat.handle;
	peer_pack(&inner, got->data, 4, NULL);
	if (looper_call(&peer->looper, &inner, &reply) || reply.cmd != BR_REPLY)
		return 0;
	answer->size = reply.txn.data_size < sizeof(answer->data) ? reply.txn.data_size : 0;
	for (size_t i = 0; i < answer->size; i++)
		answer->data[i] = reply.data[i];
	looper_free(&peer->looper, &reply.txn);
	return 1;
}

static int sum_gathered(struct peer *peer, const struct returned *got, struct answer *answer)
{
	const union object *object = returned_object(got, 0);
	const uint8_t *bytes;

	if (!object)
		return 0;
	bytes = (const void *)(uintptr_t)object->ptr.buffer;
	answer->size = 1;
	for (size_t i = 0; i < object->ptr.length; i++)
		answer->data[0] = (uint8_t)(answer->data[0] + bytes[i]);
	return bytes > peer->port.map;
}

static int (*const asked[])(struct peer *peer, const struct returned *got,
			    struct answer *answer) = {
	[ASK_ECHO] = echo,
	[ASK_READ] = read_pipe,
	[ASK_PIPE] = make_pipe,
	[ASK_OBJECT] = give_object,
	[ASK_CALLBACK] = call_back,
	[ASK_GATHERED] = sum_gathered,
};

static int serve(struct peer *peer, const struct returned *got)
{
	const uint32_t code = got->txn.code;
	struct binder_transaction_data reply = { 0 };
	struct answer answer = { .size = 0 };

	if (!code || code >= sizeof(asked) / sizeof(asked[0]) || !asked[code](peer, got, &answer))
		return 0;
	looper_free(&peer->looper, &got->txn);
	peer_pack(&reply, answer.data, answer.size,
		  answer.object.hdr.type ? &answer.object : NULL);
	commands_put_reply(&peer->looper.out, &reply);
	return 1;
}

int peer_serve(struct peer *peer)
{
	struct returned got;

	if (port_manage(&peer->port)) {
		peer_say("not ok ", "manager");
		return 2;
	}
	commands_put(&peer->looper.out, BC_ENTER_LOOPER, NULL);
	if (looper_flush(&peer->looper))
		return 2;
	peer_say("ready", "");
	while (!looper_await(&peer->looper, BR_TRANSACTION, &got)) {
		if (got.txn.code == ASK_END)
			return 0;
		if (!serve(peer, &got)) {
			peer_say("not ok ", "served");
			return 1;
		}
	}
	peer_say("not ok ", "loop");
	return 1;
}
