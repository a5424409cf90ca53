/* SPDX-License-Identifier: GPL-2.0 */
/* priority: of the calling thread; policy and prio as in struct host_priority. */
#ifndef HOST_LINUX_PRIORITY_H
#define HOST_LINUX_PRIORITY_H

#include "host_types.h"

void priority_get(u8 *policy, s8 *prio);
/* @check: at most what RLIMIT_NICE, RLIMIT_RTPRIO or CAP_SYS_NICE allow the thread. May sleep. */
void priority_set(u8 policy, s8 prio, bool check);

#endif
