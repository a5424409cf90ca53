/* SPDX-License-Identifier: GPL-2.0 */
/* An open directory, text file or control file: each has a copy of the contents. */
#ifndef HOST_FUSE_OPEN_TEXT_H
#define HOST_FUSE_OPEN_TEXT_H

#include "memory/text.h"
#include "names/tree.h"

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

/* Opens one that was taken over, without contents, whatever the limit is. NULL: no memory. */
struct open_text *open_text_restore(struct entry *entry, uid_t charged);

#endif
