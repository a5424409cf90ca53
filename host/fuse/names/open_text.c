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

/* Takes over @report, which may be NULL. */
static struct report_reader *make_reader(const struct entry *entry, struct account *account,
					 struct binder_report *report)
{
	struct report_reader *reader = NULL;

	if (account_charge(account, READER_MEMORY)) {
		reader = calloc(1, sizeof(*reader));
		if (!reader)
			account_discharge(account, READER_MEMORY);
	}
	if (!reader) {
		if (report)
			binder_report_free(report);
		return NULL;
	}
	reader->report = report;
	reader->account = account;
	reader->text.account = account;
	reader->begin = entry->begin_report;
	reader->arg = entry->arg;
	pthread_mutex_init(&reader->lock, NULL);
	return reader;
}

struct report_reader *report_reader_new(const struct entry *entry, struct account *account)
{
	struct binder_report *report = entry->begin_report(entry->arg);

	return report ? make_reader(entry, account, report) : NULL;
}

void report_reader_free(struct report_reader *reader)
{
	if (!reader)
		return;
	if (reader->report)
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
	if (reader->report)
		binder_report_free(reader->report);
	reader->report = report;
	text_free(&reader->text);
	reader->start = 0;
	reader->complete = false;
	return 0;
}

/* Makes the text begin at @offset. Returns 0, -ENOMEM, -ESPIPE. */
static int report_reader_seek(struct report_reader *reader, uint64_t offset)
{
	struct text *text = &reader->text;
	int error = 0;

	if (!offset && reader->start)
		error = report_reader_restart(reader);
	if (error)
		return error;
	if (offset < reader->start || offset - reader->start > text->size)
		return reader->complete && offset > reader->start ? 0 : -ESPIPE;
	text->size -= offset - reader->start;
	if (text->size)
		memmove(text->data, text->data + (offset - reader->start), text->size);
	reader->start = offset;
	return 0;
}

void report_reader_read(struct report_reader *reader, const struct request *request)
{
	const struct fuse_read_in *in = request->body;
	size_t size = in->size < READ_MAX ? in->size : READ_MAX;
	struct host_out out = { &reader->text };
	char data[READ_MAX];
	int error;

	pthread_mutex_lock(&reader->lock);
	error = report_reader_seek(reader, in->offset);
	while (!error && reader->text.size < size && !reader->complete) {
		reader->complete = !binder_report_next(reader->report, &out);
		if (reader->text.cut)
			error = -ENOMEM;
	}
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

void report_reader_save(const struct report_reader *reader, struct report_reader_state *state)
{
	*state = (struct report_reader_state){
		.start = reader->start,
		.complete = reader->complete,
		.text = reader->text.data,
		.text_size = reader->text.size,
	};
}

const struct binder_report *report_reader_report(const struct report_reader *reader)
{
	return reader->report;
}

struct report_reader *report_reader_restore(const struct entry *entry, struct account *account,
					    const struct report_reader_state *state,
					    struct binder_report *report)
{
	struct report_reader *reader = make_reader(entry, account, report);

	if (!reader)
		return NULL;
	reader->start = state->start;
	reader->complete = state->complete;
	if (state->text_size)
		text_append(&reader->text, state->text, state->text_size);
	return reader;
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
	if (file)
		entry->refs++;
	return file;
}
