// SPDX-License-Identifier: GPL-2.0
/* The rule by which an open of a device may use the pages of its inode, or is bound. */
#include "names/bound_open.h"

#include "base/clock.h"
#include "base/daemon_state.h"
#include "session/persistent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

/*
 * A program that binds a device file and then executes another program, which opens it, does both
 * in one thread. An execve(2) alone takes longer than this. An open that takes longer because the
 * processors are busy is walked again, which costs it one round trip.
 */
#define AT_ONCE_NS 250000ull

/*
 * When a thread that has not walked its path again is looked at: it may have been killed. It may
 * also wait for a processor, for longer than this if very many threads open devices.
 */
#define RETRY_NS 10000000000ull

/* The hash table of threads has so many; threads that are killed stay in it for a while. */
#define BUCKETS 256u

/* A thread whose OPEN was refused with ESTALE. */
struct retry {
	struct retry *next;
	pid_t tid;
	uint64_t id;		/* of the inode */
	uint64_t since_ns;
};

struct bound_opens {
	struct retry *retries[BUCKETS];
};

void bound_open_init(void)
{
	daemon_part(bound_opens);
}

static struct retry **find_bucket(pid_t tid)
{
	return &daemon_self->bound_opens->retries[(unsigned int)tid % BUCKETS];
}

static struct retry **find_retry(pid_t tid)
{
	struct retry **slot = find_bucket(tid);

	while (*slot && (*slot)->tid != tid)
		slot = &(*slot)->next;
	return slot;
}

static void remove_retry(struct retry **slot)
{
	struct retry *retry = *slot;

	*slot = retry->next;
	free(retry);
}

/* A thread of a pid namespace that the daemon does not see has the number 0. */
static bool has_ended(pid_t tid)
{
	return !tid || (kill(tid, 0) && errno == ESRCH);
}

static void remove_ended(struct retry **slot, uint64_t now)
{
	while (*slot) {
		if (now - (*slot)->since_ns > RETRY_NS && has_ended((*slot)->tid))
			remove_retry(slot);
		else
			slot = &(*slot)->next;
	}
}

/* False: no memory. */
static bool add_retry(pid_t tid, uint64_t id)
{
	struct retry **bucket = find_bucket(tid);
	struct retry *retry = malloc(sizeof(*retry));
	uint64_t now = clock_now_ns();

	remove_ended(bucket, now);
	if (!retry)
		return false;
	persistent_note_refused(tid, true);
	*retry = (struct retry){ .next = *bucket, .tid = tid, .id = id, .since_ns = now };
	*bucket = retry;
	return true;
}

/*
 * Was thread @tid refused inode @id? Then its path has been walked again now, and that is
 * forgotten. A server that has crashed does not tell the inode, but a thread is refused once only.
 */
static bool was_refused(pid_t tid, uint64_t id)
{
	struct retry **slot = find_retry(tid);
	bool refused = persistent_was_refused(tid);

	persistent_note_refused(tid, false);
	if (!*slot)
		return refused;
	refused = (*slot)->id == id;
	remove_retry(slot);
	return refused;
}

void bound_open_looked_up(struct inode_opens *opens, pid_t tid)
{
	opens->looked_by = tid;
	opens->looked_ns = clock_now_ns();
	opens->repeated = *find_retry(tid) || persistent_was_refused(tid);
}

static bool is_at_once(const struct inode_opens *opens, pid_t tid)
{
	return opens->looked_by == tid &&
	       (opens->repeated || clock_now_ns() - opens->looked_ns < AT_ONCE_NS);
}

bool bound_open_is_kernels(const struct inode_opens *opens, uint32_t flags)
{
	return !flags && (opens->opened || opens->bound);
}

enum bound_open_result bound_open_decide(struct inode_opens *opens, uint64_t id, pid_t tid)
{
	bool refused = was_refused(tid, id);

	if (!opens->opened && is_at_once(opens, tid)) {
		opens->direct = true;
	} else if (!opens->bound) {
		/* without memory for the retry it is treated as bound, which serves any open */
		if (!refused && add_retry(tid, id))
			return OPEN_RETRY;
		return opens->direct ? OPEN_BUSY : OPEN_HAS_PAGES;
	}
	opens->opened = true;
	opens->nr_opens++;
	return opens->direct ? OPEN_DIRECT : OPEN_BOUND;
}

void bound_open_pages_dropped(struct inode_opens *opens)
{
	opens->bound = true;
}

void bound_open_release(struct inode_opens *opens)
{
	if (!--opens->nr_opens)
		opens->direct = false;
}
