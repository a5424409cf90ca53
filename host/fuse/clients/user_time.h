/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time that a user's calls cost, and the users that cost too much of it.
 *
 * Page faults of a client may be served by a process that takes its time, and a call with many
 * objects needs as long. The time is measured by samples: each time that a worker is found to wait
 * in the user's memory counts as the interval between two samples, and a call that is found at two
 * samples as the processor time between them. A user above USER_TIME_SLOW_MS is slow until its debt
 * is paid by the time that passes, at a tenth of it. Root is never slow.
 */
#ifndef HOST_FUSE_USER_TIME_H
#define HOST_FUSE_USER_TIME_H

#include <stdbool.h>
#include <sys/types.h>

#define USER_TIME_SLOW_MS 30
#define USER_TIME_DEBT_MAX_MS 400

/* Only for a user that has something else charged: its worker's open. */
void user_time_charge(uid_t uid, unsigned int ms);
/* @ms have passed since the last call. False: no user has a debt. */
bool user_time_pay(unsigned int ms);
/* Is the user slow? Costs a load as long as no user is. */
bool user_time_is_slow(uid_t uid);

#endif
