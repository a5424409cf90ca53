// SPDX-License-Identifier: GPL-2.0
/* Messages on a socket that may carry descriptors (SCM_RIGHTS). */
#include "base/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))];
};

bool message_send_fds(int socket, const void *data, size_t size, const int *fds, uint32_t nr)
{
	union control control = { 0 };
	struct iovec iov = { (void *)data, size };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t sent;

	if (nr) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(nr * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, nr * sizeof(int));
	}
	do {
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)size;
}

bool message_send(int socket, const void *data, size_t size, int attached)
{
	return message_send_fds(socket, data, size, &attached, attached >= 0);
}

static uint32_t take_fds(struct msghdr *message, int *fds, uint32_t max)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(message);
	uint32_t nr = 0;
	size_t count;

	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
		return 0;
	count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
		if (nr < max)
			fds[nr++] = fd;
		else
			close(fd);
	}
	return nr;
}

ssize_t message_receive_fds(int socket, void *data, size_t size, int *fds, uint32_t max,
			    uint32_t *nr)
{
	union control control;
	struct iovec iov = { data, size };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t got;

	do {
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	*nr = got > 0 ? take_fds(&message, fds, max) : 0;
	return got;
}

ssize_t message_receive(int socket, void *data, size_t size, int *attached)
{
	uint32_t nr;

	*attached = -1;
	return message_receive_fds(socket, data, size, attached, 1, &nr);
}
