// SPDX-License-Identifier: GPL-2.0
/* The context manager: serves requests until it is asked to exit. */
#include "peer.h"

struct answer {
	uint8_t data[64];
	size_t size;
	union {
		struct flat_binder_object flat;
		struct binder_fd_object fd;
	} object;
	size_t object_size;	/* 0: none */
};

static const void *payload(const struct binder_transaction_data *tr)
{
	return (const void *)(uintptr_t)tr->data.ptr.buffer;
}

/* The object of a payload, at the first offset. */
static const void *object(const struct binder_transaction_data *tr)
{
	const binder_size_t *offsets = (const void *)(uintptr_t)tr->data.ptr.offsets;

	return (const uint8_t *)payload(tr) + offsets[0];
}

static int echo(struct peer *peer, const struct binder_transaction_data *tr, struct answer *answer)
{
	const uint8_t *bytes = payload(tr);

	answer->size = tr->data_size;
	for (size_t i = 0; i < tr->data_size && i < sizeof(answer->data); i++)
		answer->data[i] = (uint8_t)(bytes[i] + 1);
	return 1;
}

static int read_pipe(struct peer *peer, const struct binder_transaction_data *tr,
		     struct answer *answer)
{
	const struct binder_fd_object *fd = object(tr);

	answer->size = 4;
	return sys(NR_read, (long)fd->fd, (long)answer->data, 4) == 4 &&
	       !sys(NR_close, (long)fd->fd, 0, 0);
}

static int make_pipe(struct peer *peer, const struct binder_transaction_data *tr,
		     struct answer *answer)
{
	const uint32_t magic = MAGIC;
	int ends[2];

	if (sys(NR_pipe, (long)ends, 0, 0) || sys(NR_write, ends[1], (long)&magic, 4) != 4)
		return 0;
	sys(NR_close, ends[1], 0, 0);
	answer->object.fd = (struct binder_fd_object){ .hdr.type = BINDER_TYPE_FD,
						       .fd = (uint32_t)ends[0] };
	answer->object_size = sizeof(answer->object.fd);
	return 1;
}

static int give_object(struct peer *peer, const struct binder_transaction_data *tr,
		       struct answer *answer)
{
	answer->object.flat = (struct flat_binder_object){
		.hdr.type = BINDER_TYPE_BINDER,
		.flags = FLAT_BINDER_FLAG_ACCEPTS_FDS,
		.binder = PTR_OF(1),
		.cookie = COOKIE_OF(1),
	};
	answer->object_size = sizeof(answer->object.flat);
	return 1;
}

static int call_back(struct peer *peer, const struct binder_transaction_data *tr,
		     struct answer *answer)
{
	const struct flat_binder_object *flat = object(tr);
	struct binder_transaction_data inner = { .target.handle = flat->handle, .code = 77 };
	union {
		struct binder_transaction_data tr;
		struct binder_ptr_cookie ref;
	} got;

	peer_send(peer, BC_TRANSACTION, &inner, payload(tr), 4, NULL, 0);
	if (!peer_expect(peer, BR_REPLY, &got))
		return 0;
	answer->size = got.tr.data_size < sizeof(answer->data) ? got.tr.data_size : 0;
	for (size_t i = 0; i < answer->size; i++)
		answer->data[i] = ((const uint8_t *)payload(&got.tr))[i];
	peer_free(peer, &got.tr);
	return 1;
}

static int sum_gathered(struct peer *peer, const struct binder_transaction_data *tr,
			struct answer *answer)
{
	const struct binder_buffer_object *buffer = object(tr);
	const uint8_t *bytes = (const void *)(uintptr_t)buffer->buffer;

	answer->size = 1;
	for (size_t i = 0; i < buffer->length; i++)
		answer->data[0] = (uint8_t)(answer->data[0] + bytes[i]);
	return bytes > peer->map;
}

static int (*const asked[])(struct peer *peer, const struct binder_transaction_data *tr,
			    struct answer *answer) = {
	[ASK_ECHO] = echo,
	[ASK_READ] = read_pipe,
	[ASK_PIPE] = make_pipe,
	[ASK_OBJECT] = give_object,
	[ASK_CALLBACK] = call_back,
	[ASK_GATHERED] = sum_gathered,
};

static int serve(struct peer *peer, const struct binder_transaction_data *tr)
{
	struct binder_transaction_data reply = { 0 };
	struct answer answer = { .size = 0 };

	if (!tr->code || tr->code >= sizeof(asked) / sizeof(asked[0]) ||
	    !asked[tr->code](peer, tr, &answer))
		return 0;
	peer_free(peer, tr);
	peer_send(peer, BC_REPLY, &reply, answer.data, answer.size,
		  answer.object_size ? &answer.object : NULL, answer.object_size);
	return 1;
}

int peer_serve(struct peer *peer)
{
	struct flat_binder_object self = { .flags = FLAT_BINDER_FLAG_ACCEPTS_FDS | 0x7f };
	union {
		struct binder_transaction_data tr;
		struct binder_ptr_cookie ref;
	} got;

	if (sys(NR_ioctl, peer->fd, BINDER_SET_CONTEXT_MGR_EXT, (long)&self)) {
		peer_say("not ok ", "manager");
		return 2;
	}
	peer_put(peer, BC_ENTER_LOOPER, NULL, 0);
	if (peer_flush(peer))
		return 2;
	peer_say("ready", "");
	while (peer_expect(peer, BR_TRANSACTION, &got)) {
		if (got.tr.code == ASK_END)
			return 0;
		if (!serve(peer, &got.tr)) {
			peer_say("not ok ", "served");
			return 1;
		}
	}
	peer_say("not ok ", "loop");
	return 1;
}
