/* SPDX-License-Identifier: GPL-2.0 */
/* On which core a thread calls; for affinity.c. The owner of the call writes it, workers read it.
 */
#ifndef HOST_FUSE_CALLER_CORE_H
#define HOST_FUSE_CALLER_CORE_H

#include "base/types.h"

struct caller_core {
	u32 nr_calls;			/* which wraps */
	u32 core;			/* where it last ran, plus 1; 0: not known */
};

#endif
