/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much memory a user may have of the daemon. What is charged to its account is in account.h.
 *
 * Memory is charged often, so it is counted without the lock of users. A user may have what was
 * granted to it under the lock, a MiB at a time; the grants of all users are bounded together, and
 * what a user no longer uses of its grant is withdrawn when another one needs it.
 */
#ifndef HOST_FUSE_USER_MEMORY_H
#define HOST_FUSE_USER_MEMORY_H

#include "clients/users.h"

/* Limits the memory, in bytes, of all users but root and the owner together, and of each. */
void user_memory_set_limits(long all, long one);

/*
 * The account of a user that has something charged, valid as long as that or anything in the
 * account is; NULL: for root and the owner, whose memory is not counted.
 */
struct account *user_memory_account(uid_t uid);

/* May the account have what is charged to it? Raises what it may have without asking again. */
bool user_memory_grant(struct account *account);

#endif
