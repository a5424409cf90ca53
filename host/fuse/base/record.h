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

/* The first letters of the parts; a type never changes its meaning (docs/PORTING.md). */
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
	bool failed;		/* no memory */
};

/*
 * Appends a record of @fixed_size bytes at @fixed and @size bytes at @bytes. Without memory the
 * writer has failed.
 */
void record_put(struct record_writer *writer, enum record_type type, const void *fixed,
		size_t fixed_size, const void *bytes, size_t size);

/* Appends @size bytes and nothing else. 0 or -ENOMEM. */
int record_put_bytes(struct record_writer *writer, const void *bytes, size_t size);

/* The place of @fd in the list, plus one; 0: it is -1. */
uint32_t record_put_fd(struct record_writer *writer, int fd);

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

/* Takes the descriptor at @place; -1: there is none. */
int record_take_fd(struct record_reader *reader, uint32_t place);

void record_close_fds(struct record_reader *reader);

#endif
