// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "domain.h"
#include "test.h"

#define CONTEXT_SIZE 64

const char *context_of(const char *domain)
{
	char *context = shared_alloc(CONTEXT_SIZE);

	snprintf(context, CONTEXT_SIZE, "u:r:%s:s0", domain);
	return context;
}

static void do_enter(void *arg)
{
	const char *context = arg;
	int fd = open("/proc/thread-self/attr/current", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, context, strlen(context)) < 0)
		FAIL("entering %s: %s", context, test_errno_name(errno));
	close(fd);
}

void enter_domain(struct client *client, const char *name)
{
	client_run(client, do_enter, (void *)context_of(name));
}

struct client *client_in(const char *domain)
{
	struct actor *by = actor_process();

	actor_run(by, do_enter, (void *)context_of(domain));
	return client_open((struct client_options){ .by = by });
}
