/* SPDX-License-Identifier: GPL-2.0 */
/*
 * References to clients' files, which exist in the helper process, and their end.
 *
 * A file stays charged to its user until it is closed, which the user can delay. A user with files
 * that do not close for a while cannot pass further ones (USER_STALLED).
 */
#ifndef HOST_FUSE_FILE_REF_H
#define HOST_FUSE_FILE_REF_H

#include "host_types.h"

void file_refs_init(void);

/* A number for a new file. */
u64 file_ref_new_id(void);

struct host_file *file_ref_get(struct host_file *file);
/* The last one has the file closed. Never waits for the file. */
void file_ref_put(struct host_file *file);

/* ---- for a process that hands the daemon over, and for the one that takes it over ---- */

/* Calls @visit for each file that is being closed. */
void file_ref_visit_closing(void (*visit)(struct host_file *file, void *arg), void *arg);
/* Adds one; @file was charged to its user. */
void file_ref_restore_closing(struct host_file *file);
/* @id: of a file that was taken over. */
void file_ref_note_id(u64 id);

/* The rest is for the handlers of the helper's events. */

/* The helper has closed the file that it knows by @id. */
void file_ref_closed(u64 id);
/* The helper has ended, with all files. */
void file_ref_lost_all(void);
/* Charges users for files that are overdue. False: none is being closed. */
bool file_ref_check_overdue(void);

#endif
