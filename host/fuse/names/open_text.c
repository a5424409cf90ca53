// SPDX-License-Identifier: GPL-2.0
/* An open directory, text file or control file; an open report, generated as it is read. */
#include "names/open_text.h"

#include "clients/users.h"
#include "core.h"
#include "events/event_stream.h"
#include "memory/user_account.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What one read returns at most: some 150 lines, a few tenths of a millisecond. */
#define READ_MAX 16384

/* What one read passes over at most: some 30,000 lines, a few hundredths of a second. */
#define SKIP_MAX ((uint64_t)4 << 20)

/* What a report takes besides its text. */
#define READER_MEMORY 16384

/* ---- an open report ---- */

struct report_reader {
	struct account *account;
	struct binder_report *(*begin)(uint64_t arg);
	uint64_t arg;
	pthread_mutex_t lock;		/* guards the rest: reads of one file may overlap */
	struct binder_report *report;
	struct text text;		/* generated, but perhaps not read yet */
	uint64_t start;			/* offset of its first byte in the report */
	bool complete;			/* nothing follows */
};

/* A report of @entry, charged to @account. NULL: no memory, or none left for the user. */
static struct report_reader *report_reader_new(const struct entry *entry, struct account *account)
{
	struct report_reader *reader;

	if (!account_charge(account, READER_MEMORY))
		return NULL;
	reader = calloc(1, sizeof(*reader));
	if (reader)
		reader->report = entry->begin_report(entry->arg);
	if (!reader || !reader->report) {
		account_discharge(account, READER_MEMORY);
		free(reader);
		return NULL;
	}
	reader->account = account;
	reader->text.account = account;
	reader->begin = entry->begin_report;
	reader->arg = entry->arg;
	pthread_mutex_init(&reader->lock, NULL);
	return reader;
}

static void report_reader_free(struct report_reader *reader)
{
	if (!reader)
		return;
	binder_report_free(reader->report);
	text_free(&reader->text);
	account_discharge(reader->account, READER_MEMORY);
	pthread_mutex_destroy(&reader->lock);
	free(reader);
}

static int report_reader_restart(struct report_reader *reader)
{
	struct binder_report *report = reader->begin(reader->arg);

	if (!report)
		return -ENOMEM;
	binder_report_free(reader->report);
	reader->report = report;
	text_free(&reader->text);
	reader->start = 0;
	reader->complete = false;
	return 0;
}

/* Generates the next slice. 0 or -ENOMEM. */
static int report_reader_go_on(struct report_reader *reader)
{
	struct host_out out = { &reader->text };

	reader->complete = !binder_report_next(reader->report, &out);
	return reader->text.cut ? -ENOMEM : 0;
}

/* Drops the first @size bytes of the text. */
static void report_reader_drop(struct report_reader *reader, size_t size)
{
	struct text *text = &reader->text;

	text->size -= size;
	if (text->size)
		memmove(text->data, text->data + size, text->size);
	reader->start += size;
}

/* Makes the text begin at @offset, if the report is that long. 0, -ENOMEM, -ESPIPE. */
static int report_reader_seek(struct report_reader *reader, uint64_t offset)
{
	const struct text *text = &reader->text;
	int error = 0;

	if (offset < reader->start)
		error = report_reader_restart(reader);
	if (!error && !reader->complete && offset - reader->start > text->size + SKIP_MAX)
		return -ESPIPE;
	while (!error && !reader->complete && offset - reader->start > text->size) {
		report_reader_drop(reader, text->size);
		error = report_reader_go_on(reader);
	}
	if (!error && offset - reader->start <= text->size)
		report_reader_drop(reader, offset - reader->start);
	return error;
}

void report_reader_read(struct report_reader *reader, const struct request *request)
{
	const struct fuse_read_in *in = request->body;
	size_t size = in->size < READ_MAX ? in->size : READ_MAX;
	char data[READ_MAX];
	int error;

	pthread_mutex_lock(&reader->lock);
	error = report_reader_seek(reader, in->offset);
	while (!error && reader->text.size < size && !reader->complete)
		error = report_reader_go_on(reader);
	if (reader->start < in->offset)		/* behind the end */
		size = 0;
	else if (size > reader->text.size)
		size = reader->text.size;
	if (!error && size)
		memcpy(data, reader->text.data, size);
	pthread_mutex_unlock(&reader->lock);
	/* after the reply the file may be closed, and @reader freed by another worker */
	session_reply_result(request->head->unique, error, data, size);
}

/* ---- an open file ---- */

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
	if (!file)
		return NULL;
	entry->refs++;
	if (entry->begin_report)
		file->reader = report_reader_new(entry, file->text.account);
	return file;
}
