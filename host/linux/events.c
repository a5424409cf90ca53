// SPDX-License-Identifier: GPL-2.0
/* The definitions of the tracepoints of binder_events.h and own_events.h. */
#include "core.h"

#define CREATE_TRACE_POINTS
#include "binder_events.h"
#include "own_events.h"
