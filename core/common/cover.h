/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rare paths, by name.  A home compiles nothing of them; the simulator counts how often
 * each is taken, and its test fails if one of the table never is.  Worth a mark is what
 * only a race, a death or a failure leads to, so that no plain test would miss it.
 */
#ifndef BINDER_COVER_H
#define BINDER_COVER_H

#define BINDER_COVER_POINTS(X)                                                                 \
	X(MAP_FOUND_TWICE, "two senders found the mapping at the same time")                   \
	X(BUFFER_WITHOUT_PAGES, "a buffer was cut, but its pages could not be had")            \
	X(BUFFER_NOT_YET_FREE, "a buffer was given back that is not the process's to give")    \
	X(ONEWAY_SPAM, "a sender of one-way calls is a suspect")                               \
	X(PAGE_SHARED_POPULATING, "a buffer lies on a page whose memory is on its way")        \
	X(PAGE_CLAIMED_EVICTING, "a buffer lies on a page whose memory is being taken away")   \
	X(PAGES_PASSED_EVICTION, "a sender waited for an eviction to end")                     \
	X(SHRINK_WORLD_BUSY, "a reclaimer found the world locked")                             \
	X(THREAD_ENDS_IN_CALL, "a thread ended while it waited for an answer")                 \
	X(THREAD_ENDS_SERVING, "a thread ended that was to answer")                            \
	X(WORK_LIVES_ON, "a dying list held what others own")                                  \
	X(UNREAD_CALL_OF_THE_LIVING, "a thread ended with a call that it had not read")        \
	X(SEND_TO_WAITER, "a call back into the thread that waits for us")                     \
	X(REPLY_TO_THE_DEAD, "the caller was dead when the reply began")                       \
	X(REPLY_TOO_LATE, "the caller died while the reply was made")                          \
	X(CALL_TOO_LATE, "the target died while the call was made")                            \
	X(CALL_FROZEN, "a call of a frozen process")                                           \
	X(ONEWAY_FROZEN, "a one-way call of a frozen process")                                 \
	X(ONEWAY_BEHIND, "a one-way call behind another")                                      \
	X(ONEWAY_OUTDATED, "a one-way call took the place of another")                         \
	X(FAILED_OUTWARDS, "a failure went on to who called the dead sender")                  \
	X(FILES_LATER, "files that a thread gets when it calls again")                         \
	X(FILES_REFUSED, "files that the receiver could not take")                             \
	X(FILES_NOT_STORED, "files whose numbers could not be stored")                         \
	X(DELIVERY_FAILED, "a transaction that could not be handed over")                      \
	X(DELIVERY_POSTPONED, "a transaction stays for a better read")                         \
	X(REPLY_NOT_READ, "a reply that could not be handed over")                             \
	X(SPAWN_WRITTEN_APART, "a request for a thread where the first code was gone already") \
	X(NODE_FOUND_MEANWHILE, "two threads showed one new object")                           \
	X(NODE_FOUND_DYING, "a node was found while it was about to go")                       \
	X(NODE_BEING_TOLD, "a weak count of a node whose owner was just reading of it")        \
	X(NODE_WORK_MOVED, "the work of a node went over to the thread that sends it")         \
	X(REF_FOUND_MEANWHILE, "two senders gave one process the same handle")                 \
	X(REF_FOUND_GROWING, "the same while the table of handles grew")                       \
	X(REF_UNDONE, "a new handle was taken back at once")                                   \
	X(DEATH_OF_THE_DEAD, "a notice was asked of the dead")                                 \
	X(DEATH_CLEARED_ON_ITS_WAY, "a notice was cleared on its way")                         \
	X(DEATH_CLEARED_UNANSWERED, "a notice was cleared before it was answered")             \
	X(FREEZE_WAITED, "a freezer waited for calls to end")                                  \
	X(FREEZE_TAKEN_BACK, "a freezer gave up")                                              \
	X(FREEZE_RESENT, "a state changed before the last notice was answered")                \
	X(FREEZE_CLEARED_UNANSWERED, "a freeze notice was cleared before it was answered")     \
	X(MANAGER_TWICE, "two would be context manager at the same time")                      \
	X(PRIORITY_TAKEN_BACK, "a thread was found with a priority that was only lent")

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
