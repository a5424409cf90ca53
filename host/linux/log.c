// SPDX-License-Identifier: GPL-2.0
/* A faulty client may cause millions of messages: those beyond ten in five seconds are dropped. */
#include "log.h"

#include "host.h"

#include <linux/printk.h>
#include <linux/ratelimit.h>

unsigned int log_mask = LOG_MASK_USER_ERROR;

static DEFINE_RATELIMIT_STATE(limit, DEFAULT_RATELIMIT_INTERVAL, DEFAULT_RATELIMIT_BURST);

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
	if (!__ratelimit(&limit))
		return;
	/* The prefix of the C driver. */
	if (error)
		printk(KERN_ERR "binder: %pV\n", text);
	else
		printk(KERN_INFO "binder: %pV\n", text);
}

void log_to_report(struct host_out *out, const char *fmt, va_list args)
{
	out->len += vscnprintf(out->text + out->len, out->size - out->len, fmt, args);
}
