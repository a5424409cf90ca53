/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of the daemon, to standard error or, once in the background, to syslog.
 */
#ifndef HOST_FUSE_DAEMON_LOG_H
#define HOST_FUSE_DAEMON_LOG_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* The most verbose level that is printed; read without a lock, set once at start. */
extern enum log_level log_threshold;

/* Parses "error", "warn", "info" or "debug". Returns false on any other word. */
bool log_level_parse(const char *word, enum log_level *level);

/* Sends all further messages to syslog, since standard error is about to be closed. */
void log_use_syslog(void);

/* Prints one line at @level. May block on the reader of the log: no lock may be held. */
void log_print(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints one line for the engine, about its clients: at most 50 a second. */
void log_engine(enum log_level level, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/*
 * For a message that clients can cause at will: may it be printed, once in @interval_ns? @last_ns:
 * when it was printed last.
 */
bool log_is_due(atomic_ullong *last_ns, unsigned long long interval_ns);

/* Tests the level before evaluating the arguments: a suppressed message costs one compare. */
#define log_at(level, ...) \
	do { \
		if ((level) <= log_threshold) \
			log_print((level), __VA_ARGS__); \
	} while (0)

#define log_error(...) log_at(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_at(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
