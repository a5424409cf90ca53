/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cover points: rare paths of the engine, by name. Hosts compile nothing for them. The
 * simulator counts how often each one is reached; its test fails if one never is. A path
 * gets a cover point if only a race, a death or a failure leads to it, so that no plain
 * test would show that it is no longer tested.
 */
#ifndef BINDER_COVER_H
#define BINDER_COVER_H

#define BINDER_COVER_POINTS(X)                                                                \
	X(MAP_FOUND_TWICE, "two senders looked up a mapping at the same time")                \
	X(BUFFER_WITHOUT_PAGES, "a buffer was allocated, but its pages were not")             \
	X(BUFFER_NOT_FREEABLE, "a process freed a buffer that is not its to free now")        \
	X(ONEWAY_SPAM, "a sender of one-way calls became a spam suspect")                     \
	X(PAGE_SHARED_POPULATING, "a buffer was put on a page that is being populated")       \
	X(PAGE_CLAIMED_EVICTING, "a buffer was put on a page that is being evicted")          \
	X(PAGES_WAITED_FOR_EVICTION, "a sender waited for the end of an eviction")            \
	X(SHRINK_WORLD_BUSY, "reclaim found the lock of the world taken")                     \
	X(THREAD_ENDS_IN_CALL, "a thread ended while it waited for a reply")                  \
	X(THREAD_ENDS_SERVING, "a thread ended before it replied")                            \
	X(WORK_OF_ANOTHER_OWNER, "a list was emptied that had work of another owner")         \
	X(THREAD_ENDS_CALL_UNREAD, "a thread ended with an unread call, its process lives")   \
	X(SEND_TO_WAITER, "a nested call to the thread that waits for the caller")            \
	X(REPLY_CALLER_DEAD, "the caller was dead before the reply was built")                \
	X(REPLY_CALLER_DIED, "the caller died while the reply was built")                     \
	X(CALL_TARGET_DIED, "the target died while the call was built")                       \
	X(CALL_FROZEN, "a call to a frozen process")                                          \
	X(ONEWAY_FROZEN, "a one-way call to a frozen process")                                \
	X(ONEWAY_BEHIND, "a one-way call was queued behind another")                          \
	X(ONEWAY_OUTDATED, "a one-way call replaced an older one")                            \
	X(FAILURE_PASSED_ON, "a failure was passed on to the caller of a dead sender")        \
	X(FILES_LATER, "files are installed when the thread calls again")                     \
	X(FILES_REFUSED, "files that the receiver could not take")                            \
	X(FILES_NOT_STORED, "files whose numbers could not be stored")                        \
	X(DELIVERY_FAILED, "a transaction that could not be delivered")                       \
	X(DELIVERY_POSTPONED, "an undelivered transaction was left for a later read")         \
	X(READ_UNDONE, "a read that could store nothing was undone")                          \
	X(REPLY_NOT_READ, "a reply that could not be delivered")                              \
	X(SPAWN_AFTER_WRITE, "a spawn request after the first code was written out")          \
	X(NODE_FOUND_MEANWHILE, "two threads sent the same new object")                       \
	X(NODE_FOUND_DYING, "a node was looked up that was about to be freed")                \
	X(NODE_WORK_MOVED, "the work of a node was moved to the sending thread")              \
	X(REF_FOUND_MEANWHILE, "two senders created the same handle")                         \
	X(REF_FOUND_GROWING, "the same while the table of handles grew")                      \
	X(REF_UNDONE, "a new handle was removed at once")                                     \
	X(DEATH_ALREADY_DEAD, "a death notification was requested for a dead node")           \
	X(DEATH_CLEARED_QUEUED, "a queued death notification was cleared")                    \
	X(DEATH_CLEARED_UNANSWERED, "a delivered one was cleared before it was acknowledged") \
	X(FREEZE_WAITED, "a freezer waited for calls to end")                                 \
	X(FREEZE_UNDONE, "a freezer gave up")                                                 \
	X(FREEZE_RESENT, "a state changed before the last one was acknowledged")              \
	X(FREEZE_CLEARED_UNANSWERED, "freeze cleared before the last one was acknowledged")   \
	X(MANAGER_TWICE, "two threads asked to be context manager at one time")               \
	X(STREAM_PUT_BACK, "a long command stream was put back behind other calls")           \
	X(STREAM_DROPPED, "the rest of a long command stream of a dying thread was dropped")  \
	X(PRIORITY_DROPPED, "a thread was found with a priority that it inherited")

enum binder_cover_point {
#define BINDER_COVER_ENUM(name, what) COVER_##name,
	BINDER_COVER_POINTS(BINDER_COVER_ENUM)
#undef BINDER_COVER_ENUM
	COVER_COUNT,
};

#ifdef BINDER_COUNT_COVER
#include "host_types.h"
extern u32 binder_cover_counts[COVER_COUNT];
#define BINDER_COVER(name) ((void)++binder_cover_counts[COVER_##name])
#else
#define BINDER_COVER(name) ((void)COVER_##name)
#endif

#endif
