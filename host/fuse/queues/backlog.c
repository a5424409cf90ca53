// SPDX-License-Identifier: GPL-2.0
/* Calls that are put back behind those of other clients. */
#include "queues/backlog.h"

void backlog_init(void)
{
	daemon_self->backlog = daemon_alloc(sizeof(struct fair_queue));
	daemon_self->slow_lane = daemon_alloc(sizeof(struct fair_queue));
	fair_init(daemon_self->backlog);
	fair_init(daemon_self->slow_lane);
}
