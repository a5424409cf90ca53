// SPDX-License-Identifier: GPL-2.0
/*
 * A thread inherits the priority of its caller when it reads a call, and returns to its own when
 * it replies: in both cases the calling thread is changed. Inheritance does not exceed what the
 * process is allowed to set itself; returning is always allowed.
 */
#include "priority.h"

#include "weak.h"

#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <uapi/linux/sched/types.h>

/* Not exported before 5.12: there, no thread gets or loses a real-time priority. */
WEAK_FUNCTION(sched_setattr_nocheck);

/*
 * Lowers a priority to what the thread is allowed. False: it must not be changed. RLIMIT_NICE 0,
 * the default, allows no nice value at all, as in the C driver.
 */
static bool priority_limit(u8 *policy, s8 *prio)
{
	unsigned long most = task_rlimit(current, RLIMIT_RTPRIO);
	long least_nice;

	if (capable(CAP_SYS_NICE))
		return true;
	if (priority_is_realtime(*policy) && !most) {
		*policy = SCHED_NORMAL;
		*prio = MIN_NICE;
	} else if (priority_is_realtime(*policy)) {
		*prio = min_t(unsigned long, *prio, most);
		return true;
	}
	least_nice = rlimit_to_nice(min_t(unsigned long, task_rlimit(current, RLIMIT_NICE),
					  MAX_NICE - MIN_NICE + 1));
	if (least_nice > MAX_NICE)
		return false;
	*prio = max_t(long, *prio, least_nice);
	return true;
}

void priority_set(u8 policy, s8 prio, bool check)
{
	struct sched_attr attr = { .size = sizeof(attr) };

	if (current->policy == SCHED_DEADLINE || (check && !priority_limit(&policy, &prio)))
		return;
	if (!priority_is_realtime(current->policy) && !priority_is_realtime(policy)) {
		set_user_nice(current, prio);
		return;
	}
	if (!weak_exists(sched_setattr_nocheck))
		return;
	attr.sched_policy = policy;
	if (priority_is_realtime(policy)) {
		attr.sched_priority = prio;
		attr.sched_flags = SCHED_FLAG_RESET_ON_FORK;
	} else {
		attr.sched_nice = prio;
	}
	sched_setattr_nocheck(current, &attr);
}
