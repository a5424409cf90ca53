// SPDX-License-Identifier: GPL-2.0
/* Which processes have a file open, according to /proc. */
#include "holders.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the line "ino:" of fdinfo: stat(2) would ask the file system, which might not respond. */
static bool is_inode(int fdinfo_dir, const char *name, u64 nodeid)
{
	char text[512];
	const char *line;
	ssize_t got;
	int fd = openat(fdinfo_dir, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = 0;
	line = strstr(text, "\nino:");
	return line && strtoull(line + 5, NULL, 10) == nodeid;
}

static bool process_holds(const char *pid, u64 nodeid)
{
	char path[300];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir)))
		found = entry->d_name[0] != '.' && is_inode(dirfd(dir), entry->d_name, nodeid);
	closedir(dir);
	return found;
}

bool holders_exist(u64 nodeid)
{
	struct dirent *entry;
	bool found = false;
	DIR *dir = opendir("/proc");

	if (!dir)
		return true;
	while (!found && (entry = readdir(dir)))
		found = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			process_holds(entry->d_name, nodeid);
	closedir(dir);
	return found;
}
