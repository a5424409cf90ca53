/* SPDX-License-Identifier: GPL-2.0 */
/* Messages on a socket that may carry descriptors. */
#ifndef HOST_FUSE_MESSAGE_H
#define HOST_FUSE_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Descriptors of one message; the kernel permits 253. */
#define MESSAGE_FDS_MAX 250u

/* Sends @size bytes and, unless it is -1, the descriptor @attached. False: errno. */
bool message_send(int socket, const void *data, size_t size, int attached);
/* The same with @nr descriptors. */
bool message_send_fds(int socket, const void *data, size_t size, const int *fds, uint32_t nr);

/* Receives a message of at most @size bytes; *@attached is -1 if none came with it. As recv(2). */
ssize_t message_receive(int socket, void *data, size_t size, int *attached);
/* The same with at most @max descriptors at @fds, *@nr of them; more are closed. */
ssize_t message_receive_fds(int socket, void *data, size_t size, int *fds, uint32_t max,
			    uint32_t *nr);

#endif
