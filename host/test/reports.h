/* SPDX-License-Identifier: GPL-2.0 */
/* Whole reports, for tests. */
#ifndef ANYBINDER_TEST_REPORTS_H
#define ANYBINDER_TEST_REPORTS_H

#include "core.h"

/* Prints the report, if there is memory for it. Returns the number of slices. */
static inline u32 test_report(struct host_out *out, enum binder_report_kind kind, s32 pid)
{
	struct binder_report *report = binder_report_new(kind, pid);
	u32 nr = 0;

	while (report && binder_report_next(report, out))
		nr++;
	binder_report_free(report);
	return nr;
}

#endif
