/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An open directory, text file or control file has a copy of the contents. Only a report is
 * generated as it is read, a part for each read(2), so that a reader of a long one takes no more of
 * a worker's time at once than other requests do.
 */
#ifndef HOST_FUSE_OPEN_TEXT_H
#define HOST_FUSE_OPEN_TEXT_H

#include "memory/text.h"
#include "names/tree.h"
#include "session/session.h"

struct events_reader;
struct report_reader;

struct open_text {
	struct entry *entry;
	struct text text;
	struct report_reader *reader;	/* of a report, in place of the text; or NULL */
	struct events_reader *events;	/* of the stream of events; or NULL */
	uid_t uid;		/* charged for it */
};

/*
 * Opens @entry, whose reference it takes over, for user @uid; @charged: the user who is charged.
 * @write_only: the contents are not wanted. 0; -ENFILE, -ENOMEM, -EMFILE, -EACCES: the reference is
 * dropped.
 */
int open_text_new(struct entry *entry, uid_t uid, uid_t charged, bool write_only,
		  struct open_text **out);
void open_text_free(struct open_text *file);

/*
 * Opens one that was taken over, without contents but with a new report, whatever the limit is.
 * NULL: no memory.
 */
struct open_text *open_text_restore(struct entry *entry, uid_t charged);

/* ---- an open report ---- */

/*
 * Replies to a READ: with fewer bytes than asked for, if they are many. As with a seq_file, a read
 * that does not begin where the last one ended begins a new report, and passes over what comes
 * before its offset; ESPIPE if that are more than 4 MiB, which would keep a worker too long.
 */
void report_reader_read(struct report_reader *reader, const struct request *request);

#endif
