// SPDX-License-Identifier: GPL-2.0
/*
 * Closing clients' files.
 *
 * close(2) asks the file: a FUSE server that does not answer FLUSH, or a socket with SO_LINGER,
 * keeps the thread for as long as its owner likes, and a signal does not end it. So the threads
 * here are expendable. Each user has a queue of its own and few threads at a time: further files of
 * a user whose files do not close wait in its queue, those of other users are closed meanwhile.
 */

#include "base/daemon_state.h"
#include "base/list.h"
#include "base/locks.h"
#include "base/thread.h"
#include "fds/helper/helper_side.h"

#include <stdlib.h>
#include <unistd.h>

#define THREADS_MAX 256u
/* Threads for one user; while half of all are in use, one. */
#define THREADS_ONE 4u
/* Threads that are kept when there is nothing to close. */
#define THREADS_IDLE 2u

struct closing {
	struct bl_list in_queue;
	s32 fd;
	u64 id;
};

struct closing_user {
	struct bl_list in_users;
	u32 uid;
	u32 nr_active;		/* threads that close its files */
	u32 nr_queued;
	struct bl_list queue;
};

struct helper_closer {
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	struct bl_list users;	/* those with files in a queue or being closed */
	unsigned int nr_threads;
	unsigned int nr_idle;
	unsigned int nr_queued;

	/* The user of each descriptor that is a client's file, plus one; 0: it is none. */
	u32 *owners;
	s32 nr_owners;
};

void helper_closer_init(void)
{
	struct helper_closer *closer = daemon_part(helper_closer);

	pthread_mutex_init(&closer->lock, NULL);
	pthread_cond_init(&closer->wanted, NULL);
	bl_init(&closer->users);
}

void helper_close_add(s32 fd, u32 uid)
{
	struct helper_closer *closer = daemon_self->helper_closer;

	guard_mutex(&closer->lock);
	if (fd >= closer->nr_owners) {
		s32 nr = fd + 256;
		u32 *larger = realloc(closer->owners, (size_t)nr * sizeof(*closer->owners));

		for (s32 i = closer->nr_owners; larger && i < nr; i++)
			larger[i] = 0;
		closer->owners = larger ? larger : closer->owners;
		closer->nr_owners = larger ? nr : closer->nr_owners;
	}
	if (fd < closer->nr_owners)
		closer->owners[fd] = uid + 1;
}

/* Lock held. */
static u32 limit_of_user(void)
{
	struct helper_closer *closer = daemon_self->helper_closer;

	return closer->nr_threads - closer->nr_idle < THREADS_MAX / 2 ? THREADS_ONE : 1;
}

/* Takes a file whose user has a thread left; the user goes to the end of the list. Lock held. */
static struct closing *closer_take(struct closing_user **user)
{
	struct helper_closer *closer = daemon_self->helper_closer;
	u32 limit = limit_of_user();
	struct closing_user *at;

	bl_for_each(at, &closer->users, in_users) {
		if (bl_empty(&at->queue) || at->nr_active >= limit)
			continue;
		at->nr_active++;
		at->nr_queued--;
		closer->nr_queued--;
		bl_del(&at->in_users);
		bl_add_tail(&closer->users, &at->in_users);
		*user = at;
		return bl_entry(bl_pop(&at->queue), struct closing, in_queue);
	}
	return NULL;
}

/* Lock held. */
static void free_if_unused(struct closing_user *user)
{
	if (!bl_empty(&user->queue) || user->nr_active)
		return;
	bl_del(&user->in_users);
	free(user);
}

static void close_one(struct closing *closing)
{
	struct helper_event event = { .kind = HELPER_CLOSED, .id = closing->id };

	close(closing->fd);
	if (closing->id)
		helper_send_event(&event);
	free(closing);
}

static void close_main(void *arg)
{
	struct helper_closer *closer = daemon_self->helper_closer;
	struct closing_user *user;
	struct closing *closing;

	pthread_mutex_lock(&closer->lock);
	for (;;) {
		closer->nr_idle--;
		while ((closing = closer_take(&user))) {
			pthread_mutex_unlock(&closer->lock);
			close_one(closing);
			pthread_mutex_lock(&closer->lock);
			user->nr_active--;
			free_if_unused(user);
		}
		closer->nr_idle++;
		if (closer->nr_idle > THREADS_IDLE)
			break;
		pthread_cond_wait(&closer->wanted, &closer->lock);
	}
	closer->nr_idle--;
	closer->nr_threads--;
	pthread_mutex_unlock(&closer->lock);
}

/* Lock held. */
static struct closing_user *get_user(u32 uid)
{
	struct closing_user *user;

	bl_for_each(user, &daemon_self->helper_closer->users, in_users)
		if (user->uid == uid)
			return user;
	user = calloc(1, sizeof(*user));
	if (user) {
		user->uid = uid;
		bl_init(&user->queue);
		bl_add_head(&daemon_self->helper_closer->users, &user->in_users);
	}
	return user;
}

/* Lock held. Without memory the file stays open until the helper ends. */
static void start_locked(s32 fd, u32 uid, u64 id)
{
	struct helper_closer *closer = daemon_self->helper_closer;
	struct closing_user *user = get_user(uid);
	struct closing *closing = malloc(sizeof(*closing));

	if (!user || !closing) {
		free(closing);
		return;
	}
	*closing = (struct closing){ .fd = fd, .id = id };
	bl_add_tail(&user->queue, &closing->in_queue);
	user->nr_queued++;
	closer->nr_queued++;
	if (fd < closer->nr_owners)
		closer->owners[fd] = 0;
	/*
	 * Each file that may be closed now needs a thread of its own, since the one before it may
	 * never close. A new thread is counted as idle until it runs.
	 */
	if (closer->nr_queued > closer->nr_idle &&
	    user->nr_active + user->nr_queued <= limit_of_user() &&
	    closer->nr_threads < THREADS_MAX && !thread_start(close_main, NULL)) {
		closer->nr_threads++;
		closer->nr_idle++;
	} else {
		pthread_cond_signal(&closer->wanted);
	}
}

void helper_close_start(s32 fd, u32 uid, u64 id)
{
	guard_mutex(&daemon_self->helper_closer->lock);
	start_locked(fd, uid, id);
}

void helper_close_all(void)
{
	guard_mutex(&daemon_self->helper_closer->lock);
	for (s32 fd = 0; fd < daemon_self->helper_closer->nr_owners; fd++)
		if (daemon_self->helper_closer->owners[fd])
			start_locked(fd, daemon_self->helper_closer->owners[fd] - 1, 0);
}

bool helper_close_is_idle(void)
{
	guard_mutex(&daemon_self->helper_closer->lock);
	return bl_empty(&daemon_self->helper_closer->users);
}
