/* SPDX-License-Identifier: GPL-2.0 */
/* urgency: how the calling thread is scheduled; policy and prio as in struct host_priority. */
#ifndef HOST_LINUX_URGENCY_H
#define HOST_LINUX_URGENCY_H

#include "host_types.h"

void urgency_get(u8 *policy, s8 *prio);
/* @check: no more than the thread's own limits (RLIMIT_NICE, RLIMIT_RTPRIO) or CAP_SYS_NICE allow.
 * May sleep. */
void urgency_set(u8 policy, s8 prio, bool check);

#endif
