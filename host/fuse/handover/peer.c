// SPDX-License-Identifier: GPL-2.0
/* The messages between the two processes of a hand-over. */
#include "handover/peer.h"

#include "base/message.h"
#include "core.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

/* The other side reads at once, or is hung. */
#define SEND_MS 1000

/* For how long the next sending (SO_SNDTIMEO) or receiving may wait. */
static void set_time_limit(int socket, int option, int ms)
{
	const struct timeval limit = { ms / 1000, ms % 1000 * 1000 };

	setsockopt(socket, SOL_SOCKET, option, &limit, sizeof(limit));
}

bool peer_send(int socket, const struct peer_message *message, const int *fds, u32 nr)
{
	set_time_limit(socket, SO_SNDTIMEO, SEND_MS);
	return message_send_fds(socket, message, sizeof(*message), fds, nr);
}

bool peer_say(int socket, enum peer_kind kind, const char *text, const int *fds, u32 nr)
{
	struct peer_message message = {
		.kind = kind, .version = PEER_VERSION, .oldest = PEER_OLDEST,
		.engine_version = BINDER_STATE_VERSION, .engine_oldest = BINDER_STATE_OLDEST,
	};

	snprintf(message.text, sizeof(message.text), "%s", text);
	return peer_send(socket, &message, fds, nr);
}

int peer_receive(int socket, struct peer_message *message, int *fds, u32 max, u32 *nr,
		 int timeout_ms)
{
	ssize_t got;

	memset(message, 0, sizeof(*message));
	set_time_limit(socket, SO_RCVTIMEO, timeout_ms);
	got = message_receive_fds(socket, message, sizeof(*message), fds, max, nr);
	message->text[sizeof(message->text) - 1] = 0;
	if (got < 0 && errno == EAGAIN)
		return 0;
	return got >= (ssize_t)offsetof(struct peer_message, text) ? 1 : -1;
}
