// SPDX-License-Identifier: GPL-2.0
/*
 * Notices are counted by their process, including those that were cleared and whose last
 * return code was not read yet: a client that registers and clears in turn makes them.
 */
#include "things/notice.h"

#include "common/limits.h"
#include "things/proc.h"
#include "things/thread.h"

static enum binder_stat stat_of(const struct binder_notice *notice)
{
	bool freeze = notice->work.type == WORK_FREEZE || notice->work.type == WORK_FREEZE_CLEARED;

	return freeze ? STAT_FREEZE : STAT_DEATH;
}

struct binder_notice *binder_notice_new(struct binder_proc *proc, enum binder_work_type type,
					u64 cookie)
{
	struct binder_notice *notice = NULL;

	if (host_atomic_add_return(&proc->nr_notices, 1) <= BINDER_MAX_NOTICES)
		notice = host_alloc(&proc->host, sizeof(*notice));
	if (!notice) {
		host_atomic_add(&proc->nr_notices, -1);
		return NULL;
	}
	binder_work_init(&notice->work, type);
	notice->proc = proc;
	notice->cookie = cookie;
	binder_stats_created(stat_of(notice));
	return notice;
}

void binder_notice_free(struct binder_notice *notice)
{
	if (!notice)
		return;
	host_atomic_add(&notice->proc->nr_notices, -1);
	binder_stats_deleted(stat_of(notice));
	host_free(notice);
}

struct binder_notice *binder_notice_take_ilocked(struct binder_proc *proc,
						 struct bl_list *delivered, u64 cookie)
{
	struct binder_notice *notice;

	binder_assert_held(&proc->inner_lock);
	bl_for_each(notice, delivered, work.link) {
		if (notice->cookie == cookie) {
			bl_del(&notice->work.link);
			return notice;
		}
	}
	return NULL;
}

void binder_notice_log_mistake(const struct binder_thread *thread, const char *command,
			       const char *what)
{
	host_log(HOST_LOG_USER_ERROR, "%d:%d %s: %s", thread->proc->pid, thread->tid, command,
		 what);
}
