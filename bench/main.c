// SPDX-License-Identifier: GPL-2.0
/*
 * bench-ipc and bench-peers: one measurement, one line of JSON.
 *
 * `call` measures the calls of one peer; `idle-clients` keeps many binder clients open; `broker`
 * runs dbus-broker. Which measurements make a comparison, in what order, and what their figures
 * mean, is up to `anybinder bench`. The two programs differ in their peers (see peers_plain.c and
 * peers_all.c).
 */
#include "bench/fail.h"
#include "bench/idle_clients.h"
#include "bench/peer.h"
#include "tests/version.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command_line {
	struct cell cell;
	struct scheduling clients;
	struct idle_clients idle;
};

#define OPTION(name, letter) { name, required_argument, NULL, letter }

static const struct option options[] = {
	OPTION("peer", 'p'),
	OPTION("address", 'a'),
	OPTION("request", 'q'),
	OPTION("reply", 'r'),
	OPTION("pairs", 'n'),
	OPTION("client-cpu", 'C'),
	OPTION("server-cpu", 'S'),
	OPTION("client-sched", 'x'),
	OPTION("server-sched", 'y'),
	OPTION("class", 'z'),
	OPTION("duration-ms", 'd'),
	OPTION("calls", 'l'),
	OPTION("delay-us", 'w'),
	OPTION("measured", 'm'),
	OPTION("clients", 'k'),
	OPTION("objects", 'b'),
	OPTION("threads", 't'),
	{ 0 },
};

static void usage(void)
{
	fputs("usage: bench-ipc call --peer PEER [--address DEVICE-OR-BUS]\n"
	      "                      [--request BYTES] [--reply BYTES] [--pairs N]\n"
	      "                      [--duration-ms N | --calls N] [--delay-us N]\n"
	      "                      [--measured CLIENTS] [--client-cpu LIST] [--server-cpu LIST]\n"
	      "                      [--client-sched other:N|fifo:N] [--server-sched ...]\n"
	      "                      [--class other:N|fifo:N... (each with N of --pairs)]\n"
	      "       bench-ipc idle-clients --address DEVICE [--clients N] [--objects N]\n"
	      "                              [--threads N]\n"
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

static unsigned long number_of(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (!isdigit(text[0]) || *end)
		fail("%s is not a number", text);
	return number;
}

static void add_class(struct cell *cell, const char *text)
{
	struct client_class *class = &cell->classes[cell->nr_classes];

	if (cell->nr_classes++ == CELL_MAX_CLASSES)
		fail("at most %d classes", CELL_MAX_CLASSES);
	class->name = text;
	scheduling_parse_policy(&class->scheduling, text);
}

static void set_option(struct command_line *line, int option, const char *text)
{
	struct cell *cell = &line->cell;
	struct idle_clients *idle = &line->idle;
	int *const numbers[] = {
		['n'] = &cell->nr_pairs,    ['d'] = &cell->duration_ms, ['w'] = &cell->delay_us,
		['m'] = &cell->nr_measured, ['k'] = &idle->nr_clients,  ['b'] = &idle->nr_objects,
		['t'] = &idle->nr_threads,  ['z'] = NULL,
	};

	/* getopt said what is wrong; there is no text. */
	if (option == '?')
		usage();
	if (option == 'p')
		cell->peer = find_peer(text);
	else if (option == 'a')
		cell->address = text;
	else if (option == 'q')
		cell->request_bytes = number_of(text);
	else if (option == 'r')
		cell->reply_bytes = number_of(text);
	else if (option == 'l')
		cell->nr_calls = number_of(text);
	else if (option == 'z')
		add_class(cell, text);
	else if (option == 'C' || option == 'S')
		scheduling_parse_cpus(option == 'C' ? &line->clients : &cell->servers, text);
	else if (option == 'x' || option == 'y')
		scheduling_parse_policy(option == 'x' ? &line->clients : &cell->servers, text);
	else
		*numbers[option] = (int)number_of(text);
}

/* Without --class there is one, scheduled as the options of clients say. */
static void complete_classes(struct command_line *line)
{
	struct cell *cell = &line->cell;

	if (!cell->nr_classes) {
		cell->nr_classes = 1;
		cell->classes[0] = (struct client_class){ "", line->clients };
	}
	for (int i = 0; i < cell->nr_classes; i++) {
		cell->classes[i].scheduling.has_cpus = line->clients.has_cpus;
		cell->classes[i].scheduling.cpus = line->clients.cpus;
	}
	cell->nr_pairs *= cell->nr_classes;
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
	complete_classes(&line);
	if (!strcmp(command, "call") && cell->peer)
		cell_run(cell);
	else if (!strcmp(command, "idle-clients") && cell->address)
		idle_clients_run(cell->address, &line.idle);
	else if (!strcmp(command, "broker") && cell->address && run_broker)
		run_broker(cell->address);
	else
		usage();
	return 0;
}
