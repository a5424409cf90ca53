// SPDX-License-Identifier: GPL-2.0
/* A thread for work that takes long; it exists while there is work. */
#include "workers/workqueue.h"

#include "base/daemon_state.h"
#include "base/locks.h"
#include "base/thread.h"
#include "workers/worker_pool.h"

struct workqueue {
	pthread_mutex_t lock;
	struct work *first;
	struct work **end;
	bool running;			/* the thread */
};

void workqueue_init(void)
{
	struct workqueue *queue = daemon_part(workqueue);

	pthread_mutex_init(&queue->lock, NULL);
	queue->end = &queue->first;
}

/* NULL: there is no more, and the thread ends. */
static struct work *next_work(struct workqueue *queue)
{
	guard_mutex(&queue->lock);
	struct work *work = queue->first;

	if (work)
		queue->first = work->next;
	if (!queue->first)
		queue->end = &queue->first;
	queue->running = work;
	return work;
}

static void workqueue_main(void *arg)
{
	struct workqueue *queue = arg;
	struct worker self = { 0 };
	struct work *work;

	worker_set_self(&self);
	while ((work = next_work(queue))) {
		work->run(work);
		pool_hand_over(&self);
	}
}

bool workqueue_add(struct work *work)
{
	struct workqueue *queue = daemon_self->workqueue;

	guard_mutex(&queue->lock);
	/* the thread waits for the lock before it looks for work */
	queue->running = queue->running || !thread_start(workqueue_main, queue);
	if (queue->running) {
		work->next = NULL;
		*queue->end = work;
		queue->end = &work->next;
	}
	return queue->running;
}
