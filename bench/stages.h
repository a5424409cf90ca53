/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Timestamps of the stages of a round trip that its two ends can see.
 */
#ifndef BENCH_STAGES_H
#define BENCH_STAGES_H

#include "bench/peer.h"

/* The most calls of one measurement. */
#define STAGES_MAX_CALLS 100000

/*
 * Runs @cell, whose peer is peer_stages and whose nr_calls is set, and prints one line of JSON: the
 * thread ids of the two ends and a row for each call, [C_SEND, S_RECV, S_REPLY, C_RECV, C_EXIT], in
 * nanoseconds of CLOCK_MONOTONIC. Sleeps until all calls are made.
 */
void stages_run(const struct cell *cell);

#endif
