/* SPDX-License-Identifier: GPL-2.0 */
/* report: the files in /sys/kernel/debug/anybinder_heap. */
#ifndef HEAP_LINUX_REPORT_H
#define HEAP_LINUX_REPORT_H

void report_init(void);
void report_exit(void);

#endif
