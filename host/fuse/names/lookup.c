// SPDX-License-Identifier: GPL-2.0
/* LOOKUP: names become inodes. */
#include "names/lookup.h"

#include "base/daemon_state.h"
#include "base/gate.h"
#include "base/locks.h"
#include "base/thread.h"
#include "clients/client_thread.h"
#include "clients/namespaces.h"
#include "clients/users.h"
#include "names/lookup_turn.h"
#include "names/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A request that waits for a turn. */
struct lookup {
	struct lookup_turn_waiter waiter;	/* the first member */
	uint64_t parent;
	uid_t uid;
	char name[];
};

struct lookups {
	pthread_mutex_t lock;
	pthread_cond_t one_waits;
};

void lookup_init(void)
{
	struct lookups *lookups = daemon_part(lookups);

	pthread_mutex_init(&lookups->lock, NULL);
	pthread_cond_init(&lookups->one_waits, NULL);
	lookup_turn_init();
}

static void lookup_reply(uint64_t unique, uint64_t parent, const char *name, pid_t tid, uid_t uid)
{
	struct fuse_entry_out out;
	int error = tree_lookup(parent, name, tid, uid, &out);

	session_reply_result(unique, error, &out, sizeof(out));
}

static void lookup_reply_to_all(struct lookup_turn_waiter *waiter)
{
	while (waiter) {
		struct lookup *lookup = (struct lookup *)waiter;

		waiter = waiter->newer;
		lookup_reply(lookup->waiter.unique, lookup->parent, lookup->name,
			     lookup->waiter.tid, lookup->uid);
		free(lookup);
	}
}

/* False: its thread has a turn, or there is no memory. */
static bool lookup_keep(const struct request *request, const char *name, uid_t uid,
			uint64_t device)
{
	struct lookup *lookup = malloc(sizeof(*lookup) + strlen(name) + 1);

	if (!lookup)
		return false;
	lookup->waiter.unique = request->head->unique;
	lookup->parent = request->head->nodeid;
	lookup->uid = uid;
	memcpy(lookup->name, name, strlen(name) + 1);
	if (lookup_turn_take(uid, device, (pid_t)request->head->pid, &lookup->waiter)) {
		free(lookup);
		return false;
	}
	guard_mutex(&daemon_self->lookups->lock);
	pthread_cond_signal(&daemon_self->lookups->one_waits);
	return true;
}

void lookup_serve(const struct request *request, const char *name)
{
	uint64_t device = tree_device(request->head->nodeid, name);
	pid_t tid = (pid_t)request->head->pid;
	uid_t uid = request->head->uid;

	if ((device && lookup_turn_many_users()) || user_charges_are_many(USER_INODES))
		uid = namespaces_charged_uid(tid, uid);
	if (!device || lookup_turn_take(uid, device, tid, NULL) ||
	    !lookup_keep(request, name, uid, device))
		lookup_reply(request->head->unique, request->head->nodeid, name, tid, uid);
}

void lookup_reply_to_waiting(void)
{
	struct lookup_turn_waiter *waiter;

	while ((waiter = lookup_turn_withdraw_any())) {
		waiter->newer = NULL;
		lookup_reply_to_all(waiter);
	}
}

void lookup_opens(pid_t tid)
{
	lookup_reply_to_all(lookup_turn_end(tid));
}

bool lookup_interrupt(uint64_t unique)
{
	pid_t tid = lookup_turn_waiting(unique);
	struct lookup_turn_waiter *waiter;

	if (!tid)
		return false;
	/* open(2) is not expected to fail because of another signal */
	if (!client_thread_is_dying(tid))
		return true;
	waiter = lookup_turn_withdraw(unique);
	if (waiter)
		session_reply_status(unique, -EINTR);
	free(waiter);
	return true;
}

static void lookup_main(void *arg)
{
	struct lookups *lookups = arg;
	static const struct timespec tick = { .tv_nsec = TURN_TICK_NS };

	for (;;) {
		gate_away();
		pthread_mutex_lock(&lookups->lock);
		while (!lookup_turn_anyone_waits())
			pthread_cond_wait(&lookups->one_waits, &lookups->lock);
		pthread_mutex_unlock(&lookups->lock);
		nanosleep(&tick, NULL);
		gate_back();
		lookup_reply_to_all(lookup_turn_expire());
	}
}

bool lookup_start(void)
{
	return !thread_start(lookup_main, daemon_self->lookups);
}
