/* SPDX-License-Identifier: GPL-2.0 */
/* Messages on a socket that may carry a descriptor. */
#ifndef HOST_FUSE_MESSAGE_H
#define HOST_FUSE_MESSAGE_H

#include <stdbool.h>
#include <sys/types.h>

/* Sends @size bytes and, unless it is -1, the descriptor @attached. False: errno. */
bool message_send(int socket, const void *data, size_t size, int attached);

/* Receives a message of at most @size bytes; *@attached is -1 if none came with it. As recv(2). */
ssize_t message_receive(int socket, void *data, size_t size, int *attached);

#endif
