// SPDX-License-Identifier: GPL-2.0
/*
 * The driver releases a closed or dead open asynchronously. Its statistics show when that is done:
 * the number of live processes ("proc: active N") is decreased last. The Rust driver's have no such
 * numbers, but a paragraph ("proc PID") for each open, which is gone when its release begins: the
 * rest of the release is given time.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "differential.h"
#include "test.h"

#define QUIESCE_TIMEOUT_MS 10000
#define RELEASE_US 20000

const char *quiesce_find_stats(const char *device_dir)
{
	static char path[4096];
	static const char *const debugfs = "/sys/kernel/debug/binder/stats";

	snprintf(path, sizeof(path), "%s/binder_logs/stats", device_dir);
	if (!access(path, R_OK))
		return path;
	return access(debugfs, R_OK) ? NULL : debugfs;
}

static char *read_stats(const char *stats)
{
	static char text[16384];
	int err = test_read_text(stats, text, sizeof(text));

	if (err)
		FAIL("%s: %s", stats, test_errno_name(-err));
	return text;
}

unsigned int quiesce_count(const char *stats, const char *what)
{
	unsigned int count = 0;
	char heading[64], *line;

	snprintf(heading, sizeof(heading), "\n%s: active ", what);
	line = strstr(read_stats(stats), heading);
	if (line && sscanf(line + strlen(heading), "%u", &count) != 1)
		FAIL("%s is malformed", stats);
	return count;
}

/* How many opens are listed; *has_numbers: the statistics say it themselves. */
static unsigned int count_opens(const char *stats, bool *has_numbers)
{
	unsigned int count = 0;
	const char *at = read_stats(stats);

	*has_numbers = strstr(at, "\nproc: active ");
	if (*has_numbers)
		return quiesce_count(stats, "proc");
	while ((at = strstr(at, "\nproc "))) {
		at++;
		count++;
	}
	return count;
}

void quiesce(const char *stats, unsigned int opens)
{
	int64_t deadline = now_ms() + QUIESCE_TIMEOUT_MS;
	unsigned int count;
	bool has_numbers;

	while ((count = count_opens(stats, &has_numbers)) > opens) {
		if (now_ms() > deadline)
			FAIL("closed opens were not released: %u, want %u", count, opens);
		usleep(300);
	}
	if (!has_numbers && opens)
		usleep(RELEASE_US);
}
