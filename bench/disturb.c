// SPDX-License-Identifier: GPL-2.0
/*
 * No IPC at all, but what runs beside it.
 *
 * `spin`: a call is work that needs a processor for 9 ms. With a pause between two calls and a
 * real-time priority it takes the processor away from less urgent processes again and again,
 * whatever they are doing, as an urgent program on a phone does.
 *
 * `reclaim`: a call has the kernel free slab objects, among them all that shrinkers free, such as
 * idle buffer pages.
 */
#include "bench/fail.h"
#include "bench/peer.h"

#include <fcntl.h>
#include <unistd.h>

#define WORK_NS 9000000u

static void *disturb_connect(void *state, const struct cell *cell, int pair)
{
	return NULL;
}

static void spin_call(void *connection)
{
	uint64_t end_ns = cell_now_ns() + WORK_NS;

	while (cell_now_ns() < end_ns)
		;
}

static void reclaim_call(void *connection)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "2", 1) != 1)
		fail_errno("/proc/sys/vm/drop_caches");
	close(fd);
}

#define DISTURBER(name_)                                                                      \
	{                                                                                     \
		.name = #name_, .has_no_payload = true, .connect = disturb_connect,           \
		.call = name_##_call,                                                         \
	}

const struct peer peer_spin = DISTURBER(spin);
const struct peer peer_reclaim = DISTURBER(reclaim);
