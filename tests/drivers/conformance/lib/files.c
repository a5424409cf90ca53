// SPDX-License-Identifier: GPL-2.0
/*
 * A memory file with a few bytes in it is enough: a process that can read the bytes has the file.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"
#include "test.h"

struct probe {
	int fd;
	char text[16];
	int flags; /* F_GETFD or -errno */
	int size;  /* bytes of text read, or -errno */
};

static struct probe *probe(struct client *client, void (*step)(void *arg), struct probe probe)
{
	struct probe *shared = shared_copy(&probe, sizeof(probe));

	client_run(client, step, shared);
	return shared;
}

static void do_make(void *arg)
{
	struct probe *probe = arg;

	probe->fd = memfd_create("conformance", 0);
	EXPECT(probe->fd >= 0);
	EXPECT_EQ(write(probe->fd, probe->text, sizeof(probe->text)), sizeof(probe->text));
}

static void do_look(void *arg)
{
	struct probe *probe = arg;

	probe->flags = fcntl(probe->fd, F_GETFD);
	if (probe->flags < 0)
		probe->flags = -errno;
	probe->size = (int)pread(probe->fd, probe->text, sizeof(probe->text), 0);
	if (probe->size < 0)
		probe->size = -errno;
}

static void do_close(void *arg)
{
	struct probe *probe = arg;

	EXPECT_EQ(close(probe->fd), 0);
}

int make_file(struct client *client, const char *text)
{
	struct probe file = { 0 };

	strncpy(file.text, text, sizeof(file.text) - 1);
	return probe(client, do_make, file)->fd;
}

void expect_file(struct client *client, int fd, const char *text)
{
	struct probe *found = probe(client, do_look, (struct probe){ .fd = fd });

	EXPECT_EQ(found->size, sizeof(found->text));
	if (strcmp(found->text, text))
		FAIL("descriptor %d holds \"%s\", expected \"%s\"", fd, found->text, text);
}

void expect_closed(struct client *client, int fd)
{
	EXPECT_EQ(file_flags(client, fd), -EBADF);
}

int file_flags(struct client *client, int fd)
{
	return probe(client, do_look, (struct probe){ .fd = fd })->flags;
}

void close_file(struct client *client, int fd)
{
	probe(client, do_close, (struct probe){ .fd = fd });
}
