/* SPDX-License-Identifier: GPL-2.0 */
/* files: open files in the processes of clients, to be sent and recognised by their content. */
#ifndef CONFORMANCE_FILES_H
#define CONFORMANCE_FILES_H

#include "client.h"

/* A new file in the client's process with this text (at most 15 bytes); its number there. */
int make_file(struct client *client, const char *text);
/* This descriptor of the client refers to that file; or to none. */
void expect_file(struct client *client, int fd, const char *text);
void expect_closed(struct client *client, int fd);
/* fcntl(F_GETFD) in the client's process, or -errno. */
int file_flags(struct client *client, int fd);
void close_file(struct client *client, int fd);

#endif
