/* SPDX-License-Identifier: GPL-2.0 */
/*
 * moved: what the daemon has besides its engine, as records for the process that takes over. Each
 * moved_*.c writes one kind of things and restores it, both by the same table of fields.
 *
 * A later version may append fields to a table, nothing else (record.h, docs/PORTING.md).
 */
#ifndef HOST_FUSE_HANDOVER_MOVED_H
#define HOST_FUSE_HANDOVER_MOVED_H

#include "base/daemon_state.h"
#include "base/record.h"
#include "core.h"
#include "host_types.h"

struct options;
struct entry;
struct open_file;
struct open_text;

/* The fields of RECORD_SESSION. */
struct session_record {
	u64 start_time;		/* that files show */
	u32 period;		/* of expire.h */
	u32 next_minor;
	u32 stages_on;
	u32 unused[3];		/* counts of records, until 1.0 */
};

/* The fields of RECORD_LEFT: a request whose call was left behind. */
struct left_record {
	u64 unique;
	u32 is_ioctl;		/* which returns how much it has consumed: */
	u32 cmd;
	u32 out_size;
	u32 unused;
	char arg[HOST_ARG_SIZE];
};

/* What is being written. */
struct save {
	struct record_writer records;
	struct binder_state engine;
	u32 nr_left;
	struct record_writer entries;	/* only bytes: pointers by their numbers, less one */
};

/* Objects by the u64 number that each begins with; in no order until all are inserted. */
struct by_number {
	void **objects;
	u32 nr;
};

/* An open that was read, for the engine's restoring of the same open. */
struct restored_open {
	u64 open_id;
	struct open_file *file;
	struct host_proc proc;
	struct host_map map;
	bool released;		/* the engine does not know it */
};

/* What is being read. */
struct restore {
	bool (*start_threads)(const struct options *options);
	const struct options *options;
	struct session_record session;
	struct record_reader records;
	struct by_number opens;		/* struct restored_open */
	struct by_number files;		/* struct host_file */
	struct entry **entries;		/* by their numbers */
	u32 nr_entries;
	char why[160];			/* it failed: a sentence */
};

struct handover {
	u32 attempt;			/* counts those that were tried */
	struct save *save;
	struct restore *restore;
};

/* ---- moved.c ---- */

/* While all threads rest: writes everything. 0 or -errno. */
int save_all(struct save *save, u32 engine_version);
void save_free(struct save *save);

/* Restores everything. False: @why says why not. */
bool restore_all(struct restore *restore, const void *engine, size_t engine_size);
/* When this process is the one that serves, before the gate opens. */
void restore_settle(struct restore *restore);
void restore_free(struct restore *restore);

void by_number_insert(struct by_number *table, void *object);
/* After the records that the engine's stream refers to: the object @number; NULL: there is none. */
void *by_number_find(const struct by_number *table, u64 number);

/* ---- by kind; each restores one record, or returns false: no memory, or damaged ---- */

void save_names(struct save *save);
/* The number of an entry; 0: it was not saved. */
u32 save_number_of(const struct save *save, const struct entry *entry);
struct entry *restore_find_entry(const struct restore *restore, u32 number);
bool restore_entry(struct restore *restore, const struct record *record);
bool restore_inode(struct restore *restore, const struct record *record);

void save_open(struct save *save, struct open_file *file);
bool restore_open(struct restore *restore, const struct record *record);
/* Does the engine have all opens that the daemon has? */
bool restore_check_opens(struct restore *restore);
/* Watches their processes. */
void restore_begin_opens(struct restore *restore);
/* The binder_thread @tid of an open, without a reference; NULL: there is none. */
struct host_thread *restore_find_thread(const struct restore *restore, u64 open_id, s32 tid);

/* Where a call waits. */
enum saved_place { SAVED_PARKED, SAVED_BACKLOG, SAVED_SLOW_LANE, SAVED_JOB };
void save_call(struct save *save, const struct host_thread *thread, enum saved_place place);
void save_calls(struct save *save);
bool restore_call(struct restore *restore, const struct record *record);
bool restore_request(struct restore *restore, const struct record *record);
bool restore_left(struct restore *restore, const struct record *record);
void restore_reply_to_left(const struct record *record);

/* What is under way for the threads of an open; then all that is left. */
void save_pending(struct save *save, const struct open_file *file);
void save_files(struct save *save);
bool restore_helper(struct restore *restore, const struct record *record);
bool restore_file(struct restore *restore, const struct record *record);
bool restore_pending(struct restore *restore, const struct record *record);
bool restore_job(struct restore *restore, const struct record *record);
void restore_close_unused(struct restore *restore);

void save_text(struct save *save, u64 number, const struct open_text *file);
bool restore_text(struct restore *restore, const struct record *record);

#endif
