/* SPDX-License-Identifier: GPL-2.0 */
/* debugfs: the files in /sys/kernel/debug/anybinder_heap. */
#ifndef HEAP_LINUX_DEBUGFS_H
#define HEAP_LINUX_DEBUGFS_H

void heap_debugfs_init(void);
void heap_debugfs_exit(void);

#endif
