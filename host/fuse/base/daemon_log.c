// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of the daemon.
 *
 * Clients can provoke messages at will. A message is therefore never the only trace of an error,
 * and the default level prints nothing that a client can repeat, save for a line every ten seconds
 * (helper_ask.c).
 */
#include "base/daemon_log.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

/* The engine's messages, which clients can provoke, are limited to so many. */
#define LINES_PER_SECOND 50

enum log_level log_threshold = LOG_LEVEL_WARN;

static bool to_syslog;

static const struct {
	const char *word;
	int priority;
} levels[] = {
	[LOG_LEVEL_ERROR] = { "error", LOG_ERR },
	[LOG_LEVEL_WARN] = { "warn", LOG_WARNING },
	[LOG_LEVEL_INFO] = { "info", LOG_INFO },
	[LOG_LEVEL_DEBUG] = { "debug", LOG_DEBUG },
};

bool log_level_parse(const char *word, enum log_level *level)
{
	for (unsigned int i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (!strcmp(word, levels[i].word)) {
			*level = (enum log_level)i;
			return true;
		}
	}
	return false;
}

void log_use_syslog(void)
{
	openlog("anybinderd", LOG_PID, LOG_DAEMON);
	to_syslog = true;
}

static void log_line(enum log_level level, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

static void log_line(enum log_level level, const char *format, va_list args)
{
	char line[512];
	int size = vsnprintf(line, sizeof(line), format, args);

	if (size > 0 && (size_t)size < sizeof(line) && line[size - 1] == '\n')
		line[size - 1] = 0;
	if (to_syslog)
		syslog(levels[level].priority, "%s", line);
	else
		fprintf(stderr, "anybinderd: %s: %s\n", levels[level].word, line);
}

void log_print(enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(level, format, args);
	va_end(args);
}

bool log_is_due(atomic_ullong *last_ns, unsigned long long interval_ns)
{
	unsigned long long now = clock_now_ns();
	unsigned long long last = atomic_load(last_ns);

	return (!last || now - last >= interval_ns) &&
	       atomic_compare_exchange_strong(last_ns, &last, now);
}

void log_engine(enum log_level level, const char *format, va_list args)
{
	static _Atomic time_t second;
	static atomic_int printed;
	time_t now = time(NULL);

	if (atomic_exchange(&second, now) != now)
		atomic_store(&printed, 0);
	if (atomic_fetch_add(&printed, 1) < LINES_PER_SECOND)
		log_line(level, format, args);
}
