// SPDX-License-Identifier: GPL-2.0
/* One daemon: the state of each of its parts. */
#include "base/daemon_state.h"

#include "base/daemon_log.h"

#include <stdlib.h>

_Thread_local struct daemon *daemon_self;

void *daemon_alloc(size_t size)
{
	void *state = calloc(1, size);

	if (!state) {
		log_error("out of memory");
		exit(1);
	}
	return state;
}
