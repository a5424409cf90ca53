// SPDX-License-Identifier: GPL-2.0
/*
 * What is open besides devices: directories and texts, whose contents move as they are; reports
 * that are being read, which go on; the stream of events, with what was not read yet.
 */
#include "events/event_stream.h"
#include "handover/moved.h"
#include "names/open_text.h"
#include "session/handles.h"

#include <stdlib.h>

/* What the record of an open text has besides its readers. */
struct text_place {
	u64 number;
	u32 entry;		/* its number */
	u32 uid;
	u32 report_size;	/* bytes behind the text: where the report is */
	u32 is_report;
	u32 is_events;		/* followed by struct event_record each that was not read */
};

/* The text follows. */
static const struct record_field text_fields[] = {
	RECORD_64(0, struct text_place, number),
	RECORD_64(1, struct report_reader_state, start),
	RECORD_64(2, struct events_reader_state, end),
	RECORD_64(2, struct events_reader_state, lost),
	RECORD_64(2, struct events_reader_state, unique),
	RECORD_64(2, struct events_reader_state, idle_ns),
	RECORD_64(2, struct events_reader_state, poll_handle),
	RECORD_32(0, struct text_place, entry),
	RECORD_32(0, struct text_place, uid),
	RECORD_32(1, struct report_reader_state, complete),
	RECORD_32(2, struct events_reader_state, mask),
	RECORD_32(2, struct events_reader_state, room),
	RECORD_32(2, struct events_reader_state, header_sent),
	RECORD_32(2, struct events_reader_state, poll_armed),
	RECORD_32(0, struct text_place, report_size),
	RECORD_32(0, struct text_place, is_report),
	RECORD_32(0, struct text_place, is_events),
};
static const struct record_layout text_layout = RECORD_LAYOUT(text_fields);

/* ---- writing ---- */

static void put_events(struct save *save, struct text_place *place,
		       const struct events_reader *reader)
{
	struct events_reader_state state;
	size_t nr;
	struct event_record *pending = events_save(reader, &state, &nr);

	place->is_events = true;
	record_begin(&save->records, RECORD_HANDLE, &text_layout,
		     (const void *[]){ place, NULL, &state });
	record_put_bytes(&save->records, pending, nr * sizeof(*pending));
	free(pending);
}

/* The text, then where the report is. */
static void put_report(struct save *save, struct text_place *place,
		       const struct report_reader *reader)
{
	struct binder_state rest = { 0 };
	struct report_reader_state state;

	report_reader_save(reader, &state);
	if (!state.complete &&
	    binder_report_write(report_reader_report(reader), save->engine_version, &rest))
		save->records.failed = true;
	place->is_report = true;
	place->report_size = (u32)rest.size;
	record_begin(&save->records, RECORD_HANDLE, &text_layout,
		     (const void *[]){ place, &state, NULL });
	record_put_bytes(&save->records, state.text, state.text_size);
	record_put_bytes(&save->records, rest.bytes, rest.size);
	host_free(rest.bytes);
}

void save_text(struct save *save, u64 number, const struct open_text *file)
{
	struct text_place place = { .number = number, .uid = file->uid };

	place.entry = save_number_of(save, file->entry);
	if (file->events) {
		put_events(save, &place, file->events);
	} else if (file->reader) {
		put_report(save, &place, file->reader);
	} else {
		record_begin(&save->records, RECORD_HANDLE, &text_layout,
			     (const void *[]){ &place, NULL, NULL });
		record_put_bytes(&save->records, file->text.data, file->text.size);
	}
	record_end(&save->records);
}

/* ---- restoring ---- */

/* NULL: no memory, or damaged. */
static struct report_reader *restore_report(const struct open_text *file, u32 report_size,
					    struct report_reader_state *state,
					    const struct record *record)
{
	struct binder_report *report = NULL;

	state->text = record->bytes;
	state->text_size = record->size - report_size;
	if (!state->complete) {
		report = binder_report_restore(record->bytes + state->text_size, report_size);
		if (!report)
			return NULL;
	}
	return report_reader_restore(file->entry, file->text.account, state, report);
}

/* A file whose entry is gone is one that no server knows: its reads fail. */
bool restore_text(struct restore *restore, const struct record *record)
{
	struct text_place place;
	struct report_reader_state report;
	struct events_reader_state events;
	struct open_text *file;
	struct entry *entry;

	record_get_fields(&restore->records, record, &text_layout,
			  (void *[]){ &place, &report, &events });
	entry = restore_find_entry(restore, place.entry);
	if (!entry)
		return true;
	if (place.report_size > record->size)
		return false;
	file = open_text_restore(entry, place.uid);
	if (!file || !handles_insert(place.number, file))
		return false;
	if (place.is_events) {
		file->events = events_restore(&events, (const struct event_record *)record->bytes,
					      record->size / sizeof(struct event_record));
		return file->events;
	}
	if (place.is_report) {
		file->reader = restore_report(file, place.report_size, &report, record);
		return file->reader;
	}
	if (record->size)
		text_append(&file->text, record->bytes, record->size);
	return !file->text.cut;
}
