/* SPDX-License-Identifier: GPL-2.0 */
/* priority: of the calling thread; policy and prio as in struct host_priority. */
#ifndef HOST_LINUX_PRIORITY_H
#define HOST_LINUX_PRIORITY_H

#include "host_types.h"

#include <linux/sched.h>
#include <linux/sched/prio.h>

static inline bool priority_is_realtime(u8 policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

/**
 * priority_get() - the priority of the calling thread
 * @policy: result
 * @prio: result
 *
 * SCHED_DEADLINE is not inherited, and never changed.
 */
static inline void priority_get(u8 *policy, s8 *prio)
{
	*policy = current->policy == SCHED_DEADLINE ? SCHED_NORMAL : current->policy;
	*prio = priority_is_realtime(*policy) ? current->rt_priority : task_nice(current);
}

/**
 * priority_set() - set the priority of the calling thread
 * @policy: as in struct host_priority
 * @prio: likewise
 * @check: at most what RLIMIT_NICE, RLIMIT_RTPRIO or CAP_SYS_NICE allow
 *
 * Context: May sleep.
 */
void priority_set(u8 policy, s8 prio, bool check);

#endif
