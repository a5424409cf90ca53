// SPDX-License-Identifier: GPL-2.0
/*
 * The users that have something in the daemon.
 *
 * The daemon's own resources (descriptors, memory, threads) are shared by users that need not trust
 * each other. Each use is charged to the user that caused it; a user at its limit gets errors while
 * the others are served. Root and the owner of the mount have no limit of their own: they can stop
 * the daemon anyway. A user without any charge is forgotten.
 */
#include "clients/users.h"

#include <stdlib.h>

void users_init(uid_t owner)
{
	struct users *users = daemon_part(users);

	pthread_mutex_init(&users->lock, NULL);
	users->owner = owner;
}

bool users_is_limited(uid_t uid)
{
	return uid && uid != daemon_self->users->owner;
}

struct user **users_find(uid_t uid)
{
	struct user **slot = &daemon_self->users->buckets[uid % USERS_BUCKETS];

	while (*slot && (*slot)->uid != uid)
		slot = &(*slot)->next;
	return slot;
}

struct user *users_add(uid_t uid)
{
	struct user **slot = users_find(uid);

	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		if (*slot)
			(*slot)->uid = uid;
	}
	return *slot;
}

void users_forget_unused(struct user **slot)
{
	struct user *user = *slot;
	bool unused = !user->debt_us && !atomic_load(&user->account.used);

	for (int i = 0; i < USER_CHARGES; i++)
		unused &= !user->used[i];
	if (unused) {
		daemon_self->users->memory_granted -= atomic_load(&user->account.granted);
		*slot = user->next;
		free(user);
	}
}

void users_for_each(void (*visit)(struct user **slot, unsigned int arg), unsigned int arg)
{
	for (unsigned int i = 0; i < USERS_BUCKETS; i++) {
		struct user **slot = &daemon_self->users->buckets[i];

		while (*slot) {
			struct user *user = *slot;

			visit(slot, arg);
			if (*slot == user)
				slot = &user->next;
		}
	}
}
