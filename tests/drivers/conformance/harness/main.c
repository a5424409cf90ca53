// SPDX-License-Identifier: GPL-2.0
/*
 * anybinder-conformance: the rules of the Binder ABI as small tests on the device files in a
 * directory. The program does not know which driver serves them; --cap declares what it lacks.
 */
#include <fnmatch.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actor.h"
#include "harness.h"
#include "replace.h"
#include "tests/lib/tap.h"
#include "tests/version.h"

static struct test *tests;
static struct test **last = &tests;

/*
 * Tests alternate between the devices, so that the next one does not wait for a manager that is
 * still being cleaned up.
 */
static const char *const devices[] = { "binder", "hwbinder", "vndbinder" };

static struct {
	const char *dir;
	const char *filter[16];
	int filters;
	int timeout_ms;
	bool list;
	const char *json;
	unsigned int part, parts; /* 0: all */
	unsigned int replace_steps; /* 0: not */
	int replace_ms; /* -1: not */
} options = { .timeout_ms = 30000, .replace_ms = -1 };

static const struct option long_options[] = {
	{ "device-dir", required_argument, NULL, 'd' },
	{ "list", no_argument, NULL, 'l' },
	{ "filter", required_argument, NULL, 'f' },
	{ "cap", required_argument, NULL, 'c' },
	{ "have", required_argument, NULL, 'H' },
	{ "timeout", required_argument, NULL, 't' },
	{ "json", required_argument, NULL, 'j' },
	{ "part", required_argument, NULL, 'P' },
	{ "replace-steps", required_argument, NULL, 's' },
	{ "replace-ms", required_argument, NULL, 'm' },
	{ "pause", no_argument, NULL, 'p' }, /* for tests: a program to exec that only waits */
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static const char usage[] =
	"usage: anybinder-conformance [options]\n"
	"  --device-dir DIR   where binder, hwbinder and vndbinder are\n"
	"                     (default /dev/binderfs where it exists, else /dev)\n"
	"  --filter GLOB      run the tests whose name matches (may be repeated)\n"
	"  --cap NAME=REASON  the back end lacks this: skip the tests that need it\n"
	"  --have NAME        it has this after all; what only a prepared machine has is named so\n"
	"  --timeout SECONDS  for each test (default 30)\n"
	"  --json FILE        write the results to FILE\n"
	"  --part K/N         run every Nth test, beginning with the Kth\n"
	"  --replace-steps N  have the daemon hand over before every Nth step of a test\n"
	"  --replace-ms MS    have it hand over all the time, with pauses of so many milliseconds\n"
	"  --list             print names and rules, and run nothing\n";

void test_register(struct test *test)
{
	if (!test->caps)
		test->caps = "";
	*last = test;
	last = &test->next;
}

static bool wanted(const struct test *test)
{
	for (int i = 0; i < options.filters; i++) {
		if (!fnmatch(options.filter[i], test->name, 0))
			return true;
	}
	return options.filters == 0;
}

static void complain(const char *what, const char *which)
{
	fprintf(stderr, "anybinder-conformance: %s: %s\n", what, which);
	exit(2);
}

static void set_option(int letter)
{
	switch (letter) {
	case 'd':
		options.dir = optarg;
		break;
	case 'l':
		options.list = true;
		break;
	case 'f':
		if (options.filters == 16)
			complain("too many filters", optarg);
		options.filter[options.filters++] = optarg;
		break;
	case 'c':
		if (!caps_declare_missing(optarg))
			complain("not a capability with a reason", optarg);
		break;
	case 'H':
		if (!caps_declare_present(optarg))
			complain("not a capability", optarg);
		break;
	case 't':
		options.timeout_ms = atoi(optarg) * 1000;
		step_timeout_ms = options.timeout_ms / 6;
		break;
	case 'j':
		options.json = optarg;
		break;
	case 'P':
		if (sscanf(optarg, "%u/%u", &options.part, &options.parts) != 2)
			complain("not K/N", optarg);
		break;
	case 's':
		options.replace_steps = (unsigned int)atoi(optarg);
		break;
	case 'm':
		options.replace_ms = atoi(optarg);
		break;
	case 'p':
		for (;;)
			pause();
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		fputs(usage, stderr);
		exit(2);
	}
}

static void print_lines(const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		printf("#   %.*s\n", (int)length, text);
		text += length + (text[length] == '\n');
	}
}

static void json_string(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(file, "\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			fprintf(file, "\\u%04x", *text);
		else
			fputc(*text, file);
	}
	fputc('"', file);
}

static const char *const outcome_names[] = { "passed", "failed", "skipped" };

static void json_result(FILE *file, bool first, const struct test *test,
			const struct result *result)
{
	fprintf(file, "%s  {\"name\": ", first ? "[\n" : ",\n");
	json_string(file, test->name);
	fprintf(file, ", \"rule\": ");
	json_string(file, test->rule);
	fprintf(file, ", \"outcome\": \"%s\", \"elapsed_ms\": %lld, \"output\": ",
		outcome_names[result->outcome], (long long)result->elapsed_ms);
	json_string(file, result->output);
	fputc('}', file);
}

static void run_one(struct tap *tap, const struct test *test, unsigned int number,
		    struct result *result)
{
	const char *reason = caps_missing(test->caps);

	memset(result, 0, sizeof(*result));
	if (reason) {
		result->outcome = OUTCOME_SKIPPED;
		snprintf(result->output, sizeof(result->output), "%s", reason);
	} else {
		if (options.replace_steps)
			replace_between_steps(options.replace_steps,
					      number % options.replace_steps);
		runner_run(test, options.dir, devices[number % 3], devices[(number + 1) % 3],
			   options.timeout_ms, result);
	}
	if (result->outcome == OUTCOME_SKIPPED) {
		result->output[strcspn(result->output, "\n")] = '\0';
		tap_skip(tap, test->name, result->output);
		return;
	}
	if (result->outcome == OUTCOME_FAILED) {
		printf("#   rule: %s\n", test->rule);
		print_lines(result->output);
	}
	tap_case(tap, result->outcome == OUTCOME_PASSED, test->name);
}

static bool is_replaced(void)
{
	return options.replace_steps || options.replace_ms >= 0;
}

static void begin_replacing(void)
{
	if (!replace_begin(options.dir))
		complain("no daemon that this user may have hand over serves", options.dir);
	if (options.replace_ms >= 0)
		replace_steadily((unsigned int)options.replace_ms);
}

/* One case more: every hand-over succeeded, whether a client would have noticed or not. */
static void end_replacing(struct tap *tap)
{
	unsigned int count;
	const char *why = replace_end(&count);

	printf("# hand-overs: %u\n", count);
	if (why)
		printf("#   %s\n", why);
	tap_case(tap, !why, "hand-overs");
}

static int run_all(FILE *json)
{
	static struct result result;
	struct tap tap = { 0 };
	unsigned int number = 0;

	runner_init();
	if (is_replaced())
		begin_replacing();
	for (const struct test *test = tests; test; test = test->next) {
		if (!wanted(test) || caps_unprepared(test->caps))
			continue;
		number++;
		if (options.parts && number % options.parts != options.part % options.parts)
			continue;
		run_one(&tap, test, number, &result);
		if (json)
			json_result(json, tap.cases == 1, test, &result);
	}
	if (json) {
		fputs(tap.cases ? "\n]\n" : "[]\n", json);
		fclose(json);
	}
	if (is_replaced() && tap.cases)
		end_replacing(&tap);
	return tap_end(&tap);
}

static void list_all(void)
{
	for (const struct test *test = tests; test; test = test->next) {
		if (wanted(test))
			printf("%s\t%s\t%s\n", test->name, test->rule, test->caps);
	}
}

int main(int argc, char **argv)
{
	FILE *json = NULL;
	int letter;

	version_if_asked(argc, argv);
	while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		set_option(letter);
	if (optind < argc)
		complain("unexpected argument", argv[optind]);
	for (const struct test *test = tests; test; test = test->next) {
		if (caps_unknown(test->caps))
			complain(test->name, "needs an unknown capability");
	}
	if (options.list) {
		list_all();
		return 0;
	}
	if (!options.dir)
		options.dir = access("/dev/binderfs/binder", F_OK) ? "/dev" : "/dev/binderfs";
	if (options.json && !(json = fopen(options.json, "w")))
		complain("cannot write", options.json);
	return run_all(json);
}
