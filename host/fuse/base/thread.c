// SPDX-License-Identifier: GPL-2.0
/* The daemon's threads. They are numbered as they ask for the first time. */
#include "base/thread.h"

#include "base/daemon_state.h"
#include "base/gate.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define STACK_SIZE ((size_t)256 * 1024)

struct start {
	struct daemon *daemon;
	struct gate_member *member;
	void (*body)(void *arg);
	void *arg;
};

static void *thread_main(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	daemon_self = start.daemon;
	gate_join(start.member);
	start.body(start.arg);
	gate_free_member(start.member);
	return NULL;
}

int thread_start(void (*body)(void *arg), void *arg)
{
	struct start *start = malloc(sizeof(*start));
	pthread_attr_t attributes;
	pthread_t thread;
	struct gate_member *member = gate_new_member();
	int error = ENOMEM;

	if (!start || !member)
		goto free;
	*start = (struct start){ .daemon = daemon_self, .member = member, .body = body,
				 .arg = arg };
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attributes, thread_main, start);
	pthread_attr_destroy(&attributes);
	if (!error)
		return 0;
free:
	if (member)
		gate_free_member(member);
	free(start);
	return -error;
}

unsigned int thread_number(void)
{
	static atomic_uint last;
	static _Thread_local unsigned int mine;

	if (!mine)
		mine = atomic_fetch_add(&last, 1) + 1;
	return mine;
}
