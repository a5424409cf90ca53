/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A growing buffer: the contents of a text file or of a directory, generated once at open, so that
 * a reader in small steps sees a consistent snapshot.
 */
#ifndef HOST_FUSE_TEXT_H
#define HOST_FUSE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct account;

struct text {
	struct account *account; /* charged for the memory (user_account.h) */
	char *data;
	size_t size;		/* bytes in use */
	size_t room;		/* bytes allocated */
	bool cut;		/* memory or TEXT_MAX ran out; the rest is missing */
};

/* Longer texts are truncated; reports at the limits of processes and buffers are shorter. */
#define TEXT_MAX ((size_t)64 << 20)

/* Frees the contents. */
void text_free(struct text *text);

/* Appends @size bytes. */
void text_append(struct text *text, const void *data, size_t size);

/* Appends formatted text. */
void text_vprint(struct text *text, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
void text_print(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
