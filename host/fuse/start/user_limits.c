// SPDX-License-Identifier: GPL-2.0
/*
 * The limits of users: from the options (options.c has the defaults), and from what the system
 * gives the daemon. users.c counts what users have, and refuses what is beyond them.
 */
#include "start/user_limits.h"

#include "clients/users.h"
#include "start/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Stuck workers: limit of all users together and of one user (see worker_pool.h). */
#define STUCK_ALL 64
#define STUCK_ONE 16

/* Operations of the helper process that users delay (fds.h). */
#define STALLED_ALL 64
#define STALLED_ONE 8

/* Inodes of devices that a user may have besides those of its opens. */
#define INODES_MORE 1024

/* Reports and directories open at once. */
#define HANDLES_ALL 1024
#define HANDLES_ONE 64

/* Descriptors that the daemon needs for itself. */
#define OWN_FILES 32

static unsigned int limits_least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static unsigned int at_least_one(unsigned int a)
{
	return a ? a : 1;
}

/* The descriptors that are left for clients. */
static unsigned int files_for_clients(void)
{
	struct rlimit limit = { 1024, 1024 };
	unsigned int files;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	getrlimit(RLIMIT_NOFILE, &limit);
	files = limit.rlim_cur > 1u << 20 ? 1u << 20 : (unsigned int)limit.rlim_cur;
	return files > 2 * OWN_FILES ? files - OWN_FILES : files / 2;
}

/* The number in the file @name of @directory; @limit if that is less. */
static unsigned long long lower_limit(const char *directory, const char *name,
				      unsigned long long limit)
{
	unsigned long long value;
	char file_name[512];
	FILE *file;

	snprintf(file_name, sizeof(file_name), "%s/%s", directory, name);
	file = fopen(file_name, "re");
	if (!file)
		return limit;
	if (fscanf(file, "%llu", &value) == 1 && value < limit)	/* else it is "max" */
		limit = value;
	fclose(file);
	return limit;
}

/* The least limit of the control group @path below @root and of all that it is in. */
static unsigned long long group_limit(const char *root, const char *path, const char *name,
				      unsigned long long limit)
{
	char directory[448];

	snprintf(directory, sizeof(directory), "%s%s", root, path);
	while (strlen(directory) > strlen(root)) {
		limit = lower_limit(directory, name, limit);
		*strrchr(directory, '/') = 0;
	}
	/* a container may see its own group as the root, under its path outside */
	return lower_limit(root, name, limit);
}

static bool has_word(char *words, const char *word)
{
	char *state;

	for (char *at = strtok_r(words, ",", &state); at; at = strtok_r(NULL, ",", &state))
		if (!strcmp(at, word))
			return true;
	return false;
}

/* Bytes of memory that the system has, or that the daemon's control groups permit. */
static unsigned long long memory_there_is(void)
{
	unsigned long long limit = (unsigned long long)sysconf(_SC_PHYS_PAGES) << 12;
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[400];

	/* "number:controllers:path"; version 2 names no controllers */
	while (file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = 0;
		path[strcspn(path, "\n")] = 0;
		if (!controllers[1])
			limit = group_limit("/sys/fs/cgroup", path, "memory.max", limit);
		else if (has_word(controllers + 1, "memory"))
			limit = group_limit("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes",
					    limit);
	}
	if (file)
		fclose(file);
	return limit;
}

/* No user gets more than half of what there is for all. */
static void set_memory(const struct options *options)
{
	unsigned long long all = (unsigned long long)options->memory << 20;
	unsigned long long one = (unsigned long long)options->user_memory << 20;

	if (!all)
		all = memory_there_is() / 4;
	if (one > all / 2)
		one = all / 2;
	user_memory_set_limits((long)all, (long)one);
}

/*
 * An open takes two descriptors or three, a file in a transaction one or two. However few there
 * are, they suffice for several users.
 */
void limits_set(const struct options *options)
{
	unsigned int files = files_for_clients();
	unsigned int opens = limits_least(options->max_procs, at_least_one(files / 3));
	unsigned int opens_one = limits_least(options->max_procs_per_uid, at_least_one(files / 8));

	user_charges_set_limit(USER_OPENS, opens, opens_one);
	/* an inode for each open, those of O_PATH, and those that the kernel is about to forget */
	user_charges_set_limit(USER_INODES, 8 * opens + INODES_MORE, 2 * opens_one + INODES_MORE);
	user_charges_set_limit(USER_FILES, at_least_one(files / 4), at_least_one(files / 8));
	user_charges_set_limit(USER_HANDLES, HANDLES_ALL, HANDLES_ONE);
	user_charges_set_limit(USER_STUCK, STUCK_ALL, STUCK_ONE);
	user_charges_set_limit(USER_STALLED, STALLED_ALL, STALLED_ONE);
	set_memory(options);
}
