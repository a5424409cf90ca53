// SPDX-License-Identifier: GPL-2.0
/* Restores what is open besides devices. */
#include "core.h"
#include "events/event_stream.h"
#include "handover/private.h"
#include "names/open_text.h"
#include "names/report_reader.h"
#include "session/handles.h"

/* False: no memory. */
static bool fill_events(struct open_text *file, const struct saved_handle *saved,
			const struct record *record)
{
	struct events_reader_state state = {
		.unique = saved->unique,
		.idle_ns = saved->idle_ns,
		.poll_handle = saved->poll_handle,
		.end = saved->event,
		.lost = saved->lost,
		.mask = saved->mask,
		.room = saved->room,
		.told_header = saved->told_header,
		.poll_armed = saved->poll_armed,
	};

	file->events = events_restore(&state, (const struct event_record *)record->bytes,
				      record->size / sizeof(struct event_record));
	return file->events;
}

static bool fill_report(struct open_text *file, const struct saved_handle *saved,
			const struct record *record)
{
	struct binder_report *report = NULL;
	struct report_reader_state state = {
		.start = saved->start,
		.complete = saved->complete,
		.text = record->bytes,
		.text_size = record->size - saved->report_size,
	};

	if (!state.complete) {
		report = binder_report_restore(record->bytes + state.text_size,
					       saved->report_size);
		if (!report)
			return false;
	}
	file->reader = report_reader_restore(file->entry, file->text.account, &state, report);
	return file->reader;
}

/* A file whose entry is gone is one that no server knows: its reads fail. */
bool restore_text(struct restore *restore, const struct record *record)
{
	struct saved_handle saved;
	struct open_text *file;
	struct entry *entry;

	record_get(record, &saved, sizeof(saved));
	entry = restore_find_entry(restore, saved.entry);
	if (!entry)
		return true;
	if (saved.report_size > record->size)
		return false;
	file = open_text_restore(entry, saved.uid);
	if (!file || !handles_insert(saved.number, file))
		return false;
	if (saved.is_events)
		return fill_events(file, &saved, record);
	if (saved.is_report)
		return fill_report(file, &saved, record);
	if (record->size)
		text_append(&file->text, record->bytes, record->size);
	return !file->text.cut;
}
