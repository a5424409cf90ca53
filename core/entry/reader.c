// SPDX-License-Identifier: GPL-2.0
/*
 * What a read does when its buffer is not writable. One completion and the transaction at the end
 * are dequeued before anything is stored, because that is what most reads return; they are put
 * back. Before all other work is dequeued the start of the buffer is written.
 */
#include "entry/reader.h"

#include "common/cover.h"
#include "entities/looper.h"

int reader_write_start(struct reader *r)
{
	static const u32 noop = BR_NOOP;
	int err = 0;

	if (!r->writable)
		err = host_write_caller(&r->thread->host, r->bwr->read_buffer, &noop, sizeof(noop));
	r->writable |= !err;
	return err;
}

void reader_put_back(struct reader *r, struct binder_work *work)
{
	struct binder_thread *thread = r->thread;

	binder_lock(&thread->proc->inner_lock);
	if (r->from_proc) {
		bl_add_head(&thread->proc->todo, &work->link);
	} else {
		bl_add_head(&thread->todo, &work->link);
		if (r->process_todo)
			binder_thread_set_process_todo_ilocked(thread, true);
	}
	binder_unlock(&thread->proc->inner_lock);
}

static void put_completion_back(struct reader *r)
{
	struct binder_thread *thread = r->thread;

	thread->nr_unread++;
	thread->spare = NULL;
	binder_stats_created_by(&thread->proc->stats, STAT_COMPLETE);
	r->from_proc = false;
	reader_put_back(r, r->completion);
}

void reader_undo(struct reader *r)
{
	if (!r->completion && !r->spawned)
		return;
	if (!reader_write_start(r))
		return;
	BINDER_COVER(READ_UNDONE);
	if (r->completion)
		put_completion_back(r);
	if (r->spawned)
		binder_looper_withdraw_spawn(r->thread);
}
