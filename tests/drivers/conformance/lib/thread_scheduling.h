/* SPDX-License-Identifier: GPL-2.0 */
/*
 * thread_scheduling: of the calling thread; as the kernel has it, or the test host (engine/). The
 * test fails if it cannot be changed.
 */
#ifndef CONFORMANCE_THREAD_SCHEDULING_H
#define CONFORMANCE_THREAD_SCHEDULING_H

#include "actor_scheduling.h"

void thread_scheduling(struct scheduling *found);
/* @prio: 1 .. 99 for real-time policies, else 0. */
void thread_set_policy(int policy, int prio);
void thread_set_nice(int nice);
/* It drops root and has these limits (setrlimit(2)); skips the test where that is impossible. */
void thread_drop_privileges(unsigned int rlimit_nice, unsigned int rlimit_rtprio);

#endif
