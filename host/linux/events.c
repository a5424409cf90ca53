// SPDX-License-Identifier: GPL-2.0
/* The definitions of the tracepoints of binder_events.h and own_events.h. */
#include "core.h"
#include "events.h"

#define CREATE_TRACE_POINTS
#include "binder_events.h"
#include "own_events.h"

#include <linux/capability.h>
#include <linux/perf_event.h>

#ifdef CONFIG_PERF_EVENTS
static int check_root(struct trace_event_call *call, struct perf_event *event)
{
	return capable(CAP_SYS_ADMIN) ? 0 : -EPERM;
}
#endif

void events_init(void)
{
#ifdef CONFIG_PERF_EVENTS
	event_binder_data_to_clear.perf_perm = check_root;
#endif
}
