/* SPDX-License-Identifier: GPL-2.0 */
/*
 * References to clients' files, which exist in the helper process, and their end.
 *
 * A file stays charged to its user until it is closed, which the user can delay. A user with files
 * that do not close for a while cannot pass further ones (USER_STALLED).
 */
#ifndef HOST_FUSE_FILE_REF_H
#define HOST_FUSE_FILE_REF_H

#include "fds/fds.h"

void file_refs_init(void);

struct host_file *file_ref_get(struct host_file *file);

/* ---- for the thread of the helper's events ---- */

/* The helper has closed the file that it knows by @id. */
void file_ref_closed(u64 id);
/* The helper has ended, with all files. */
void file_ref_lost_all(void);
/* Charges users for files that are overdue. False: none is being closed. */
bool file_ref_check_overdue(void);

#endif
