// SPDX-License-Identifier: GPL-2.0
/* The thread for work that takes long. It exists while there is work. */
#include "workers/workqueue.h"

#include "base/daemon.h"
#include "base/locks.h"
#include "base/thread.h"
#include "workers/worker.h"

#include <stddef.h>

struct workqueue {
	pthread_mutex_t lock;
	struct work *first;
	struct work **end;
	bool running;			/* the thread */
	void (*hand_over)(struct worker *worker);
};

void workqueue_init(void (*hand_over)(struct worker *worker))
{
	struct workqueue *queue = daemon_part(workqueue);

	pthread_mutex_init(&queue->lock, NULL);
	queue->end = &queue->first;
	queue->hand_over = hand_over;
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
		queue->hand_over(&self);
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
