// SPDX-License-Identifier: GPL-2.0
/* Messages on a socket that may carry a descriptor (SCM_RIGHTS). */
#include "base/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

bool message_send(int socket, const void *data, size_t size, int attached)
{
	union control control = { 0 };
	struct iovec iov = { (void *)data, size };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t sent;

	if (attached >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &attached, sizeof(int));
	}
	do {
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)size;
}

ssize_t message_receive(int socket, void *data, size_t size, int *attached)
{
	union control control = { 0 };
	struct iovec iov = { data, size };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg;
	ssize_t got;

	do {
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	*attached = -1;
	cmsg = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (cmsg && cmsg->cmsg_type == SCM_RIGHTS)
		memcpy(attached, CMSG_DATA(cmsg), sizeof(int));
	return got;
}
