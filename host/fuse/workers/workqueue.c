// SPDX-License-Identifier: GPL-2.0
/* The thread for work that takes long. It exists while there is work. */
#include "workers/workqueue.h"

#include "base/thread.h"
#include "workers/worker.h"

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct work *first;
static struct work **end = &first;
static bool running;
static void (*hand_over_work)(struct worker *worker);

void workqueue_init(void (*hand_over)(struct worker *worker))
{
	hand_over_work = hand_over;
}

/* NULL: there is no more, and the thread ends. */
static struct work *next_work(void)
{
	struct work *work;

	pthread_mutex_lock(&lock);
	work = first;
	if (work)
		first = work->next;
	if (!first)
		end = &first;
	running = work;
	pthread_mutex_unlock(&lock);
	return work;
}

static void workqueue_main(void *arg)
{
	struct worker self = { 0 };
	struct work *work;

	worker_set_self(&self);
	while ((work = next_work())) {
		work->run(work);
		hand_over_work(&self);
	}
}

bool workqueue_add(struct work *work)
{
	bool ok;

	pthread_mutex_lock(&lock);
	/* the thread waits for the lock before it looks for work */
	running = running || !thread_start(workqueue_main, NULL);
	if (running) {
		work->next = NULL;
		*end = work;
		end = &work->next;
	}
	ok = running;
	pthread_mutex_unlock(&lock);
	return ok;
}
