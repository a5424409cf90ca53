// SPDX-License-Identifier: GPL-2.0
/*
 * Writes the state of the daemon while all threads rest, and restores that of a predecessor: the
 * daemon's records (moved_*.c), and the engine's own stream (core.h) between them.
 *
 * The records are read four times: for what everything else needs; for what the engine's stream
 * refers to; after the engine, for what refers to the engine; and, when the predecessor is gone,
 * for calls that it has left without a reply.
 */
#include "base/daemon_log.h"
#include "events/stage_records.h"
#include "handover/handover.h"
#include "handover/moved.h"
#include "memory/text.h"
#include "memory/user_account.h"
#include "names/layout.h"
#include "names/tree.h"
#include "session/expire.h"
#include "session/handles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- writing ---- */

static void save_session(struct save *save)
{
	struct session_record session = {
		.start_time = (u64)tree_start_time(),
		.period = expire_stamp(),
		.next_minor = layout_next_minor(),
		.stages_on = stages_are_on(),
	};

	record_put(&save->records, RECORD_SESSION, &session, sizeof(session), NULL, 0);
}

static void see_handle(uint64_t number, void *object, void *save)
{
	if (handle_is_device(number)) {
		save_open(save, object);
		save_pending(save, object);
	} else {
		save_text(save, number, object);
	}
}

int save_all(struct save *save, u32 engine_version)
{
	int error;

	daemon_self->handover->save = save;
	daemon_self->handover->attempt++;
	save_names(save);
	error = binder_state_write(engine_version, &save->engine);
	if (error)
		return error;
	save_calls(save);
	handles_visit(see_handle, save);
	save_files(save);
	save_session(save);
	return save->records.failed || save->entries.failed ? -ENOMEM : 0;
}

void save_free(struct save *save)
{
	record_free(&save->records);
	host_free(save->engine.bytes);
	record_free(&save->entries);
	daemon_self->handover->save = NULL;
}

/* ---- objects by their numbers ---- */

static int compare_numbers(const void *a, const void *b)
{
	u64 x = **(const u64 *const *)a;
	u64 y = **(const u64 *const *)b;

	return x < y ? -1 : x > y;
}

void by_number_insert(struct by_number *table, void *object)
{
	table->objects[table->nr++] = object;
}

static bool sort_table(const struct by_number *table)
{
	qsort(table->objects, table->nr, sizeof(*table->objects), compare_numbers);
	return true;
}

void *by_number_find(const struct by_number *table, u64 number)
{
	const u64 *key = &number;
	void **found = bsearch(&key, table->objects, table->nr, sizeof(*table->objects),
			       compare_numbers);

	return found ? *found : NULL;
}

/* ---- restoring ---- */

static bool restore_session(struct restore *restore, const struct record *record)
{
	record_get(record, &restore->session, sizeof(restore->session));
	atomic_store(&daemon_self->expire->period, restore->session.period);
	tree_set_start_time((time_t)restore->session.start_time);
	return true;
}

/* When a record is read. */
enum pass { FIRST, BEFORE_ENGINE, AFTER_ENGINE };

struct reading {
	enum pass pass;
	bool (*restore)(struct restore *restore, const struct record *record);
	const char *what;
};

static const struct reading readings[RECORD_TYPES] = {
	[RECORD_SESSION] = { FIRST, restore_session, "the session" },
	[RECORD_HELPER] = { FIRST, restore_helper, "the helper process" },
	[RECORD_ENTRY] = { BEFORE_ENGINE, restore_entry, "a name" },
	[RECORD_INODE] = { BEFORE_ENGINE, restore_inode, "an inode" },
	[RECORD_OPEN] = { BEFORE_ENGINE, restore_open, "an open" },
	[RECORD_FILE] = { BEFORE_ENGINE, restore_file, "a file" },
	[RECORD_CALL] = { AFTER_ENGINE, restore_call, "a call" },
	[RECORD_REQUEST] = { AFTER_ENGINE, restore_request, "a request" },
	[RECORD_PENDING] = { AFTER_ENGINE, restore_pending, "a thread's files" },
	[RECORD_JOB] = { AFTER_ENGINE, restore_job, "an installation of files" },
	[RECORD_HANDLE] = { AFTER_ENGINE, restore_text, "an open text" },
	[RECORD_LEFT] = { AFTER_ENGINE, restore_left, "a call that was left behind" },
};

static bool fail_restore(struct restore *restore, const char *format, const char *what)
{
	if (!restore->why[0])
		snprintf(restore->why, sizeof(restore->why), format, what);
	return false;
}

static bool read_pass(struct restore *restore, enum pass pass)
{
	struct record_reader *records = &restore->records;
	struct record record;

	records->at = 0;
	while (record_next(records, &record)) {
		const struct reading *reading = &readings[0];

		if (record.type < RECORD_TYPES)
			reading = &readings[record.type];
		if (!reading->restore)
			return fail_restore(restore, "the predecessor has something that this "
					    "version %s", "does not know");
		if (reading->pass == pass && !reading->restore(restore, &record))
			return fail_restore(restore, "%s cannot be restored", reading->what);
	}
	return records->at == records->size ||
	       fail_restore(restore, "the records are %s", "damaged");
}

/* Room for as many opens, files and entries as there are records. */
static bool make_tables(struct restore *restore)
{
	struct record_reader *records = &restore->records;
	struct record record;
	u32 nr = 1;

	records->at = 0;
	while (record_next(records, &record))
		nr++;
	restore->opens.objects = calloc(nr, sizeof(void *));
	restore->files.objects = calloc(nr, sizeof(void *));
	restore->entries = calloc(nr, sizeof(*restore->entries));
	return restore->opens.objects && restore->files.objects && restore->entries;
}

static bool restore_engine(struct restore *restore, const void *bytes, size_t size)
{
	struct text why = { 0 };
	struct host_out out = { &why };

	if (binder_state_restore(bytes, size, &out))
		fail_restore(restore, "%s", why.size ? why.data : "out of memory");
	else if (!restore_check_opens(restore))
		fail_restore(restore, "%s is not in the engine's state", "an open");
	text_free(&why);
	return !restore->why[0];
}

bool restore_all(struct restore *restore, const void *engine, size_t engine_size)
{
	bool ok;

	daemon_self->handover->restore = restore;
	account_set_unlimited(true);
	binder_world_init();
	ok = (make_tables(restore) || fail_restore(restore, "out of %s", "memory")) &&
	     read_pass(restore, FIRST) &&
	     (daemon_self->helper ||
	      fail_restore(restore, "%s is missing", "the helper process")) &&
	     layout_restore() && restore->start_threads(restore->options) &&
	     read_pass(restore, BEFORE_ENGINE) && sort_table(&restore->opens) &&
	     sort_table(&restore->files) &&
	     restore_engine(restore, engine, engine_size) && read_pass(restore, AFTER_ENGINE);
	if (!ok)
		return fail_restore(restore, "%s", "the daemon could not be started");
	layout_set_next_minor(restore->session.next_minor);
	return true;
}

/* The predecessor is gone: what could not be done before. */
void restore_settle(struct restore *restore)
{
	struct record record;

	/* first: what settling the engine drops is closed by that */
	restore_close_unused(restore);
	binder_state_settle();
	account_set_unlimited(false);
	restore_begin_opens(restore);
	restore->records.at = 0;
	while (record_next(&restore->records, &record))
		if (record.type == RECORD_LEFT)
			restore_reply_to_left(&record);
	if (restore->session.stages_on)
		stages_start();
}

void restore_free(struct restore *restore)
{
	for (u32 i = 0; i < restore->opens.nr; i++)
		free(restore->opens.objects[i]);
	free(restore->opens.objects);
	free(restore->files.objects);
	free(restore->entries);
	record_close_fds(&restore->records);
	daemon_self->handover->restore = NULL;
}
