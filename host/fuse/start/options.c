// SPDX-License-Identifier: GPL-2.0
/*
 * The command line of anybinderd.
 *
 * One table describes each option: name, argument, default, help text, the function that stores it
 * and the field that it stores. The defaults, the help and the table of getopt_long() come from it.
 */
#include "start/options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct option_def {
	const char *name;
	const char *argument;	/* NULL: the option takes none */
	const char *preset;	/* its default; NULL: see the table */
	const char *help;
	bool (*store)(const struct option_def *def, void *field, const char *value);
	size_t offset;		/* of its field in struct options */
	unsigned int least;	/* store_number(), store_mode() */
	unsigned int most;
	const char *expected;	/* what @store accepts, for the error message */
};

static void options_usage(void);

static bool parse_number(const struct option_def *def, int base, unsigned int *out,
			 const char *value)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(value, &end, base);
	if (errno || end == value || *end || *value == '-' || number < def->least ||
	    number > def->most)
		return false;
	*out = (unsigned int)number;
	return true;
}

static bool store_number(const struct option_def *def, void *field, const char *value)
{
	return parse_number(def, 10, field, value);
}

static bool store_mode(const struct option_def *def, void *field, const char *value)
{
	return parse_number(def, 8, field, value);
}

static bool store_text(const struct option_def *def, void *field, const char *value)
{
	*(const char **)field = value;
	return true;
}

static bool store_true(const struct option_def *def, void *field, const char *value)
{
	*(bool *)field = true;
	return true;
}

static bool store_log_level(const struct option_def *def, void *field, const char *value)
{
	return log_level_parse(value, field);
}

static bool store_help(const struct option_def *def, void *field, const char *value)
{
	options_usage();
	exit(0);
}

static bool store_version(const struct option_def *def, void *field, const char *value)
{
	puts("anybinderd " ANYBINDER_VERSION);
	exit(0);
}

#define FIELD(name) offsetof(struct options, name)

/* Where the help texts begin. */
#define INDENT "                           "

/*
 * An option without a default is off, or as the help text says. A default is stored as if it stood
 * on the command line.
 */
static const struct option_def defs[] = {
	{ "devices", "NAME,...", "binder,hwbinder,vndbinder", "binder devices to serve", store_text,
	  FIELD(devices) },
	{ "foreground", NULL, NULL, "stay in the foreground, messages to standard error",
	  store_true, FIELD(foreground) },
	{ "log-level", "LEVEL", "warn", "error, warn, info or debug", store_log_level,
	  FIELD(log_level), 0, 0, "error, warn, info or debug" },
	{ "mode", "OCTAL", "0600", "permissions of a device, as binderfs", store_mode, FIELD(mode),
	  0, 0777, "an octal number up to 0777" },
	{ "uid", "N", NULL, "owner of the files (the user who starts the daemon)", store_number,
	  FIELD(uid), 0, 0xfffffffe, "a user id" },
	{ "gid", "N", NULL, "group of the files (the group of that user)", store_number, FIELD(gid),
	  0, 0xfffffffe, "a group id" },
	{ "pid-file", "FILE", NULL, "write the daemon's pid to FILE; removed at exit", store_text,
	  FIELD(pid_file) },
	{ "threads", "N", NULL, "worker threads (one for each core, at most 4)", store_number,
	  FIELD(threads), 1, 64, "a number from 1 to 64" },
	{ "max-procs", "N", "16384", "limit of open binder files, all users together", store_number,
	  FIELD(max_procs), 0, 1000000, "a number up to 1000000" },
	{ "max-procs-per-uid", "N", "4096", "the same for each user other than root and the owner",
	  store_number, FIELD(max_procs_per_uid), 0, 1000000, "a number up to 1000000" },
	{ "user-memory", "MIB", "64",
	  "limit of the memory that is used for one user other than\n" INDENT
	  "root and the owner of the mount",
	  store_number, FIELD(user_memory), 1, 1000000, "a number of MiB from 1 to 1000000" },
	{ "memory", "MIB", NULL,
	  "the same for all these users together (a quarter of the memory\n" INDENT
	  "of the system or of the daemon's control group)",
	  store_number, FIELD(memory), 1, 100000000, "a number of MiB from 1 to 100000000" },
	{ "limit-containers", NULL, NULL,
	  "each container (pid namespace) is a user for these\n" INDENT
	  "limits, whatever its user ids are, root's included",
	  store_true, FIELD(limit_containers) },
	{ "max-devices", "N", "4096", "limit of devices", store_number, FIELD(max_devices), 0,
	  65535, "a number up to 65535" },
	{ "max-crashes", "N", "5",
	  "after N crashes of the server process within a minute, unmount\n" INDENT "and exit",
	  store_number, FIELD(max_crashes), 1, OPTIONS_CRASHES_MAX, "a number from 1 to 1000" },
	{ "record-stages", NULL, NULL, "as \"echo on >MOUNTPOINT/binder_logs/stages\"", store_true,
	  FIELD(record_stages) },
	{ "no-passthrough", NULL, NULL,
	  "copy buffers through the page cache even where the kernel\n" INDENT
	  "could map them directly (Linux 6.9, root)",
	  store_true, FIELD(no_passthrough) },
	{ "selinux", NULL, NULL, "refuse what SELinux's policy forbids (class binder)", store_true,
	  FIELD(selinux) },
	{ "android-reports", NULL, NULL,
	  "lines of nodes in binder_logs as Android's kernels write\n" INDENT
	  "them, with \"pri\": for dumpsys --clients",
	  store_true, FIELD(android_reports) },
	{ "private", NULL, NULL, "only the user who starts the daemon may use the mount",
	  store_true, FIELD(private_mount) },
	{ "seal", NULL, NULL,
	  "keep an empty read-only file system below the mount, so that\n" INDENT
	  "nobody makes files there while no daemon serves",
	  store_true, FIELD(seal) },
	{ "help", NULL, NULL, "print this text", store_help },
	{ "version", NULL, NULL, "print the version", store_version },
};

#define DEF_COUNT (sizeof(defs) / sizeof(defs[0]))

static void options_usage(void)
{
	puts("Usage: anybinderd MOUNTPOINT [OPTION]...\n"
	     "Serve Android Binder devices at MOUNTPOINT from user space, through FUSE.\n"
	     "The command returns as soon as the devices can be used; SIGTERM ends the daemon.\n"
	     "SIGHUP has the installed program take over, while clients go on.\n");
	for (unsigned int i = 0; i < DEF_COUNT; i++) {
		char left[40];

		snprintf(left, sizeof(left), "--%s%s%s", defs[i].name,
			 defs[i].argument ? "=" : "", defs[i].argument ? defs[i].argument : "");
		printf("  %-24s %s", left, defs[i].help);
		if (defs[i].preset)
			printf(" (%s)", defs[i].preset);
		putchar('\n');
	}
}

static void options_fail(const char *sentence, const char *word)
{
	fprintf(stderr, "anybinderd: %s%s (see anybinderd --help)\n", sentence, word);
	exit(2);
}

/* Stores one option; exits with a message if its value is wrong. */
static void options_store(const struct option_def *def, struct options *options, const char *value)
{
	if (def->store(def, (char *)options + def->offset, value))
		return;
	fprintf(stderr, "anybinderd: invalid value '%s' for --%s: ", value, def->name);
	fprintf(stderr, "expected %s (see anybinderd --help)\n", def->expected);
	exit(2);
}

static void set_defaults(struct options *options)
{
	*options = (struct options){ .uid = geteuid(), .gid = getegid() };
	for (unsigned int i = 0; i < DEF_COUNT; i++)
		if (defs[i].preset)
			options_store(&defs[i], options, defs[i].preset);
}

void options_parse(struct options *options, int argc, char **argv)
{
	struct option table[DEF_COUNT + 1] = { 0 };
	int index;
	int c;

	set_defaults(options);
	for (unsigned int i = 0; i < DEF_COUNT; i++) {
		table[i].name = defs[i].name;
		table[i].has_arg = defs[i].argument ? required_argument : no_argument;
	}
	while ((c = getopt_long(argc, argv, "", table, &index)) != -1) {
		if (c)	/* getopt_long() has printed the reason */
			options_fail("invalid command line", "");
		options_store(&defs[index], options, optarg);
	}
	if (optind == argc)
		options_fail("no mountpoint given", "");
	if (optind + 1 < argc)
		options_fail("more than one mountpoint given: ", argv[optind + 1]);
	options->mountpoint = argv[optind];
}
