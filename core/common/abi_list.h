/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands (BC_*) and return codes (BR_*) of the ABI as lists: X(code) for each, in the
 * order of their numbers. BR_TRANSACTION_SEC_CTX is not listed: it has the number of
 * BR_TRANSACTION. Includes nothing, so that programs that use the kernel's own header can
 * use it, too.
 */
#ifndef BINDER_ABI_LIST_H
#define BINDER_ABI_LIST_H

#define BINDER_COMMANDS(X)                \
	X(BC_TRANSACTION)                 \
	X(BC_REPLY)                       \
	X(BC_ACQUIRE_RESULT)              \
	X(BC_FREE_BUFFER)                 \
	X(BC_INCREFS)                     \
	X(BC_ACQUIRE)                     \
	X(BC_RELEASE)                     \
	X(BC_DECREFS)                     \
	X(BC_INCREFS_DONE)                \
	X(BC_ACQUIRE_DONE)                \
	X(BC_ATTEMPT_ACQUIRE)             \
	X(BC_REGISTER_LOOPER)             \
	X(BC_ENTER_LOOPER)                \
	X(BC_EXIT_LOOPER)                 \
	X(BC_REQUEST_DEATH_NOTIFICATION)  \
	X(BC_CLEAR_DEATH_NOTIFICATION)    \
	X(BC_DEAD_BINDER_DONE)            \
	X(BC_TRANSACTION_SG)              \
	X(BC_REPLY_SG)                    \
	X(BC_REQUEST_FREEZE_NOTIFICATION) \
	X(BC_CLEAR_FREEZE_NOTIFICATION)   \
	X(BC_FREEZE_NOTIFICATION_DONE)

#define BINDER_RETURNS(X)                    \
	X(BR_ERROR)                          \
	X(BR_OK)                             \
	X(BR_TRANSACTION)                    \
	X(BR_REPLY)                          \
	X(BR_ACQUIRE_RESULT)                 \
	X(BR_DEAD_REPLY)                     \
	X(BR_TRANSACTION_COMPLETE)           \
	X(BR_INCREFS)                        \
	X(BR_ACQUIRE)                        \
	X(BR_RELEASE)                        \
	X(BR_DECREFS)                        \
	X(BR_ATTEMPT_ACQUIRE)                \
	X(BR_NOOP)                           \
	X(BR_SPAWN_LOOPER)                   \
	X(BR_FINISHED)                       \
	X(BR_DEAD_BINDER)                    \
	X(BR_CLEAR_DEATH_NOTIFICATION_DONE)  \
	X(BR_FAILED_REPLY)                   \
	X(BR_FROZEN_REPLY)                   \
	X(BR_ONEWAY_SPAM_SUSPECT)            \
	X(BR_TRANSACTION_PENDING_FROZEN)     \
	X(BR_FROZEN_BINDER)                  \
	X(BR_CLEAR_FREEZE_NOTIFICATION_DONE)

#endif
