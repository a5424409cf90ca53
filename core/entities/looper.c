// SPDX-License-Identifier: GPL-2.0
/*
 * The driver counts the threads that it asked for (requested_threads) until they have
 * registered (requested_threads_started), and asks for one at a time.
 *
 * Tested in: tests/drivers/conformance/loop_threads.c
 */
#include "entities/looper.h"

#include "entities/thread.h"

static void log_mistake(const struct binder_thread *thread, const char *what)
{
	host_log(HOST_LOG_USER_ERROR, "%d:%d %s", thread->proc->pid, thread->tid, what);
}

void binder_looper_register(struct binder_thread *thread)
{
	struct binder_proc *proc = thread->proc;
	const char *mistake = NULL;

	binder_lock(&proc->inner_lock);
	if (thread->looper & LOOPER_ENTERED) {
		thread->looper |= LOOPER_INVALID;
		mistake = "BC_REGISTER_LOOPER after BC_ENTER_LOOPER";
	} else if (!proc->requested_threads) {
		thread->looper |= LOOPER_INVALID;
		mistake = "BC_REGISTER_LOOPER without BR_SPAWN_LOOPER";
	} else {
		BINDER_WRITE_ONCE(proc->requested_threads, proc->requested_threads - 1);
		BINDER_WRITE_ONCE(proc->requested_threads_started,
				  proc->requested_threads_started + 1);
	}
	thread->looper |= LOOPER_REGISTERED;
	binder_unlock(&proc->inner_lock);
	if (mistake)
		log_mistake(thread, mistake);
}

void binder_looper_enter(struct binder_thread *thread)
{
	struct binder_proc *proc = thread->proc;
	bool invalid;

	binder_lock(&proc->inner_lock);
	invalid = thread->looper & LOOPER_REGISTERED;
	if (invalid)
		thread->looper |= LOOPER_INVALID;
	thread->looper |= LOOPER_ENTERED;
	binder_unlock(&proc->inner_lock);
	if (invalid)
		log_mistake(thread, "BC_ENTER_LOOPER after BC_REGISTER_LOOPER");
}

void binder_looper_exit(struct binder_thread *thread)
{
	struct binder_proc *proc = thread->proc;

	binder_lock(&proc->inner_lock);
	thread->looper |= LOOPER_EXITED;
	binder_unlock(&proc->inner_lock);
}

void binder_looper_set_max_threads(struct binder_thread *thread, u32 max)
{
	struct binder_proc *proc = thread->proc;

	binder_lock(&proc->inner_lock);
	BINDER_WRITE_ONCE(proc->max_threads, (s32)max);
	binder_unlock(&proc->inner_lock);
}

bool binder_looper_request_spawn(struct binder_thread *thread)
{
	struct binder_proc *proc = thread->proc;
	bool request;

	binder_lock(&proc->inner_lock);
	request = !proc->requested_threads && bl_empty(&proc->waiting_threads) &&
		  proc->requested_threads_started < proc->max_threads &&
		  thread->looper & (LOOPER_REGISTERED | LOOPER_ENTERED);
	if (request)
		BINDER_WRITE_ONCE(proc->requested_threads, proc->requested_threads + 1);
	binder_unlock(&proc->inner_lock);
	return request;
}

void binder_looper_withdraw_spawn(struct binder_thread *thread)
{
	struct binder_proc *proc = thread->proc;

	binder_lock(&proc->inner_lock);
	/* A thread that was not asked for may have registered meanwhile. */
	if (proc->requested_threads)
		BINDER_WRITE_ONCE(proc->requested_threads, proc->requested_threads - 1);
	binder_unlock(&proc->inner_lock);
}
