// SPDX-License-Identifier: GPL-2.0
/*
 * bench-ipc and bench-peers: one measurement, one line of JSON.
 *
 * Which measurements make a comparison, in what order, and what their figures mean, is up to
 * `anybinder bench`. bench-ipc has the peers that need no library, so that it is built with
 * everything else; bench-peers has all.
 */
#include "bench/fail.h"
#include "bench/peer.h"
#include "tests/version.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTION(name, letter) { name, required_argument, NULL, letter }

static const struct option options[] = {
	OPTION("peer", 'p'),
	OPTION("address", 'a'),
	OPTION("request", 'q'),
	OPTION("reply", 'r'),
	OPTION("pairs", 'n'),
	OPTION("server-sched", 'y'),
	OPTION("class", 'z'),
	OPTION("duration-ms", 'd'),
	OPTION("calls", 'l'),
	OPTION("delay-us", 'w'),
	OPTION("measured", 'm'),
	OPTION("objects", 'b'),
	OPTION("threads", 't'),
	OPTION("references", 'e'),
	OPTION("buffers", 'u'),
	{ 0 },
};

/* A peer that this program lacks is NULL. */
static const struct peer *const peers[] = {
	&peer_binder, &peer_deferred, &peer_unix, &peer_pipe, &peer_futex, &peer_entry,
	&peer_oneway, &peer_object, &peer_handle, &peer_nested, &peer_file,
	&peer_deaths, &peer_open, &peer_stages, &peer_alloc, &peer_spin,
	&peer_reclaim, &peer_idle, &peer_heap, &peer_dbus, &peer_dbus_idle, &peer_broker,
	&peer_grpc,
	&peer_capnp, &peer_grpc_tls, &peer_rpc_tls, &peer_link, &peer_link_accessor,
	&peer_framework, &peer_lookup,
};

#define NR_PEERS (sizeof(peers) / sizeof(peers[0]))

static void usage(void)
{
	fputs("usage: bench-ipc call --peer PEER [--address DEVICE-OR-BUS]\n"
	      "                      [--request BYTES] [--reply BYTES] [--pairs N]\n"
	      "                      [--duration-ms N | --calls N] [--delay-us N]\n"
	      "                      [--measured CLIENTS] [--server-sched other:N|fifo:N]\n"
	      "                      [--class other:N|fifo:N... (each with N of --pairs)]\n"
	      "       bench-ipc call --peer idle --address DEVICE [--pairs N] [--objects N]\n"
	      "                      [--threads N] [--references N] [--buffers N]\n"
	      "                      (until standard input ends)\n"
	      "peers of this program:", stderr);
	for (size_t i = 0; i < NR_PEERS; i++)
		if (peers[i])
			fprintf(stderr, " %s", peers[i]->name);
	fputs("\n", stderr);
	exit(2);
}

static const struct peer *find_peer(const char *name)
{
	for (size_t i = 0; i < NR_PEERS; i++)
		if (peers[i] && !strcmp(peers[i]->name, name))
			return peers[i];
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
	*class = (struct client_class){ text, scheduling_parse(text) };
}

static void set_option(struct cell *cell, int option, const char *text)
{
	int *const numbers[] = {
		['n'] = &cell->nr_pairs,    ['d'] = &cell->duration_ms, ['w'] = &cell->delay_us,
		['m'] = &cell->nr_measured, ['b'] = &cell->nr_objects,  ['t'] = &cell->nr_threads,
		['e'] = &cell->nr_references, ['u'] = &cell->nr_buffers, ['z'] = NULL,
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
	else if (option == 'y')
		cell->servers = scheduling_parse(text);
	else
		*numbers[option] = (int)number_of(text);
}

int main(int argc, char **argv)
{
	struct cell cell = { .nr_pairs = 1, .nr_threads = 1, .duration_ms = 250 };
	int option;

	version_if_asked(argc, argv);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		set_option(&cell, option, optarg);
	if (optind != argc - 1 || strcmp(argv[optind], "call") || !cell.peer)
		usage();
	/* Without --class there is one, as this process is. */
	if (!cell.nr_classes)
		cell.classes[cell.nr_classes++].name = "";
	cell.nr_pairs *= cell.nr_classes;
	cell_run(&cell);
	return 0;
}
