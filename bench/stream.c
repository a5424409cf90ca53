// SPDX-License-Identifier: GPL-2.0
/*
 * Two plain streams between processes: a unix socket and a pair of pipes.
 *
 * No marshalling, no names, no checks: a lower bound for any IPC with data. Both ends know the
 * sizes; a request and a reply are eight bytes longer than the payload, so that an empty one is
 * a message too.
 */
#include "bench/fail.h"
#include "bench/peer.h"

#include <sys/socket.h>
#include <unistd.h>

#define HEADER_BYTES 8

struct stream {
	int client_in, client_out, server_in, server_out;
};

struct connection {
	int in, out;
	size_t request_bytes, reply_bytes;
	void *request, *reply;
};

static void *unix_prepare(const struct cell *cell)
{
	struct stream *streams = new_zeroed((size_t)cell->nr_pairs * sizeof(*streams));

	for (int i = 0; i < cell->nr_pairs; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
			fail_errno("socketpair");
		streams[i] = (struct stream){ ends[0], ends[0], ends[1], ends[1] };
	}
	return streams;
}

static void *pipe_prepare(const struct cell *cell)
{
	struct stream *streams = new_zeroed((size_t)cell->nr_pairs * sizeof(*streams));

	for (int i = 0; i < cell->nr_pairs; i++) {
		int requests[2], replies[2];

		if (pipe(requests) || pipe(replies))
			fail_errno("pipe");
		streams[i] = (struct stream){ replies[0], requests[1], requests[0], replies[1] };
	}
	return streams;
}

static void put(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t done = write(fd, data, size);

		if (done < 0)
			fail_errno("write");
		data += done;
		size -= (size_t)done;
	}
}

static void get(int fd, char *data, size_t size)
{
	while (size) {
		ssize_t done = read(fd, data, size);

		if (done <= 0)
			fail_errno("read");
		data += done;
		size -= (size_t)done;
	}
}

static struct connection *connection_new(int in, int out, const struct cell *cell)
{
	struct connection *new = new_zeroed(sizeof(*new));

	*new = (struct connection){
		.in = in,
		.out = out,
		.request_bytes = cell->request_bytes + HEADER_BYTES,
		.reply_bytes = cell->reply_bytes + HEADER_BYTES,
	};
	new->request = payload_new(new->request_bytes);
	new->reply = payload_new(new->reply_bytes);
	return new;
}

static void stream_serve(void *state, const struct cell *cell, int pair)
{
	struct stream *stream = (struct stream *)state + pair;
	struct connection *mine = connection_new(stream->server_in, stream->server_out, cell);

	cell_process_ready();
	for (;;) {
		get(mine->in, mine->request, mine->request_bytes);
		payload_read(mine->request, mine->request_bytes);
		put(mine->out, mine->reply, mine->reply_bytes);
	}
}

static void *stream_connect(void *state, const struct cell *cell, int pair)
{
	struct stream *stream = (struct stream *)state + pair;

	return connection_new(stream->client_in, stream->client_out, cell);
}

static void stream_call(void *connection)
{
	struct connection *mine = connection;

	put(mine->out, mine->request, mine->request_bytes);
	get(mine->in, mine->reply, mine->reply_bytes);
	payload_read(mine->reply, mine->reply_bytes);
}

#define STREAM_PEER(name_, prepare_)                                                           \
	{                                                                                      \
		.name = name_, .prepare = prepare_, .serve = stream_serve,                     \
		.connect = stream_connect, .call = stream_call,                                \
	}

const struct peer peer_unix = STREAM_PEER("unix", unix_prepare);
const struct peer peer_pipe = STREAM_PEER("pipe", pipe_prepare);
