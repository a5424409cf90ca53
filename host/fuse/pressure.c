// SPDX-License-Identifier: GPL-2.0
/*
 * Memory pressure.
 *
 * The pages under a freed buffer keep their memory, since the next buffer will want it. When tasks
 * begin to lose time to a lack of memory, the kernel says so (pressure stall information), and
 * everything idle goes back. Where the kernel does not say, pages stay with their open, which
 * bounds them.
 */
#include "pressure.h"

#include "core.h"
#include "log.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/*
 * Tell us when some task has lost 150 ms within 2 s; unprivileged users may ask for no less than 2
 * s.
 */
#define TRIGGER "some 150000 2000000"

/* Pages given back at a time. */
#define BATCH 1024

int pressure_open(void)
{
	int fd = open("/proc/pressure/memory", O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && write(fd, TRIGGER, strlen(TRIGGER) + 1) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void pressure_relieve(void)
{
	size_t total = 0;
	size_t given;

	do {
		given = binder_shrink(BATCH);
		total += given;
	} while (given);
	log_info("memory is short: gave %zu idle pages back", total);
}
