// SPDX-License-Identifier: GPL-2.0
/* The daemon's own state as a list of records. Each begins at a multiple of 8 bytes. */
#include "base/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record_head {
	uint32_t type;
	uint32_t fixed_size;
	uint32_t size;		/* of what follows the fixed fields */
	uint32_t unused;
};

static size_t round_up(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static char *make_room(struct record_writer *writer, size_t size)
{
	char *bytes;

	if (writer->failed)
		return NULL;
	if (writer->size + size > writer->room) {
		size_t room = 2 * writer->room + size + 65536;

		bytes = realloc(writer->bytes, room);
		writer->failed = !bytes;
		if (!bytes)
			return NULL;
		writer->bytes = bytes;
		writer->room = room;
	}
	bytes = writer->bytes + writer->size;
	writer->size += size;
	return bytes;
}

/* The place of @fd in the list, plus one; 0: it is -1. */
static uint32_t put_fd(struct record_writer *writer, int fd)
{
	if (fd < 0)
		return 0;
	if (writer->nr_fds == writer->room_fds) {
		uint32_t room = 2 * writer->room_fds + 64;
		int *fds = realloc(writer->fds, room * sizeof(*fds));

		writer->failed |= !fds;
		if (!fds)
			return 0;
		writer->fds = fds;
		writer->room_fds = room;
	}
	writer->fds[writer->nr_fds++] = fd;
	return writer->nr_fds;
}

static void pad_record(struct record_writer *writer)
{
	size_t size = round_up(writer->size) - writer->size;
	char *to = make_room(writer, size);

	if (to)
		memset(to, 0, size);
}

static void put_field(struct record_writer *writer, const struct record_field *field,
		      const char *object)
{
	char *to = make_room(writer, field->saved);
	uint32_t place;

	if (!to)
		return;
	memset(to, 0, field->saved);
	if (!object)
		return;
	if (field->is_fd) {
		place = put_fd(writer, *(const int *)(object + field->offset));
		memcpy(to, &place, sizeof(place));
	} else {
		memcpy(to, object + field->offset, field->size);
	}
}

static void begin_head(struct record_writer *writer, enum record_type type)
{
	struct record_head head = { .type = type };

	writer->record = writer->size;
	record_put_bytes(writer, &head, sizeof(head));
}

static void end_fixed(struct record_writer *writer)
{
	struct record_head *head = (struct record_head *)(writer->bytes + writer->record);

	if (!writer->failed)
		head->fixed_size = (uint32_t)(writer->size - writer->record - sizeof(*head));
	pad_record(writer);
}

void record_begin(struct record_writer *writer, enum record_type type,
		  const struct record_layout *layout, const void *const *objects)
{
	begin_head(writer, type);
	for (uint32_t i = 0; i < layout->nr; i++)
		put_field(writer, &layout->fields[i], objects[layout->fields[i].object]);
	end_fixed(writer);
}

void record_end(struct record_writer *writer)
{
	struct record_head *head = (struct record_head *)(writer->bytes + writer->record);
	size_t size;

	if (writer->failed)
		return;
	size = writer->size - writer->record - sizeof(*head) - round_up(head->fixed_size);
	head->size = (uint32_t)size;
	writer->failed |= size > UINT32_MAX / 2;
	pad_record(writer);
}

void record_put(struct record_writer *writer, enum record_type type, const void *fixed,
		size_t fixed_size, const void *bytes, size_t size)
{
	begin_head(writer, type);
	record_put_bytes(writer, fixed, fixed_size);
	end_fixed(writer);
	record_put_bytes(writer, bytes, size);
	record_end(writer);
}

int record_put_bytes(struct record_writer *writer, const void *bytes, size_t size)
{
	char *to = size ? make_room(writer, size) : NULL;

	if (writer->failed)
		return -ENOMEM;
	if (size)
		memcpy(to, bytes, size);
	return 0;
}

void record_free(struct record_writer *writer)
{
	free(writer->bytes);
	free(writer->fds);
	*writer = (struct record_writer){ 0 };
}

bool record_next(struct record_reader *reader, struct record *record)
{
	size_t left = reader->size - reader->at;
	struct record_head head;
	size_t padded;

	if (left < sizeof(head))
		return false;
	memcpy(&head, reader->bytes + reader->at, sizeof(head));
	padded = round_up(head.fixed_size);
	if (padded > left - sizeof(head) || round_up(head.size) > left - sizeof(head) - padded)
		return false;
	record->type = head.type;
	record->fixed = reader->bytes + reader->at + sizeof(head);
	record->fixed_size = head.fixed_size;
	record->bytes = record->fixed + padded;
	record->size = head.size;
	reader->at += sizeof(head) + padded + round_up(head.size);
	return true;
}

void record_get(const struct record *record, void *fields, size_t size)
{
	size_t written = record->fixed_size < size ? record->fixed_size : size;

	memset(fields, 0, size);
	memcpy(fields, record->fixed, written);
}

static int take_fd(struct record_reader *reader, uint32_t place)
{
	int fd = -1;

	if (place && place <= reader->nr_fds) {
		fd = reader->fds[place - 1];
		reader->fds[place - 1] = -1;
	}
	return fd;
}

void record_get_fields(struct record_reader *reader, const struct record *record,
		       const struct record_layout *layout, void *const *objects)
{
	static const char zeros[256];
	size_t at = 0;

	for (uint32_t i = 0; i < layout->nr; i++) {
		const struct record_field *field = &layout->fields[i];
		bool written = at + field->saved <= record->fixed_size;
		const char *from = written ? record->fixed + at : zeros;
		char *object = objects[field->object];
		uint32_t place;

		at += field->saved;
		if (!object)
			continue;
		memcpy(&place, from, sizeof(place));
		if (field->is_fd)
			*(int *)(object + field->offset) = take_fd(reader, place);
		else
			memcpy(object + field->offset, from, field->size);
	}
}

void record_close_fds(struct record_reader *reader)
{
	for (uint32_t i = 0; i < reader->nr_fds; i++)
		if (reader->fds[i] >= 0)
			close(reader->fds[i]);
	free(reader->fds);
	reader->fds = NULL;
	reader->nr_fds = 0;
}
