// SPDX-License-Identifier: GPL-2.0
/*
 * What is open besides devices: directories and texts, whose contents move as they are; the stream
 * of events, with what was not read yet. A report that is being read begins anew here, and goes on
 * from the offset that is read next.
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
	u32 is_events;		/* followed by struct event_record each that was not read */
};

/* The text follows. */
static const struct record_field text_fields[] = {
	RECORD_64(0, struct text_place, number),
	RECORD_64(1, struct events_reader_state, end),
	RECORD_64(1, struct events_reader_state, lost),
	RECORD_64(1, struct events_reader_state, unique),
	RECORD_64(1, struct events_reader_state, idle_ns),
	RECORD_64(1, struct events_reader_state, poll_handle),
	RECORD_32(0, struct text_place, entry),
	RECORD_32(0, struct text_place, uid),
	RECORD_32(1, struct events_reader_state, mask),
	RECORD_32(1, struct events_reader_state, room),
	RECORD_32(1, struct events_reader_state, header_sent),
	RECORD_32(1, struct events_reader_state, poll_armed),
	RECORD_32(0, struct text_place, is_events),
};
static const struct record_layout text_layout = RECORD_LAYOUT(text_fields);

/* ---- writing ---- */

void save_text(struct save *save, u64 number, const struct open_text *file)
{
	const struct text_place place = { number, save_number_of(save, file->entry), file->uid,
					  file->events != NULL };
	struct events_reader_state state;
	struct event_record *pending = NULL;
	size_t nr = 0;

	if (file->events)
		pending = events_save(file->events, &state, &nr);
	record_begin(&save->records, RECORD_HANDLE, &text_layout,
		     (const void *[]){ &place, file->events ? &state : NULL });
	record_put_bytes(&save->records, pending, nr * sizeof(*pending));
	if (!file->events)
		record_put_bytes(&save->records, file->text.data, file->text.size);
	record_end(&save->records);
	free(pending);
}

/* ---- restoring ---- */

/* A file whose entry is gone is one that no server knows: its reads fail. */
bool restore_text(struct restore *restore, const struct record *record)
{
	struct text_place place;
	struct events_reader_state events;
	struct open_text *file;
	struct entry *entry;

	record_get_fields(&restore->records, record, &text_layout,
			  (void *[]){ &place, &events });
	entry = restore_find_entry(restore, place.entry);
	if (!entry)
		return true;
	file = open_text_restore(entry, place.uid);
	if (!file || !handles_insert(place.number, file))
		return false;
	if (place.is_events) {
		file->events = events_restore(&events, (const struct event_record *)record->bytes,
					      record->size / sizeof(struct event_record));
		return file->events;
	}
	if (record->size)
		text_append(&file->text, record->bytes, record->size);
	return !file->text.cut && (!entry->begin_report || file->reader);
}
