// SPDX-License-Identifier: GPL-2.0
/*
 * What is to be done in the process of one thread.
 *
 * A thread has at most one job of the injector at a time. Meanwhile the job owns the call:
 * pending_fds_armed() replies to it, pending_fds_done() records the result. The helper sends the
 * event of the end before the receiver goes on, so a worker that gets the receiver's next call
 * finds it among the events, if it was not handled yet. The job has a reference to the thread from
 * its submission to its end.
 */
#include "fds/daemon_side.h"

#include "calls/client_call.h"
#include "clients/users.h"
#include "core.h"
#include "workers/worker.h"

#include <stdlib.h>
#include <string.h>

/* Numbers that one job closes at most; further ones stay open in the client. */
#define CLOSES_MAX HELPER_CLOSES_MAX

static struct pending_fds *get_pending(struct host_thread *thread)
{
	if (!thread->fds)
		thread->fds = calloc(1, sizeof(*thread->fds));
	return thread->fds;
}

/* Drops the files to install, but not the numbers to close. */
static void clear_install(struct pending_fds *pending)
{
	for (u32 i = 0; pending->files && i < pending->nr; i++)
		fds_put(pending->files[i]);
	free(pending->files);
	free(pending->numbers);
	pending->files = NULL;
	pending->numbers = NULL;
	pending->nr = 0;
	pending->state = INSTALL_NONE;
}

/* The transaction for which files were installed no longer exists: has them closed. */
static void drop_installed(struct host_thread *thread)
{
	struct pending_fds *pending = thread->fds;

	if (pending->state == INSTALL_DONE && !pending->error)
		fds_close(thread, (const u32 *)pending->numbers, pending->nr);
	clear_install(pending);
}

static int prepare_install(struct pending_fds *pending, u64 cookie, struct host_file **files,
			   u32 nr)
{
	if (nr > HELPER_INSTALLS_MAX)
		return -EMFILE;
	pending->files = malloc(nr * sizeof(struct host_file *));
	pending->numbers = malloc(nr * sizeof(s32));
	pending->nr = pending->files ? nr : 0;
	pending->cookie = cookie;
	pending->error = 0;
	for (u32 i = 0; i < pending->nr; i++)
		pending->files[i] = file_ref_get(files[i]);
	if (!pending->files || !pending->numbers) {
		clear_install(pending);
		return -ENOMEM;
	}
	pending->state = INSTALL_WANTED;
	return HOST_FDS_LATER;
}

int fds_install(struct host_thread *receiver, u64 cookie, struct host_file **files, u32 nr,
		u32 *fds)
{
	struct pending_fds *pending = get_pending(receiver);
	int error;

	if (!pending)
		return -ENOMEM;
	if (pending->state == INSTALL_DONE && pending->cookie == cookie) {
		error = pending->error;
		if (!error)
			memcpy(fds, pending->numbers, nr * sizeof(*fds));
		clear_install(pending);
		return error;
	}
	drop_installed(receiver);
	if (user_charges_is_over(receiver->proc->charged_uid, USER_STALLED))
		return -EBUSY;
	return prepare_install(pending, cookie, files, nr);
}

void fds_close(struct host_thread *owner, const u32 *fds, u32 nr)
{
	struct pending_fds *pending = get_pending(owner);
	int *closes;

	if (!nr || !pending || pending->nr_close + nr > CLOSES_MAX)
		return;
	closes = realloc(pending->closes, (pending->nr_close + nr) * sizeof(*closes));
	if (!closes)
		return;
	memcpy(closes + pending->nr_close, fds, nr * sizeof(*closes));
	pending->closes = closes;
	pending->nr_close += nr;
}

static void end_job(struct host_thread *thread, int error)
{
	struct pending_fds *pending = thread->fds;

	pending->nr_close = 0;
	free(pending->closes);
	pending->closes = NULL;
	if (pending->installing) {
		pending->state = INSTALL_DONE;
		pending->error = error;
	}
	atomic_store(&pending->has_job, false);
	call_put_thread(thread);
}

void pending_fds_armed(struct host_thread *thread, int error)
{
	struct pending_fds *pending = thread->fds;
	bool resume = error && pending->installing;
	int result = pending->result;

	if (error)
		end_job(thread, error); /* pending_fds_done() will not be called */
	if (resume)
		worker_push_woken(thread);
	else
		call_reply(thread, result == BINDER_RESTART ? 0 : result);
}

void pending_fds_done(struct host_thread *thread, int error, const s32 *numbers)
{
	struct pending_fds *pending = thread->fds;

	if (!error && pending->installing)
		memcpy(pending->numbers, numbers, pending->nr * sizeof(*numbers));
	end_job(thread, error);
}

void fds_free_pending(struct host_thread *thread)
{
	struct pending_fds *pending = thread->fds;

	if (!pending)
		return;
	clear_install(pending);
	free(pending->closes);
	free(pending);
	thread->fds = NULL;
}

/* ---- handing over ---- */

static void *copy_array(const void *array, size_t size, bool *ok)
{
	void *copy = array && size ? malloc(size) : NULL;

	if (copy)
		memcpy(copy, array, size);
	*ok &= copy || !array || !size;
	return copy;
}

bool fds_restore_pending(struct host_thread *thread, const struct pending_fds *like)
{
	struct pending_fds *pending = get_pending(thread);
	bool ok = pending;

	if (!pending)
		return false;
	pending->state = like->state;
	pending->cookie = like->cookie;
	pending->nr = like->nr;
	pending->files = copy_array(like->files, like->nr * sizeof(*like->files), &ok);
	pending->numbers = copy_array(like->numbers, like->nr * sizeof(s32), &ok);
	pending->error = like->error;
	pending->nr_close = like->nr_close;
	pending->closes = copy_array(like->closes, like->nr_close * sizeof(s32), &ok);
	pending->result = like->result;
	pending->installing = like->installing;
	return ok;
}
