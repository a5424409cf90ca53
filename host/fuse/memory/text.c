// SPDX-License-Identifier: GPL-2.0
/*
 * A growing buffer. Failure is recorded instead of returned: a report is written to its end
 * regardless, and the reader gets what there was room for.
 */
#include "memory/text.h"

#include "memory/user_account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_free(struct text *text)
{
	account_discharge(text->account, text->room);
	free(text->data);
	*text = (struct text){ .account = text->account };
}

static bool make_room(struct text *text, size_t more)
{
	size_t room = text->room ? text->room : 256;
	char *data = NULL;

	if (text->room - text->size >= more)
		return true;
	while (room - text->size < more && room < TEXT_MAX)
		room *= 2;
	if (room - text->size >= more && account_charge(text->account, room - text->room)) {
		data = realloc(text->data, room);
		if (!data)
			account_discharge(text->account, room - text->room);
	}
	if (!data) {
		text->cut = true;
		return false;
	}
	text->data = data;
	text->room = room;
	return true;
}

void text_append(struct text *text, const void *data, size_t size)
{
	if (text->cut || !make_room(text, size))
		return;
	memcpy(text->data + text->size, data, size);
	text->size += size;
}

void text_vprint(struct text *text, const char *format, va_list args)
{
	va_list again;
	int size;

	va_copy(again, args);
	size = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (size < 0 || text->cut || !make_room(text, (size_t)size + 1))
		return;
	vsnprintf(text->data + text->size, (size_t)size + 1, format, args);
	text->size += (size_t)size;
}

void text_print(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_vprint(text, format, args);
	va_end(args);
}
