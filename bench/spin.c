// SPDX-License-Identifier: GPL-2.0
/*
 * No IPC at all: a call is work that needs a processor for 9 ms. With a pause between two calls and
 * a real-time priority it takes the processor away from less urgent processes again and again,
 * whatever they are doing, as an urgent program on a phone does.
 */
#include "bench/peer.h"

#define WORK_NS 9000000u

static void *spin_connect(void *state, const struct cell *cell, int pair)
{
	return NULL;
}

static void spin_call(void *connection)
{
	uint64_t end_ns = cell_now_ns() + WORK_NS;

	while (cell_now_ns() < end_ns)
		;
}

const struct peer peer_spin = {
	.name = "spin",
	.has_no_payload = true,
	.connect = spin_connect,
	.call = spin_call,
};
