// SPDX-License-Identifier: GPL-2.0
/* The messages between the two processes of a hand-over. */
#include "handover/peer.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* The other side reads at once, or is hung. */
#define SEND_MS 1000

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(PEER_FDS_MAX * sizeof(int))];
};

/* False: @events did not come within @timeout_ms. */
static bool wait_for(int socket, short events, int timeout_ms)
{
	struct pollfd pollfd = { .fd = socket, .events = events };
	u64 end = clock_now_ns() + (u64)timeout_ms * 1000000;
	u64 now = clock_now_ns();
	int got;

	do {
		got = poll(&pollfd, 1, now < end ? (int)((end - now + 999999) / 1000000) : 0);
		now = clock_now_ns();
	} while (got < 0 && errno == EINTR);
	return got > 0;
}

bool peer_send(int socket, const struct peer_message *message, const int *fds, u32 nr)
{
	union control control = { 0 };
	struct iovec iov = { (void *)message, sizeof(*message) };
	struct msghdr head = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t sent;

	if (nr) {
		head.msg_control = &control;
		head.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(nr * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, nr * sizeof(int));
	}
	do {
		sent = sendmsg(socket, &head, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (sent < 0 && (errno == EINTR || errno == EAGAIN) &&
		 wait_for(socket, POLLOUT, SEND_MS));
	return sent == sizeof(*message);
}

static void take_fds(struct msghdr *head, int *fds, u32 max, u32 *nr)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(head);
	size_t count;

	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
		return;
	count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
		if (*nr < max)
			fds[(*nr)++] = fd;
		else
			close(fd);
	}
}

int peer_receive(int socket, struct peer_message *message, int *fds, u32 max, u32 *nr,
		 int timeout_ms)
{
	union control control;
	struct iovec iov = { message, sizeof(*message) };
	struct msghdr head = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			       .msg_controllen = sizeof(control) };
	ssize_t got;

	*nr = 0;
	memset(message, 0, sizeof(*message));
	if (!wait_for(socket, POLLIN, timeout_ms))
		return 0;
	do {
		got = recvmsg(socket, &head, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got > 0)
		take_fds(&head, fds, max, nr);
	message->text[sizeof(message->text) - 1] = 0;
	return got >= (ssize_t)offsetof(struct peer_message, text) ? 1 : -1;
}
