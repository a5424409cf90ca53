/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command line of anybinderd. The table in options.c is both parser and help text.
 */
#ifndef HOST_FUSE_OPTIONS_H
#define HOST_FUSE_OPTIONS_H

#include "base/daemon_log.h"

#include <stdbool.h>
#include <sys/types.h>

/* The greatest --max-crashes. */
#define OPTIONS_CRASHES_MAX 1000u

struct options {
	const char *mountpoint;
	const char *devices;		/* names separated by commas */
	const char *pid_file;		/* NULL: none */
	enum log_level log_level;
	mode_t mode;			/* permission bits of a new binder device */
	uid_t uid;			/* owner of the files */
	gid_t gid;
	unsigned int threads;		/* workers; 0: one for each core, at most 4 */
	unsigned int max_procs;		/* open binder files, all users together */
	unsigned int max_procs_per_uid;	/* the same for one user other than root */
	unsigned int max_devices;
	unsigned int user_memory;	/* MiB for one user other than root and the owner */
	unsigned int max_crashes;	/* of the server within a minute */
	unsigned int memory;		/* MiB for all of them; 0: a quarter of what there is */
	bool foreground;
	bool record_stages;
	bool no_passthrough;		/* do not use it where the kernel grants it */
	bool selinux;			/* ask its policy */
	bool android_reports;		/* the lines of nodes with a priority */
	bool limit_containers;		/* each pid namespace below the daemon's is a user */
	bool seal;			/* mount_seal() */
	bool private_mount;		/* no allow_other: only the mounting user has access */
};

/*
 * Fills @options with the defaults, then from the command line. Exits with status 0 after --help
 * and --version, and with status 2 and a message on an invalid command line.
 */
void options_parse(struct options *options, int argc, char **argv);

#endif
