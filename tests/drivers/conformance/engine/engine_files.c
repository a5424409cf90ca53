// SPDX-License-Identifier: GPL-2.0
/*
 * The files of files.h on the test host, where a file is an identity: the texts are kept here, by
 * that. Each open has a table of descriptors.
 */
#include <string.h>

#include "files.h"
#include "host.h"
#include "test.h"

#define NR_TEXTS 256

struct sim_proc *engine_sim(int fd);

static char texts[NR_TEXTS][16];

static uint32_t id_of(struct client *client, int fd)
{
	return sim_file_id(engine_sim(client->port->fd), (uint32_t)fd);
}

int make_file(struct client *client, const char *text)
{
	struct sim_proc *sim = engine_sim(client->port->fd);
	uint32_t fd = sim_file_open(sim), id = sim_file_id(sim, fd);

	EXPECT(id < NR_TEXTS);
	strncpy(texts[id], text, sizeof(texts[id]) - 1);
	return (int)fd;
}

void expect_file(struct client *client, int fd, const char *text)
{
	uint32_t id = id_of(client, fd);

	EXPECT(id);
	if (strcmp(texts[id], text))
		FAIL("descriptor %d holds \"%s\", expected \"%s\"", fd, texts[id], text);
}

void expect_closed(struct client *client, int fd)
{
	EXPECT_EQ(id_of(client, fd), 0);
}

int file_flags(struct client *client, int fd)
{
	(void)client;
	(void)fd;
	test_skip("a simulated file has no flags");
}

void close_file(struct client *client, int fd)
{
	sim_file_close(engine_sim(client->port->fd), (uint32_t)fd);
}
