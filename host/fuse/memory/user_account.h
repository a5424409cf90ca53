/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The daemon's memory, charged to the users that it is for.
 *
 * Each open belongs to an account, that of its user (users.h). What the engine allocates for
 * the open, the pages of its receive buffer and the texts that the user reads are charged to the
 * account. At its limit an allocation fails as if there were no memory, which the engine turns into
 * what the C driver returns then. No account (NULL): nothing is counted.
 */
#ifndef HOST_FUSE_USER_ACCOUNT_H
#define HOST_FUSE_USER_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

struct account;

void account_init(void);

/* Charges @size bytes. False: the limit is reached. Makes no system call unless it is near. */
bool account_charge(struct account *account, size_t size);
void account_discharge(struct account *account, size_t size);

/* While the state of a predecessor is restored, what was charged before is charged in any case. */
void account_set_unlimited(bool unlimited);

/* Zeroed memory, charged until account_free(); NULL: none, or the limit is reached. */
void *account_alloc(struct account *account, size_t size);
void account_free(void *memory);

/* Memory of @size bytes was freed that no account was charged for. */
void account_note_freed(size_t size);

/*
 * Returns freed memory to the system if there may be much of it. Called by the watcher while the
 * workers are busy, and once they have become idle (@idle).
 */
void account_trim(bool idle);

#endif
