// SPDX-License-Identifier: GPL-2.0
/* Threads that lack nothing but a processor, by their state in /proc. */
#include "base/runnable.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool thread_is_runnable(pid_t tid)
{
	char path[64], text[256];
	const char *state = NULL;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got > 0) {
		text[got] = 0;
		state = strrchr(text, ')');	/* ends the name */
	}
	return state && !strncmp(state, ") R", 3);
}
