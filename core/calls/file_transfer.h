/* SPDX-License-Identifier: GPL-2.0 */
/*
 * files: the files of a transaction, from its sender into its receiver.
 */
#ifndef BINDER_FILES_H
#define BINDER_FILES_H

#include "host.h"

struct binder_thread;
struct binder_transaction;

/*
 * Installs the files of @t in the process of @thread, whose own call this is, and stores
 * their numbers in the data. 0, HOST_FDS_LATER or errno. May sleep; no lock held.
 */
int binder_files_install(struct binder_transaction *t, struct binder_thread *thread);
/* Closes the files that binder_files_install() has installed. May sleep; no lock held. */
void binder_files_close(const struct binder_transaction *t, struct binder_thread *thread);

#endif
