// SPDX-License-Identifier: GPL-2.0
/*
 * anybinder-differential: plays scripts, made from seeds or read from files, on the device in a
 * directory, and writes a transcript of each. `run` compares the transcripts of two drivers.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor.h"
#include "differential.h"
#include "replace.h"
#include "test.h"
#include "tests/version.h"

static struct {
	const char *device_dir, *device, *out;
	unsigned long long seed, seeds;
	size_t steps;
	bool print;
	bool in_loop;
	unsigned int replace_steps; /* 0: not */
	struct omissions omit;
} options = { .device = "binder", .seed = 1, .seeds = 1, .steps = 300 };

static const struct option long_options[] = {
	{ "device-dir", required_argument, NULL, 'd' },
	{ "device", required_argument, NULL, 'D' },
	{ "seed", required_argument, NULL, 's' },
	{ "seeds", required_argument, NULL, 'n' },
	{ "steps", required_argument, NULL, 'l' },
	{ "out", required_argument, NULL, 'o' },
	{ "omit-freeze-notices", no_argument, NULL, 'f' },
	{ "omit-deferral", no_argument, NULL, 'c' },
	{ "in-loop", no_argument, NULL, 'i' },
	{ "replace-steps", required_argument, NULL, 'r' },
	{ "print-script", no_argument, NULL, 'p' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static const char usage[] =
	"usage: anybinder-differential [options] [script...]\n"
	"  --device-dir DIR       where the devices are (default /dev/binderfs, else /dev)\n"
	"  --device NAME          which one to use (default binder)\n"
	"  --seed N               first seed (default 1)\n"
	"  --seeds COUNT          how many, one after the other (default 1)\n"
	"  --steps N              length of a script made from a seed (default 300);\n"
	"                         one with floods of one-way calls has half as many more\n"
	"  --out DIR              write NAME.transcript there, instead of all to stdout\n"
	"  --omit-freeze-notices  scripts without freeze notifications, for 6.1\n"
	"  --omit-deferral        scripts without TF_DEFER_COMPLETE in replies\n"
	"  --in-loop              each thread enters the loop (BC_ENTER_LOOPER) before all else\n"
	"  --replace-steps N      have the daemon hand over before every Nth step\n"
	"  --print-script         print the scripts instead of playing them\n"
	"Given scripts (files), plays those instead of seeds.\n";

static FILE *open_transcript(const char *name)
{
	char path[4096];
	FILE *to;

	if (!options.out)
		return stdout;
	snprintf(path, sizeof(path), "%s/%s.transcript", options.out, name);
	to = fopen(path, "w");
	if (!to) {
		perror(path);
		exit(2);
	}
	return to;
}

/* Play in a child: it has a separate world, and ends together with a hanging actor. */
static bool play_apart(const struct script *script, const struct target *target, const char *name)
{
	static unsigned int nr_played;
	int status;
	pid_t pid;

	if (options.replace_steps)
		replace_between_steps(options.replace_steps, nr_played++ % options.replace_steps);
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		perror("differential: fork");
		exit(2);
	}
	if (pid == 0) {
		FILE *to = open_transcript(name);

		test_begin(options.device_dir, options.device, options.device);
		play(script, target, to);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) != pid)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "differential: %s: the run was aborted\n", name);
		return false;
	}
	return true;
}

static bool handle(const struct script *script, const struct target *target, const char *name)
{
	if (!options.print)
		return play_apart(script, target, name);
	printf("# %s\n", name);
	script_print(script, stdout);
	return true;
}

static unsigned int do_seeds(const struct target *target)
{
	unsigned int failed = 0;

	for (unsigned long long i = 0; i < options.seeds; i++) {
		struct script *script =
			generate(options.seed + i, options.steps, &options.omit);
		char name[64];

		snprintf(name, sizeof(name), "seed-%llu", options.seed + i);
		failed += !handle(script, target, name);
		script_free(script);
	}
	return failed;
}

static unsigned int do_file(const struct target *target, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = strdup(slash ? slash + 1 : path);
	char *dot = name ? strrchr(name, '.') : NULL;
	struct script *script = NULL;
	FILE *from = fopen(path, "r");
	unsigned int failed = 1;

	if (!from)
		perror(path);
	else
		script = script_read(from, path);
	if (from)
		fclose(from);
	if (dot)
		*dot = '\0';
	if (script) {
		failed = !handle(script, target, name);
		script_free(script);
	}
	free(name);
	return failed;
}

static void parse_options(int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		if (option == 'd')
			options.device_dir = optarg;
		else if (option == 'D')
			options.device = optarg;
		else if (option == 's')
			options.seed = strtoull(optarg, NULL, 0);
		else if (option == 'n')
			options.seeds = strtoull(optarg, NULL, 0);
		else if (option == 'l')
			options.steps = strtoul(optarg, NULL, 0);
		else if (option == 'o')
			options.out = optarg;
		else if (option == 'f')
			options.omit.freeze_notices = true;
		else if (option == 'c')
			options.omit.deferral = true;
		else if (option == 'i')
			options.in_loop = true;
		else if (option == 'r')
			options.replace_steps = (unsigned int)strtoul(optarg, NULL, 0);
		else if (option == 'p')
			options.print = true;
		else {
			fputs(usage, option == 'h' ? stdout : stderr);
			exit(option == 'h' ? 0 : 2);
		}
	}
	if (!options.device_dir)
		options.device_dir = access("/dev/binderfs", X_OK) ? "/dev" : "/dev/binderfs";
}

static unsigned int play_all(const struct target *target, int argc, char **argv)
{
	unsigned int failed = 0;

	if (optind == argc)
		return do_seeds(target);
	for (int i = optind; i < argc; i++)
		failed += do_file(target, argv[i]);
	return failed;
}

/* The same, while the daemon hands over. */
static unsigned int play_replaced(const struct target *target, int argc, char **argv)
{
	unsigned int failed, count;
	const char *why;

	if (!replace_begin(options.device_dir)) {
		fprintf(stderr, "differential: no daemon that this user may have hand over serves "
			"%s\n", options.device_dir);
		exit(2);
	}
	failed = play_all(target, argc, argv);
	why = replace_end(&count);
	fprintf(stderr, "differential: %u hand-overs%s%s\n", count, why ? ": " : "",
		why ? why : "");
	if (why)
		exit(2);
	return failed;
}

int main(int argc, char **argv)
{
	char device[4200];
	struct target target = { .device = device };
	unsigned int failed;

	version_if_asked(argc, argv);
	parse_options(argc, argv);
	/* No step that does not hang takes longer, also on an emulated machine that is busy. */
	step_timeout_ms = 60000;
	snprintf(device, sizeof(device), "%s/%s", options.device_dir, options.device);
	target.in_loop = options.in_loop;
	target.stats = quiesce_find_stats(options.device_dir);
	if (!options.print && !target.stats) {
		fprintf(stderr, "differential: no binder statistics for %s\n", options.device_dir);
		return 2;
	}
	failed = options.replace_steps ? play_replaced(&target, argc, argv)
				       : play_all(&target, argc, argv);
	return failed ? 1 : 0;
}
