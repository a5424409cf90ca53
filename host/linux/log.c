// SPDX-License-Identifier: GPL-2.0
/*
 * A client's mistakes are worth a line each, but a client may make millions of them: past ten in
 * five seconds the rest are only counted.
 */
#include "log.h"

#include "host.h"

#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/seq_file.h>

struct lock_class_key log_lock_classes[LOG_LOCK_CLASSES];

DEFINE_STATIC_KEY_FALSE(log_counting_locks);

unsigned int log_mask = LOG_MASK_USER_ERROR;

static DEFINE_RATELIMIT_STATE(log_limit, DEFAULT_RATELIMIT_INTERVAL, DEFAULT_RATELIMIT_BURST);

bool log_wanted(int level)
{
	static const unsigned int bits[] = {
		[HOST_LOG_ERROR] = ~0u,
		[HOST_LOG_USER_ERROR] = LOG_MASK_USER_ERROR,
		[HOST_LOG_DEBUG] = LOG_MASK_DEBUG,
	};

	return level == HOST_LOG_ERROR || READ_ONCE(log_mask) & bits[level];
}

void log_print(bool error, struct va_format *text)
{
	if (!__ratelimit(&log_limit))
		return;
	/* As the stock driver calls itself there. */
	if (error)
		printk(KERN_ERR "binder: %pV\n", text);
	else
		printk(KERN_INFO "binder: %pV\n", text);
}

void log_to_report(struct seq_file *seq, const char *fmt, va_list args)
{
	seq_vprintf(seq, fmt, args);
}
