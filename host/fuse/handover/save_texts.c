// SPDX-License-Identifier: GPL-2.0
/*
 * Writes what is open besides devices: directories and texts, whose contents move as they are;
 * reports that are being read, which go on; the stream of events, with what was not read yet.
 */
#include "core.h"
#include "events/event_stream.h"
#include "handover/private.h"
#include "names/open_text.h"
#include "names/report_reader.h"
#include "session/handles.h"

#include <stdlib.h>
#include <string.h>

static void put_events(struct save *save, struct saved_handle *saved,
		       const struct events_reader *reader)
{
	struct events_reader_state state;
	size_t nr;
	struct event_record *pending = events_save(reader, &state, &nr);

	saved->is_events = true;
	saved->event = state.end;
	saved->lost = state.lost;
	saved->unique = state.unique;
	saved->idle_ns = state.idle_ns;
	saved->poll_handle = state.poll_handle;
	saved->mask = state.mask;
	saved->room = state.room;
	saved->told_header = state.told_header;
	saved->poll_armed = state.poll_armed;
	record_put(&save->records, RECORD_HANDLE, saved, sizeof(*saved), pending,
		   nr * sizeof(*pending));
	free(pending);
}

struct report_sink {
	struct binder_state_sink sink;
	struct record_writer bytes;
};

static int put_report_bytes(struct binder_state_sink *sink, const void *bytes, size_t size)
{
	return record_put_bytes(&((struct report_sink *)sink)->bytes, bytes, size);
}

/* The text, then where the report is. */
static void put_report(struct save *save, struct saved_handle *saved,
		       const struct report_reader *reader)
{
	struct report_sink sink = { .sink = { .put = put_report_bytes } };
	struct report_reader_state state;
	int error;

	report_reader_save(reader, &state);
	saved->is_report = true;
	saved->start = state.start;
	saved->complete = state.complete;
	error = record_put_bytes(&sink.bytes, state.text, state.text_size);
	if (!error && !state.complete)
		error = binder_report_write(report_reader_report(reader), &sink.sink,
					    save->engine_version);
	saved->report_size = (u32)(sink.bytes.size - state.text_size);
	save->records.failed |= error != 0;
	if (!error)
		record_put(&save->records, RECORD_HANDLE, saved, sizeof(*saved), sink.bytes.bytes,
			   sink.bytes.size);
	record_free(&sink.bytes);
}

static void see_handle(uint64_t number, void *object, void *arg)
{
	const struct open_text *file = object;
	struct save *save = arg;
	struct saved_handle saved = { .number = number };

	if (handle_is_device(number))
		return;
	saved.entry = save_number_of(save, file->entry);
	saved.uid = file->uid;
	if (file->events)
		put_events(save, &saved, file->events);
	else if (file->reader)
		put_report(save, &saved, file->reader);
	else
		record_put(&save->records, RECORD_HANDLE, &saved, sizeof(saved), file->text.data,
			   file->text.size);
}

void save_texts(struct save *save)
{
	handles_visit(see_handle, save);
}
