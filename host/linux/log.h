/* SPDX-License-Identifier: GPL-2.0 */
/* log: rate-limited messages in the kernel log, and the text of reports. */
#ifndef HOST_LINUX_LOG_H
#define HOST_LINUX_LOG_H

#include "compat/stdarg.h"
#include "host_types.h"

struct va_format;

/* Bits of the parameter debug_mask, as far as they are used here; numbers of the C driver. */
#define LOG_MASK_USER_ERROR 0x1u
#define LOG_MASK_DEBUG	    0x100u
extern unsigned int log_mask;

/**
 * log_wanted() - are messages of a level logged?
 * @level: enum host_log_level
 *
 * Return: true if they are.
 */
bool log_wanted(int level);
/**
 * log_print() - log a message, unless there are too many
 * @error: it is one of the engine, not of a client
 * @text: the message
 */
void log_print(bool error, struct va_format *text);
/**
 * log_to_report() - append to a report
 * @out: the report; what does not fit is lost
 * @fmt: format
 * @args: arguments
 */
__printf(2, 0) void log_to_report(struct host_out *out, const char *fmt, va_list args);

#endif
