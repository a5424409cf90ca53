// SPDX-License-Identifier: GPL-2.0
/* An open directory, text file or control file. */
#include "names/open_text.h"

#include "clients/users.h"
#include "events/event_stream.h"
#include "names/report_reader.h"

#include <errno.h>
#include <stdlib.h>

static struct open_text *new_file(struct entry *entry, uid_t charged)
{
	struct open_text *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->entry = entry;
	file->uid = charged;
	file->text.account = user_memory_account(charged);
	return file;
}

/* 0 or -errno. @uid: the user who opens the file. */
static int begin_file(struct open_text *file, uid_t uid, bool write_only)
{
	const struct entry *entry = file->entry;

	if (entry->kind == ENTRY_EVENTS)
		return events_open(uid, tree_root()->uid, &file->events);
	if (entry->kind != ENTRY_TEXT || write_only)
		return 0;
	if (!entry->begin_report) {
		entry->write_text(&file->text, entry->arg);
		return 0;
	}
	file->reader = report_reader_new(entry, file->text.account);
	return file->reader ? 0 : -ENOMEM;
}

int open_text_new(struct entry *entry, uid_t uid, uid_t charged, bool write_only,
		  struct open_text **out)
{
	int error;

	*out = NULL;
	if (user_charges_add(charged, USER_HANDLES)) {
		*out = new_file(entry, charged);
		if (!*out)
			user_charges_remove(charged, USER_HANDLES);
	}
	if (!*out) {
		tree_put(entry);
		return -ENFILE;
	}
	error = begin_file(*out, uid, write_only);
	if (error)
		open_text_free(*out);
	return error;
}

void open_text_free(struct open_text *file)
{
	report_reader_free(file->reader);
	if (file->events)
		events_close(file->events);
	text_free(&file->text);
	tree_put(file->entry);
	user_charges_remove(file->uid, USER_HANDLES);
	free(file);
}

struct open_text *open_text_restore(struct entry *entry, uid_t charged)
{
	struct open_text *file;

	user_charges_add_always(charged, USER_HANDLES);
	file = new_file(entry, charged);
	if (file)
		entry->refs++;
	return file;
}
