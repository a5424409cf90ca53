/* SPDX-License-Identifier: GPL-2.0 */
/* Between the files of this folder. */
#ifndef HOST_FUSE_HANDOVER_PRIVATE_H
#define HOST_FUSE_HANDOVER_PRIVATE_H

#include "base/daemon_state.h"
#include "base/record.h"
#include "handover/saved.h"
#include "host_types.h"

struct handover_starts;
struct binder_context;
struct entry;
struct open_file;

/* What is being written. */
struct save {
	struct record_writer records;
	struct record_writer engine;	/* only its bytes */
	u32 engine_version;
	u32 nr_opens;
	u32 nr_calls;
	u32 nr_files;
	u32 nr_left;
	struct entry **entries;		/* by their numbers, less one */
	u32 nr_entries;
	u32 room_entries;
};

/* An open that was read, for the engine's restoring of the same open. */
struct restored_open {
	struct open_file *file;
	struct host_proc proc;
	struct host_map map;
	bool released;		/* the engine does not know it */
};

/* What is being read. */
struct restore {
	const struct handover_starts *starts;
	struct saved_session session;
	struct record_reader records;
	struct restored_open **opens;	/* a hash table by open_id */
	u32 nr_slots;
	struct entry **entries;		/* as above, with the last entry below each directory */
	struct entry **last;
	u32 nr_entries;
	struct host_file **files;	/* a hash table by id */
	u32 nr_file_slots;
	u32 nr_opens;
	u32 nr_calls;
	u32 nr_files;
	struct saved_left *left;	/* calls that were left behind */
	u32 nr_left;
	char why[160];			/* it failed: a sentence */
};

struct handover {
	u32 attempt;			/* counts those that were tried */
	struct save *save;
	struct restore *restore;
};

/* ---- save.c, save_names.c ---- */

/* While all threads rest: writes everything. 0 or -errno. */
int save_all(struct save *save, u32 engine_version);
void save_free(struct save *save);

void save_names(struct save *save);
/* The number of an entry; 0: it was not saved. */
u32 save_number_of(const struct save *save, const struct entry *entry);
void save_open(struct save *save, struct open_file *file);
void save_file(struct save *save, struct host_file *file);
void save_calls(struct save *save);
void save_files(struct save *save);
void save_texts(struct save *save);
void save_call(struct save *save, const struct host_thread *thread, enum saved_place place);

/* ---- restore.c, restore_names.c, restore_opens.c, restore_calls.c ---- */

/* Restores everything. False: @why says why not. */
bool restore_all(struct restore *restore, const void *engine, size_t engine_size);
/* When this process is the one that serves, before the gate opens. */
void restore_settle(struct restore *restore);
void restore_free(struct restore *restore);

/* One record. False: no memory, or damaged. */
bool restore_entry(struct restore *restore, const struct record *record);
bool restore_inode(struct restore *restore, const struct record *record);
bool restore_open(struct restore *restore, const struct record *record);
bool restore_file(struct restore *restore, const struct record *record);
bool restore_call(struct restore *restore, const struct record *record);
bool restore_request(struct restore *restore, const struct record *record);
bool restore_left(struct restore *restore, const struct record *record);
bool restore_pending(struct restore *restore, const struct record *record);
bool restore_job(struct restore *restore, const struct record *record);
bool restore_text(struct restore *restore, const struct record *record);

/* The binder_thread @tid of an open, without a reference; NULL: there is none. */
struct host_thread *restore_find_thread(const struct restore *restore, u64 open_id, s32 tid);
struct entry *restore_find_entry(const struct restore *restore, u32 number);
struct restored_open *restore_find_open(const struct restore *restore, u64 open_id);
struct host_file *restore_find_file(const struct restore *restore, u64 id);

/* Does the engine have all opens that the daemon has? */
bool restore_check_opens(struct restore *restore);
/* Watches their processes. */
void restore_begin_opens(struct restore *restore);
void restore_close_unused(struct restore *restore);
void restore_reply_to_left(const struct restore *restore);

#endif
