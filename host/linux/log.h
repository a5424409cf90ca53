/* SPDX-License-Identifier: GPL-2.0 */
/* log: text for people: the kernel's log, rate limited, and reports. */
#ifndef HOST_LINUX_LOG_H
#define HOST_LINUX_LOG_H

#include "host_types.h"

#include <linux/jump_label.h>
#include <linux/stdarg.h>

struct va_format;

/* Which lines are wanted, by the stock driver's numbers: 1 mistakes of users, ... */
extern unsigned int log_mask;
#define LOG_MASK_USER_ERROR 0x1u
#define LOG_MASK_DEBUG	    0x100u

/* How often locks are found taken is counted (core/contention.h). */
DECLARE_STATIC_KEY_FALSE(log_counting_locks);

/* What lockdep tells the engine's locks apart by, one for each class that it names. */
#define LOG_LOCK_CLASSES 16
extern struct lock_class_key log_lock_classes[LOG_LOCK_CLASSES];

/* @level: enum host_log_level. */
bool log_wanted(int level);
void log_print(bool error, struct va_format *text);
/* Appends to a report that is being read. */
__printf(2, 0) void log_to_report(struct seq_file *seq, const char *fmt, va_list args);

#endif
