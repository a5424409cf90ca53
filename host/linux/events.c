// SPDX-License-Identifier: GPL-2.0
/* The one place where the tracepoints of binder_events.h and stage_events.h are made. */
#include <linux/types.h>

#define CREATE_TRACE_POINTS
#include "binder_events.h"
#include "stage_events.h"
