// SPDX-License-Identifier: GPL-2.0
/*
 * Memory pressure.
 *
 * The pages under a freed buffer keep their memory for the next buffer. When tasks begin to stall
 * on memory, the kernel reports it (pressure stall information) and all idle pages are returned.
 * Without that report, idle pages stay with their open, whose map size bounds them.
 */
#include "memory/pressure.h"

#include "base/log.h"
#include "core.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Some task stalled for 150 ms within 2 s, the shortest window for unprivileged users. */
#define TRIGGER "some 150000 2000000"

/* Pages returned at a time. */
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
	log_info("memory pressure: returned %zu idle pages to the system", total);
}
