// SPDX-License-Identifier: GPL-2.0
/*
 * bench-ipc: one measurement, one line of JSON.
 *
 * `call` measures round trips of one peer, `crowd` holds many binder clients open, `broker` runs
 * dbus-broker. Which measurements make a comparison, and in what order, is up to bench/run.
 */
#include "bench/broker.h"
#include "bench/crowd.h"
#include "bench/fail.h"
#include "bench/stage.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct peer *const peers[] = { &peer_binder, &peer_dbus, &peer_unix, &peer_pipe,
					   &peer_futex };

static const struct option options[] = {
	{ "peer", required_argument, NULL, 'p' },
	{ "address", required_argument, NULL, 'a' },
	{ "request", required_argument, NULL, 'q' },
	{ "reply", required_argument, NULL, 'r' },
	{ "pairs", required_argument, NULL, 'n' },
	{ "cpu", required_argument, NULL, 'c' },
	{ "duration-ms", required_argument, NULL, 'd' },
	{ "clients", required_argument, NULL, 'k' },
	{ 0 },
};

static void usage(void)
{
	puts("usage: bench-ipc call --peer binder|dbus|unix|pipe|futex [--address DEVICE-OR-BUS]\n"
	     "                      [--request BYTES] [--reply BYTES] [--pairs N] [--cpu N]\n"
	     "                      [--duration-ms N]\n"
	     "       bench-ipc crowd --address DEVICE [--clients N]\n"
	     "       bench-ipc broker --address SOCKET");
	exit(2);
}

static const struct peer *find_peer(const char *name)
{
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
		if (!strcmp(peers[i]->name, name))
			return peers[i];
	fail("no such peer: %s", name);
}

static void call(const struct cell *cell)
{
	struct result result;

	if (!cell->peer)
		usage();
	stage_run(cell, &result);
	printf("{\"calls\": %lu, \"calls_per_s\": %.1f, \"min_us\": %.2f, \"avg_us\": %.2f, "
	       "\"p50_us\": %.2f, \"p99_us\": %.2f, \"max_us\": %.2f, \"user_us\": %.2f, "
	       "\"system_us\": %.2f}\n",
	       result.calls, (double)result.calls / result.seconds, result.min_us,
	       result.avg_us, result.p50_us, result.p99_us, result.max_us, result.user_us,
	       result.system_us);
}

int main(int argc, char **argv)
{
	struct cell cell = { .nr_pairs = 1, .cpu = -1, .duration_ms = 250 };
	int option, nr_clients = 1000;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'p')
			cell.peer = find_peer(optarg);
		else if (option == 'a')
			cell.address = optarg;
		else if (option == 'q')
			cell.request_bytes = strtoul(optarg, NULL, 10);
		else if (option == 'r')
			cell.reply_bytes = strtoul(optarg, NULL, 10);
		else if (option == 'n')
			cell.nr_pairs = atoi(optarg);
		else if (option == 'c')
			cell.cpu = atoi(optarg);
		else if (option == 'd')
			cell.duration_ms = atoi(optarg);
		else if (option == 'k')
			nr_clients = atoi(optarg);
		else
			usage();
	}
	if (optind != argc - 1)
		usage();
	if (!strcmp(argv[optind], "call"))
		call(&cell);
	else if (!strcmp(argv[optind], "crowd") && cell.address)
		crowd_run(cell.address, nr_clients);
	else if (!strcmp(argv[optind], "broker") && cell.address)
		broker_run(cell.address);
	else
		usage();
	return 0;
}
