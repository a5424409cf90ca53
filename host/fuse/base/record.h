/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The daemon's own state as a list of records, for the process that takes over (handover.h).
 *
 * A record is a type, a struct of fixed fields, and bytes whose length varies. A later version may
 * append fields to a struct, never change or remove one: what an older writer did not write is read
 * as zero, what an older reader does not know is passed over. Descriptors travel beside the
 * records, which have their places in that list.
 */
#ifndef HOST_FUSE_RECORD_H
#define HOST_FUSE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a record is about. A type never changes its meaning (docs/PORTING.md). */
enum record_type {
	RECORD_SESSION = 1,
	RECORD_LAYOUT,
	RECORD_ENTRY,
	RECORD_INODE,
	RECORD_OPEN,
	RECORD_CALL,
	RECORD_REQUEST,
	RECORD_LEFT,
	RECORD_HELPER,
	RECORD_FILE,
	RECORD_PENDING,
	RECORD_JOB,
	RECORD_HANDLE,
	RECORD_STAGES,
	RECORD_TYPES,
};

struct record_writer {
	char *bytes;
	size_t size;
	size_t room;
	int *fds;		/* not owned */
	uint32_t nr_fds;
	uint32_t room_fds;
	size_t record;		/* where the present one begins */
	bool failed;		/* no memory */
};

/*
 * How a member of an object stands among the fixed fields of a record: a table of these is all that
 * a kind of record needs in order to be written and read. Numbers begin with their low bytes, so
 * one may be wider in the record than in the object.
 */
struct record_field {
	uint16_t offset;	/* in the object */
	uint16_t size;		/* bytes of the member; 0: it is unused */
	uint16_t saved;		/* bytes in the record */
	uint8_t object;		/* which of those that the record describes */
	bool is_fd;		/* a descriptor, or -1, which travels beside the records */
};

struct record_layout {
	const struct record_field *fields;
	uint32_t nr;
};

#define RECORD_FIELD(object_, type, member, saved_) \
	{ .offset = offsetof(type, member), .size = sizeof(((type *)0)->member), \
	  .saved = saved_, .object = object_ }
#define RECORD_64(object, type, member) RECORD_FIELD(object, type, member, 8)
#define RECORD_32(object, type, member) RECORD_FIELD(object, type, member, 4)
#define RECORD_BYTES(object, type, member) \
	RECORD_FIELD(object, type, member, sizeof(((type *)0)->member))
#define RECORD_FD(object_, type, member) \
	{ .offset = offsetof(type, member), .size = sizeof(int), .saved = 4, \
	  .object = object_, .is_fd = true }
#define RECORD_UNUSED { .saved = 4 }
#define RECORD_LAYOUT(fields) { fields, sizeof(fields) / sizeof((fields)[0]) }

/*
 * Begins a record, with the fields of @objects by @layout; those of one that is NULL are 0, or no
 * descriptor. Bytes may be added by record_put_bytes(), before record_end(). Without memory the
 * writer has failed.
 */
void record_begin(struct record_writer *writer, enum record_type type,
		  const struct record_layout *layout, const void *const *objects);
void record_end(struct record_writer *writer);

/* A record with the @fixed_size bytes at @fixed as its fields and @size bytes at @bytes. */
void record_put(struct record_writer *writer, enum record_type type, const void *fixed,
		size_t fixed_size, const void *bytes, size_t size);

/* Appends @size bytes and nothing else. 0 or -ENOMEM. */
int record_put_bytes(struct record_writer *writer, const void *bytes, size_t size);

void record_free(struct record_writer *writer);

struct record {
	enum record_type type;
	const char *fixed;
	size_t fixed_size;
	const char *bytes;
	size_t size;
};

struct record_reader {
	const char *bytes;
	size_t size;
	size_t at;
	int *fds;		/* owned: those that are not taken are closed */
	uint32_t nr_fds;
};

/* The next record. False: there is none; the stream is damaged if @at is not @size. */
bool record_next(struct record_reader *reader, struct record *record);

/* Copies the fixed fields to the @size bytes at @fields; those that were not written are 0. */
void record_get(const struct record *record, void *fields, size_t size);

/* Sets the members that @layout has in each of @objects that is not NULL; takes the descriptors. */
void record_get_fields(struct record_reader *reader, const struct record *record,
		       const struct record_layout *layout, void *const *objects);

void record_close_fds(struct record_reader *reader);

#endif
