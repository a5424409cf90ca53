// SPDX-License-Identifier: GPL-2.0
/*
 * close() and death return before the driver has told others of it. Its statistics tell when all
 * is done: the number of live processes ("proc: active N") falls as the very last thing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "settle.h"
#include "test.h"

#define SETTLE_TIMEOUT_MS 10000

const char *settle_find_stats(const char *device_dir)
{
	static char path[4096];
	static const char *const debugfs = "/sys/kernel/debug/binder/stats";

	snprintf(path, sizeof(path), "%s/binder_logs/stats", device_dir);
	if (!access(path, R_OK))
		return path;
	return access(debugfs, R_OK) ? NULL : debugfs;
}

static unsigned int count_opens(const char *stats)
{
	static char text[16384];
	unsigned int count = 0;
	size_t size = 0;
	ssize_t got;
	char *line;
	int fd = open(stats, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		FAIL("%s: %s", stats, test_errno_name(errno));
	while ((got = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
		size += (size_t)got;
	close(fd);
	text[size] = '\0';
	line = strstr(text, "\nproc: active ");
	if (line && sscanf(line, "\nproc: active %u", &count) != 1)
		FAIL("%s cannot be understood", stats);
	return count;
}

void settle(const char *stats, unsigned int opens)
{
	int64_t deadline = now_ms() + SETTLE_TIMEOUT_MS;

	while (count_opens(stats) > opens) {
		if (now_ms() > deadline)
			FAIL("closed opens stay: %u of %u", count_opens(stats), opens);
		usleep(300);
	}
}
