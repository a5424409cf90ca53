// SPDX-License-Identifier: GPL-2.0
/*
 * Restores the state of the predecessor: the daemon's records, the engine's stream between them,
 * and what belongs to it.
 *
 * The records are read three times: for what everything else needs; for what the engine's stream
 * refers to; and, after the engine, for what refers to the engine.
 */
#include "base/daemon_log.h"
#include "calls/open_file.h"
#include "core.h"
#include "events/stage_records.h"
#include "fds/fds.h"
#include "handover/handover.h"
#include "handover/private.h"
#include "handover/saved.h"
#include "memory/account.h"
#include "names/layout.h"
#include "names/tree.h"
#include "session/expire.h"
#include "session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static bool restore_session(struct restore *restore, const struct record *record)
{
	record_get(record, &restore->session, sizeof(restore->session));
	atomic_store(&daemon_self->expire->period, restore->session.period);
	tree_set_start_time((time_t)restore->session.start_time);
	return true;
}

static bool restore_helper(struct restore *restore, const struct record *record)
{
	struct saved_helper saved;
	struct helper_state state;
	u32 oldest, newest;

	record_get(record, &saved, sizeof(saved));
	state = (struct helper_state){
		.control = record_take_fd(&restore->records, saved.control),
		.pidfd = record_take_fd(&restore->records, saved.pidfd),
		.generation = saved.generation,
	};
	errno = 0;
	if (state.control >= 0 && fds_take_over(&state))
		return true;
	fds_helper_versions(&oldest, &newest);
	if (errno == EPROTO)
		snprintf(restore->why, sizeof(restore->why),
			 "the helper process does not know "
			 "versions %u to %u of its messages, those of this program",
			 oldest, newest);
	return false;
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

/* Room for as many opens, files and entries as there are records, in hash tables half full. */
static bool make_tables(struct restore *restore)
{
	struct record_reader *records = &restore->records;
	struct record record;
	u32 nr = 64;
	u32 slots = 64;

	records->at = 0;
	while (record_next(records, &record))
		nr++;
	while (slots < 2 * nr)
		slots *= 2;
	restore->nr_slots = slots;
	restore->nr_file_slots = slots;
	restore->opens = calloc(slots, sizeof(*restore->opens));
	restore->files = calloc(slots, sizeof(*restore->files));
	restore->entries = calloc(nr, sizeof(*restore->entries));
	restore->last = calloc(nr, sizeof(*restore->last));
	return restore->opens && restore->files && restore->entries && restore->last;
}

static bool restore_engine(struct restore *restore, const void *bytes, size_t size)
{
	int error = binder_state_restore(bytes, size, restore->why, sizeof(restore->why));

	if (!error)
		return restore_check_opens(restore) ||
		       fail_restore(restore, "%s is not in the engine's state", "an open");
	if (!restore->why[0])
		fail_restore(restore, "the engine's state cannot be restored%s", "");
	return false;
}

/* What the predecessor counted is what is charged now. */
static void compare_counts(const struct restore *restore)
{
	const struct saved_session *saved = &restore->session;

	if (saved->nr_opens != restore->nr_opens || saved->nr_calls != restore->nr_calls ||
	    saved->nr_files != restore->nr_files)
		log_warn("of %u opens, %u calls and %u files the predecessor had, %u, %u and %u "
			 "were restored", saved->nr_opens, saved->nr_calls, saved->nr_files,
			 restore->nr_opens, restore->nr_calls, restore->nr_files);
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
	     layout_restore() && restore->starts->threads(restore->starts->options) &&
	     read_pass(restore, BEFORE_ENGINE) &&
	     restore_engine(restore, engine, engine_size) && read_pass(restore, AFTER_ENGINE);
	if (!ok)
		return fail_restore(restore, "%s", "the daemon could not be started");
	layout_set_next_minor(restore->session.next_minor);
	compare_counts(restore);
	return true;
}

/* The predecessor is gone: what could not be done before. */
void restore_settle(struct restore *restore)
{
	/* first: what settling the engine drops is closed by that */
	restore_close_unused(restore);
	binder_state_settle();
	account_set_unlimited(false);
	restore_begin_opens(restore);
	restore_reply_to_left(restore);
	if (restore->session.stages_on)
		stages_start();
}

void restore_free(struct restore *restore)
{
	for (u32 i = 0; restore->opens && i < restore->nr_slots; i++)
		free(restore->opens[i]);
	free(restore->opens);
	free(restore->files);
	free(restore->entries);
	free(restore->last);
	free(restore->left);
	record_close_fds(&restore->records);
	daemon_self->handover->restore = NULL;
}
