// SPDX-License-Identifier: GPL-2.0
/*
 * bench-ipc and bench-peers: one measurement, one line of JSON.
 *
 * `call` measures round trips of one peer; `stages` and `alloc` look closer at binder;
 * `idle-clients` keeps many binder clients open; `pause` notices when the driver does not answer;
 * `broker` runs dbus-broker. Which measurements make a comparison, and in what order, is up to
 * `anybinder bench`. The two programs differ in their peers (see peers_plain.c and peers_all.c).
 */
#include "bench/alloc.h"
#include "bench/idle_clients.h"
#include "bench/fail.h"
#include "bench/pause.h"
#include "bench/peer.h"
#include "bench/stages.h"
#include "tests/version.h"

#include <ctype.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command_line {
	struct cell cell;
	bool wants_histogram;
	struct idle_clients idle;
	struct alloc_class classes[ALLOC_MAX_CLASSES];
	int nr_classes;
};

#define OPTION(name, letter) { name, required_argument, NULL, letter }
#define FLAG(name, letter) { name, no_argument, NULL, letter }

static const struct option options[] = {
	OPTION("peer", 'p'),
	OPTION("address", 'a'),
	OPTION("request", 'q'),
	OPTION("reply", 'r'),
	OPTION("pairs", 'n'),
	OPTION("cpu", 'c'),
	OPTION("client-cpu", 'C'),
	OPTION("server-cpu", 'S'),
	FLAG("own-cpus", 'o'),
	OPTION("client-sched", 'x'),
	OPTION("server-sched", 'y'),
	OPTION("duration-ms", 'd'),
	OPTION("calls", 'l'),
	OPTION("delay-us", 'w'),
	OPTION("measured", 'm'),
	FLAG("histogram", 'h'),
	OPTION("clients", 'k'),
	OPTION("objects", 'b'),
	OPTION("threads", 't'),
	OPTION("class", 'z'),
	{ 0 },
};

static void usage(void)
{
	fputs("usage: bench-ipc call --peer PEER [--address DEVICE-OR-BUS]\n"
	      "                      [--request BYTES] [--reply BYTES] [--pairs N]\n"
	      "                      [--duration-ms N | --calls N] [--delay-us N] [--histogram]\n"
	      "                      [--measured CLIENTS]\n"
	      "                      [--cpu LIST] [--client-cpu LIST] [--server-cpu LIST]\n"
	      "                      [--own-cpus]\n"
	      "                      [--client-sched other:N|fifo:N] [--server-sched ...]\n"
	      "       bench-ipc stages --address DEVICE --calls N [OPTIONS OF call]\n"
	      "       bench-ipc alloc --address DEVICE --class other:N|fifo:N...\n"
	      "                       [--pairs CLIENTS-OF-A-CLASS] [OPTIONS OF call]\n"
	      "       bench-ipc idle-clients --address DEVICE [--clients N] [--objects N]\n"
	      "                              [--threads N]\n"
	      "       bench-ipc pause --address DEVICE [--pairs N]\n"
	      "       bench-peers broker --address SOCKET\n"
	      "peers of this program:", stderr);
	for (const struct peer *const *at = peers; *at; at++)
		fprintf(stderr, " %s", (*at)->name);
	fputs("\n", stderr);
	exit(2);
}

static const struct peer *find_peer(const char *name)
{
	for (const struct peer *const *at = peers; *at; at++)
		if (!strcmp((*at)->name, name))
			return *at;
	fail("there is no peer %s; the usage lists them", name);
}

static void call(const struct cell *cell, bool wants_histogram)
{
	struct result result;
	const struct histogram *all = &result.histogram;

	if (!cell->peer)
		usage();
	cell_run(cell, &result);
	free(result.clients);
	printf("{\"calls\": %lu, \"calls_per_s\": %.1f, \"min_us\": %.2f, \"avg_us\": %.2f, "
	       "\"p50_us\": %.2f, \"p99_us\": %.2f, \"max_us\": %.2f, \"user_us\": %.2f, "
	       "\"system_us\": %.2f",
	       result.nr_calls, (double)result.nr_calls / result.seconds, (double)all->min_ns / 1e3,
	       (double)all->total_ns / (double)all->count / 1e3,
	       (double)histogram_quantile_ns(all, 0.5) / 1e3,
	       (double)histogram_quantile_ns(all, 0.99) / 1e3, (double)all->max_ns / 1e3,
	       result.user_us, result.system_us);
	if (wants_histogram) {
		printf(", \"histogram_ns\": ");
		histogram_print(all, stdout);
	}
	puts("}");
}

static void set_number(struct command_line *line, int option, const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	struct cell *cell = &line->cell;

	if (!isdigit(text[0]) || *end)
		fail("%s is not a number", text);
	if (option == 'q')
		cell->request_bytes = number;
	else if (option == 'r')
		cell->reply_bytes = number;
	else if (option == 'n')
		cell->nr_pairs = (int)number;
	else if (option == 'd')
		cell->duration_ms = (int)number;
	else if (option == 'l')
		cell->nr_calls = number;
	else if (option == 'w')
		cell->delay_us = (int)number;
	else if (option == 'm')
		cell->nr_measured = (int)number;
	else if (option == 'k')
		line->idle.nr_clients = (int)number;
	else if (option == 'b')
		line->idle.nr_objects = (int)number;
	else if (option == 't')
		line->idle.nr_threads = (int)number;
	else
		usage();
}

static void add_class(struct command_line *line, const char *text)
{
	struct alloc_class *class = &line->classes[line->nr_classes];

	if (line->nr_classes++ == ALLOC_MAX_CLASSES)
		fail("at most %d classes", ALLOC_MAX_CLASSES);
	class->name = text;
	scheduling_parse_policy(&class->scheduling, text);
}

static void set_option(struct command_line *line, int option, const char *text)
{
	struct cell *cell = &line->cell;

	/* getopt said what is wrong; there is no text. */
	if (option == '?')
		usage();
	if (option == 'p')
		cell->peer = find_peer(text);
	else if (option == 'a')
		cell->address = text;
	else if (option == 'h')
		line->wants_histogram = true;
	else if (option == 'o')
		cell->has_own_cpus = true;
	else if (option == 'z')
		add_class(line, text);
	else if (option == 'x' || option == 'y')
		scheduling_parse_policy(option == 'x' ? &cell->clients : &cell->servers, text);
	else if (option != 'c' && option != 'C' && option != 'S')
		set_number(line, option, text);
	if (option == 'c' || option == 'C')
		scheduling_parse_cpus(&cell->clients, text);
	if (option == 'c' || option == 'S')
		scheduling_parse_cpus(&cell->servers, text);
}

int main(int argc, char **argv)
{
	struct command_line line = {
		.cell = { .nr_pairs = 1, .duration_ms = 250 },
		.idle = { .nr_clients = 1000, .nr_threads = 1 },
	};
	struct cell *cell = &line.cell;
	const char *command;
	int option;

	version_if_asked(argc, argv);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		set_option(&line, option, optarg);
	if (optind != argc - 1)
		usage();
	command = argv[optind];
	if (!strcmp(command, "call")) {
		call(cell, line.wants_histogram);
	} else if (!strcmp(command, "stages")) {
		cell->peer = &peer_stages;
		stages_run(cell);
	} else if (!strcmp(command, "alloc")) {
		cell->peer = &peer_alloc;
		alloc_run(cell, line.classes, line.nr_classes);
	} else if (!strcmp(command, "idle-clients") && cell->address) {
		idle_clients_run(cell->address, &line.idle);
	} else if (!strcmp(command, "pause") && cell->address) {
		pause_run(cell->address, cell->nr_pairs);
	} else if (!strcmp(command, "broker") && cell->address && run_broker) {
		run_broker(cell->address);
	} else {
		usage();
	}
	return 0;
}
