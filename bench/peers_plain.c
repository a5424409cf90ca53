// SPDX-License-Identifier: GPL-2.0
/*
 * The peers of bench-ipc: those that need no library, so that it is built with everything else.
 */
#include "bench/peer.h"

const struct peer *const peers[] = { &peer_binder, &peer_unix,	 &peer_pipe,   &peer_futex,
				     &peer_entry,  &peer_oneway, &peer_object, &peer_handle,
				     &peer_nested, &peer_file,	 &peer_deaths, &peer_open,
				     &peer_alloc,  &peer_stages, &peer_spin,   NULL };

void (*const run_broker)(const char *path) = NULL;
