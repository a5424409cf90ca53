/* SPDX-License-Identifier: GPL-2.0 */
/* The monotonic clock. */
#ifndef HOST_FUSE_CLOCK_H
#define HOST_FUSE_CLOCK_H

#include "host_types.h"

#include <time.h>

static inline u64 clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

#endif
