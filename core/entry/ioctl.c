// SPDX-License-Identifier: GPL-2.0
/*
 * A table of ioctls. Only BINDER_WRITE_READ and BINDER_FREEZE may have to wait; the engine
 * does not wait itself, but returns BINDER_WOULD_BLOCK and continues in binder_resume(). So
 * does a long command stream, after BINDER_AGAIN.
 *
 * Tested in: tests/drivers/conformance/device_ioctl.c
 */
#include "core.h"

#include "calls/inherit.h"
#include "common/cover.h"
#include "entry/command.h"
#include "entry/exit.h"
#include "entry/returns.h"
#include "notices/freeze.h"
#include "entities/context.h"
#include "entities/looper.h"
#include "entities/node.h"
#include "entities/ref.h"
#include "entities/stage.h"
#include "entities/thread.h"

/*
 * A write ends at a command that leaves an error for the thread. The read of the same call delivers
 * the error; if that read also has to install files (BINDER_RESTART), the call is made again, and
 * must not execute the commands behind the error, which the thread has not seen yet.
 */
static bool was_stopped(struct binder_thread *thread, const struct binder_write_read *bwr)
{
	u64 stopped = thread->write_stopped;

	thread->write_stopped = 0;
	return stopped && stopped == bwr->write_buffer + bwr->write_consumed;
}

static inline int write_read(struct binder_thread *thread, struct binder_write_read *bwr,
			     bool nonblock)
{
	int err = 0;

	binder_inherit_forget(thread);
	if (bwr->write_size && !was_stopped(thread, bwr)) {
		err = binder_write(thread, bwr);
		if (err == BINDER_AGAIN) {
			thread->wait = WAIT_WRITE;
			thread->write_nonblock = nonblock;
			return err;
		}
		host_trace_write_done(err);
	}
	if (err) {
		bwr->read_consumed = 0;
		return err;
	}
	return bwr->read_size ? binder_read(thread, bwr, nonblock, false) : 0;
}

/* Continues a command stream that was put back; @interrupted: drops the rest. */
static int resume_write(struct binder_thread *thread, struct binder_write_read *bwr,
			bool interrupted)
{
	thread->wait = WAIT_NONE;
	if (!interrupted)
		return write_read(thread, bwr, thread->write_nonblock);
	BINDER_COVER(STREAM_DROPPED);
	thread->long_command = false;
	host_trace_write_done(-EINTR);
	bwr->read_consumed = 0;
	return -EINTR;
}

static int set_max_threads(struct binder_thread *thread, void *arg)
{
	binder_looper_set_max_threads(thread, *(u32 *)arg);
	return 0;
}

static int set_context_mgr(struct binder_thread *thread, void *arg)
{
	static const struct flat_binder_object plain;

	(void)arg;
	return binder_context_set_manager(thread->proc, &thread->host, &plain);
}

static int set_context_mgr_ext(struct binder_thread *thread, void *arg)
{
	return binder_context_set_manager(thread->proc, &thread->host, arg);
}

/*
 * hwservicemanager asks that real-time callers lend their priority on its device. Nodes that want
 * it say so themselves (FLAT_BINDER_FLAG_INHERIT_RT), as those of libhwbinder do.
 */
static int set_inherit_fifo(struct binder_thread *thread, void *arg)
{
	(void)arg;
	return binder_context_check_user(thread->proc->context, host_caller_euid(&thread->host));
}

static int thread_exit(struct binder_thread *thread, void *arg)
{
	(void)arg;
	binder_inherit_drop(thread);
	binder_thread_release(thread);
	return 0;
}

static int ioctl_version(struct binder_thread *thread, void *arg)
{
	struct binder_version *v = arg;

	(void)thread;
	v->protocol_version = BINDER_CURRENT_PROTOCOL_VERSION;
	return 0;
}

/* Describes the first node above info->ptr; all zero if there is none. */
static int node_debug_info(struct binder_thread *thread, void *arg)
{
	struct binder_node_debug_info *info = arg;
	u64 after = info->ptr;

	host_memset(info, 0, sizeof(*info));
	if (after + 1)
		binder_node_describe_from(thread->proc, after + 1, info);
	return 0;
}

static int node_info_for_ref(struct binder_thread *thread, void *arg)
{
	struct binder_node_info_for_ref *info = arg;
	struct binder_node *node;

	if (info->strong_count || info->weak_count || info->reserved1 || info->reserved2 ||
	    info->reserved3)
		return -EINVAL;
	if (!binder_context_is_managed_by(thread->proc->context, thread->proc))
		return -EPERM;
	node = binder_ref_get_node(thread->proc, info->handle, true);
	if (!node)
		return -EINVAL;
	binder_lock(&node->lock);
	info->strong_count = node->local_strong + node->internal_strong;
	info->weak_count = node->local_weak;
	binder_unlock(&node->lock);
	binder_node_unpin(node);
	return 0;
}

static int ioctl_freeze(struct binder_thread *thread, void *arg)
{
	return binder_freeze_ioctl(thread, arg);
}

static int frozen_info(struct binder_thread *thread, void *arg)
{
	return binder_freeze_info(thread, arg);
}

static int oneway_spam_detection(struct binder_thread *thread, void *arg)
{
	struct binder_proc *proc = thread->proc;

	binder_lock(&proc->inner_lock);
	proc->oneway_spam_detection = *(u32 *)arg;
	binder_unlock(&proc->inner_lock);
	return 0;
}

/* Reading the extended error clears it. */
static int extended_error(struct binder_thread *thread, void *arg)
{
	struct binder_proc *proc = thread->proc;

	binder_lock(&proc->inner_lock);
	host_memcpy(arg, &thread->ee, sizeof(thread->ee));
	thread->ee = (struct binder_extended_error){ .command = BR_OK };
	binder_unlock(&proc->inner_lock);
	return 0;
}

struct ioctl {
	u32 cmd;
	int (*run)(struct binder_thread *thread, void *arg);
};

#define IOCTL(cmd_, run_) [ABI_IOC_NR(cmd_)] = { cmd_, run_ }

static const struct ioctl ioctls[] = {
	IOCTL(BINDER_WRITE_READ, NULL), /* binder_write_read() */
	IOCTL(BINDER_SET_MAX_THREADS, set_max_threads),
	IOCTL(BINDER_SET_CONTEXT_MGR, set_context_mgr),
	IOCTL(BINDER_SET_CONTEXT_MGR_EXT, set_context_mgr_ext),
	IOCTL(BINDER_THREAD_EXIT, thread_exit),
	IOCTL(BINDER_SET_INHERIT_FIFO_PRIO, set_inherit_fifo),
	IOCTL(BINDER_VERSION, ioctl_version),
	IOCTL(BINDER_GET_NODE_DEBUG_INFO, node_debug_info),
	IOCTL(BINDER_GET_NODE_INFO_FOR_REF, node_info_for_ref),
	IOCTL(BINDER_FREEZE, ioctl_freeze),
	IOCTL(BINDER_GET_FROZEN_INFO, frozen_info),
	IOCTL(BINDER_ENABLE_ONEWAY_SPAM_DETECTION, oneway_spam_detection),
	IOCTL(BINDER_GET_EXTENDED_ERROR, extended_error),
};

/* A need_return that close() sets after this load is for the next call. */
static bool need_return_racy(const struct binder_thread *thread)
{
	return BINDER_READ_ONCE(thread->need_return);
}

/* The call is over unless it is to be resumed: the next read of the thread may wait again. */
static inline int end_call(struct binder_thread *thread, int err)
{
	if (err != BINDER_WOULD_BLOCK && err != BINDER_AGAIN && need_return_racy(thread))
		binder_thread_set_need_return(thread, false);
	return err;
}

int binder_write_read(struct binder_thread *thread, struct binder_write_read *bwr, bool nonblock)
{
	binder_stage(HOST_STAGE_IOC, thread, 0, 0);
	return end_call(thread, write_read(thread, bwr, nonblock));
}

int binder_ioctl(struct binder_thread *thread, u32 cmd, void *arg, bool nonblock)
{
	u32 nr = ABI_IOC_NR(cmd);
	const struct ioctl *ioctl = NULL;
	int err = -EINVAL;

	if (nr < sizeof(ioctls) / sizeof(ioctls[0]))
		ioctl = &ioctls[nr];
	if (cmd == BINDER_WRITE_READ)
		return binder_write_read(thread, arg, nonblock);
	/* Numbers without an ioctl have the command 0 in the table. */
	if (ioctl && ioctl->cmd == cmd && ioctl->run)
		err = ioctl->run(thread, arg);
	return end_call(thread, err);
}

int binder_resume(struct binder_thread *thread, u32 cmd, void *arg,
		  enum binder_resume_reason reason)
{
	bool interrupted = reason == RESUME_INTERRUPTED;
	bool timed_out = reason == RESUME_TIMED_OUT;
	int err;

	if (timed_out && thread->wait == WAIT_READ)
		binder_thread_set_need_return(thread, true);
	if (cmd == BINDER_FREEZE)
		err = binder_freeze_resume(thread, interrupted ? -EINTR : timed_out ? -EAGAIN : 0);
	else if (thread->wait == WAIT_WRITE)
		err = resume_write(thread, arg, interrupted || timed_out);
	else
		err = binder_read(thread, arg, false, interrupted);
	return end_call(thread, err);
}

bool binder_poll(struct binder_thread *thread)
{
	bool ready;

	binder_lock(&thread->proc->inner_lock);
	thread->looper |= LOOPER_POLL;
	ready = binder_thread_has_work_ilocked(thread,
					       binder_thread_is_available_ilocked(thread));
	binder_unlock(&thread->proc->inner_lock);
	return ready;
}
