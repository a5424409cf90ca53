/* SPDX-License-Identifier: GPL-2.0 */
/*
 * contention: how often the locks of each class were taken, and how often somebody was found to
 * hold them; counted while somebody wants to know.
 */
#ifndef BINDER_CONTENTION_H
#define BINDER_CONTENTION_H

#include "common/lock.h"

/* What has been counted since the last reset, of all threads; others may be counting on. */
struct binder_contention {
	unsigned long taken;
	unsigned long waited;
};
struct binder_contention binder_contention_of(enum binder_lock_rank rank);

/* The text of binder_logs/lock_contention: the regime, whether it is being counted, a line a class.
 * May sleep. */
void binder_report_contention(struct host_out *out);
/* What may be written there: on, off, reset.  -EINVAL: something else.  May sleep. */
int binder_contention_obey(const char *word);

#endif
