// SPDX-License-Identifier: GPL-2.0
/* Scheduling of threads of clients. */
#include "clients/scheduling.h"

#include "workers/worker.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_real_time(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

/* The first version of struct sched_attr, which the C library does not declare. */
struct sched_attributes {
	u32 size;
	u32 policy;
	u64 flags;
	s32 nice;
	u32 priority;
	u64 runtime;
	u64 deadline;
	u64 period;
};

void scheduling_get(pid_t tid, u8 *policy, s8 *prio)
{
	struct sched_attributes attributes = { 0 };

	/* one system call for both: this runs for every transaction */
	syscall(SYS_sched_getattr, tid, &attributes, sizeof(attributes), 0);
	*policy = (u8)attributes.policy;
	*prio = is_real_time((int)attributes.policy) ? (s8)attributes.priority
						     : (s8)attributes.nice;
}

/*
 * Limits a priority to what the thread may set itself. RLIMIT_NICE counts 20 - nice; 0 permits no
 * nice value at all, as in the stock driver. False: no change is permitted.
 */
static bool limit_priority(pid_t tid, u8 *policy, s8 *prio)
{
	struct rlimit limit;

	if (is_real_time(*policy)) {
		if (prlimit(tid, RLIMIT_RTPRIO, NULL, &limit))
			return false;
		if (limit.rlim_cur >= (rlim_t)*prio)
			return true;
		*prio = (s8)limit.rlim_cur;
		if (*prio)
			return true;
		*policy = SCHED_OTHER;
		*prio = -20;
	}
	if (prlimit(tid, RLIMIT_NICE, NULL, &limit) || !limit.rlim_cur)
		return false;
	if (limit.rlim_cur < 40 && *prio < 20 - (s8)limit.rlim_cur)
		*prio = (s8)(20 - (s8)limit.rlim_cur);
	return true;
}

/* CAP_SYS_NICE was read at open; a process that changed its user id since has usually lost it. */
static bool is_privileged(const struct host_thread *thread)
{
	return thread->proc->may_raise && thread->euid == thread->proc->euid;
}

void scheduling_set(struct host_thread *thread, u8 policy, s8 prio, bool check)
{
	struct sched_param param = { 0 };
	bool real_time;

	if (thread->exited || worker_was_aborted(thread->unique))
		return;
	if (check && !is_privileged(thread) && !limit_priority(thread->tid, &policy, &prio))
		return;
	real_time = is_real_time(policy);
	if (real_time) {
		param.sched_priority = prio;
		sched_setscheduler(thread->tid, policy | SCHED_RESET_ON_FORK, &param);
	} else {
		if (is_real_time(sched_getscheduler(thread->tid) & ~SCHED_RESET_ON_FORK))
			sched_setscheduler(thread->tid, policy, &param);
		setpriority(PRIO_PROCESS, (id_t)thread->tid, prio);
	}
}
