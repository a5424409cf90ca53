// SPDX-License-Identifier: GPL-2.0
/*
 * A table gives for every command its code, which contains the size of its payload, and its
 * handler. The stream is fetched in windows, because a fetch from another process costs as
 * much as many commands. A command may extend beyond the end of the buffer: as with the
 * C driver the end only decides whether another command begins.
 */
#include "entry/command.h"

#include "calls/buffer.h"
#include "calls/send.h"
#include "common/cover.h"
#include "common/limits.h"
#include "common/result.h"
#include "notices/death.h"
#include "notices/freeze.h"
#include "entities/looper.h"
#include "entities/node.h"
#include "entities/notice.h"
#include "entities/ref.h"
#include "entities/thread.h"

/* ---- the handlers ------------------------------------------------------------ */

static int command_send(struct binder_thread *thread, const struct binder_transaction_data *tr,
			u64 buffers_size, bool is_reply)
{
	if (binder_thread_put_off(thread, tr->offsets_size > BINDER_LONG_OBJECTS * sizeof(u64)))
		return BINDER_AGAIN;
	binder_send(thread, tr, buffers_size, is_reply);
	return 0;
}

static int do_transaction(struct binder_thread *thread, const void *arg)
{
	return command_send(thread, arg, 0, false);
}

static int do_reply(struct binder_thread *thread, const void *arg)
{
	return command_send(thread, arg, 0, true);
}

static int do_transaction_sg(struct binder_thread *thread, const void *arg)
{
	const struct binder_transaction_data_sg *sg = arg;

	return command_send(thread, &sg->transaction_data, sg->buffers_size, false);
}

static int do_reply_sg(struct binder_thread *thread, const void *arg)
{
	const struct binder_transaction_data_sg *sg = arg;

	return command_send(thread, &sg->transaction_data, sg->buffers_size, true);
}

static int do_free_buffer(struct binder_thread *thread, const void *arg)
{
	return binder_buffer_free_command(thread, *(const abi_stream_u64 *)arg);
}

static int do_increfs(struct binder_thread *thread, const void *arg)
{
	return binder_ref_command(thread, *(const u32 *)arg, REF_INCREFS);
}

static int do_acquire(struct binder_thread *thread, const void *arg)
{
	return binder_ref_command(thread, *(const u32 *)arg, REF_ACQUIRE);
}

static int do_release(struct binder_thread *thread, const void *arg)
{
	return binder_ref_command(thread, *(const u32 *)arg, REF_RELEASE);
}

static int do_decrefs(struct binder_thread *thread, const void *arg)
{
	return binder_ref_command(thread, *(const u32 *)arg, REF_DECREFS);
}

static int do_increfs_done(struct binder_thread *thread, const void *arg)
{
	binder_node_done(thread, false, arg);
	return 0;
}

static int do_acquire_done(struct binder_thread *thread, const void *arg)
{
	binder_node_done(thread, true, arg);
	return 0;
}

static int do_unsupported(struct binder_thread *thread, const void *arg)
{
	(void)arg;
	host_log(HOST_LOG_USER_ERROR,
		 "%d:%d BC_ATTEMPT_ACQUIRE and BC_ACQUIRE_RESULT are not supported",
		 thread->proc->pid, thread->tid);
	return -EINVAL;
}

static int do_register_looper(struct binder_thread *thread, const void *arg)
{
	(void)arg;
	binder_looper_register(thread);
	return 0;
}

static int do_enter_looper(struct binder_thread *thread, const void *arg)
{
	(void)arg;
	binder_looper_enter(thread);
	return 0;
}

static int do_exit_looper(struct binder_thread *thread, const void *arg)
{
	(void)arg;
	binder_looper_exit(thread);
	return 0;
}

static int do_request_death(struct binder_thread *thread, const void *arg)
{
	binder_death_request(thread, arg);
	return 0;
}

static int do_clear_death(struct binder_thread *thread, const void *arg)
{
	binder_notice_clear(thread, WORK_DEATH, arg);
	return 0;
}

static int do_death_done(struct binder_thread *thread, const void *arg)
{
	binder_death_done(thread, *(const abi_stream_u64 *)arg);
	return 0;
}

static int do_request_freeze(struct binder_thread *thread, const void *arg)
{
	return binder_notice_request(thread, WORK_FREEZE, arg);
}

static int do_clear_freeze(struct binder_thread *thread, const void *arg)
{
	return binder_notice_clear(thread, WORK_FREEZE, arg);
}

static int do_freeze_done(struct binder_thread *thread, const void *arg)
{
	return binder_freeze_done(thread, *(const abi_stream_u64 *)arg);
}

/* ---- the table ------------------------------------------------------------------ */

struct command {
	u32 code;
	u32 cost; /* units of BINDER_SLICE_COST */
	int (*run)(struct binder_thread *thread, const void *arg);
};

#define COMMAND_COST(code_, run_, cost_) [ABI_IOC_NR(code_)] = { code_, cost_, run_ }
#define COMMAND(code_, run_) COMMAND_COST(code_, run_, 1)

static const struct command commands[] = {
	COMMAND_COST(BC_TRANSACTION, do_transaction, BINDER_CALL_COST),
	COMMAND_COST(BC_REPLY, do_reply, BINDER_CALL_COST),
	COMMAND(BC_ACQUIRE_RESULT, do_unsupported),
	COMMAND_COST(BC_FREE_BUFFER, do_free_buffer, BINDER_FREE_COST),
	COMMAND(BC_INCREFS, do_increfs),
	COMMAND(BC_ACQUIRE, do_acquire),
	COMMAND(BC_RELEASE, do_release),
	COMMAND(BC_DECREFS, do_decrefs),
	COMMAND(BC_INCREFS_DONE, do_increfs_done),
	COMMAND(BC_ACQUIRE_DONE, do_acquire_done),
	COMMAND(BC_ATTEMPT_ACQUIRE, do_unsupported),
	COMMAND(BC_REGISTER_LOOPER, do_register_looper),
	COMMAND(BC_ENTER_LOOPER, do_enter_looper),
	COMMAND(BC_EXIT_LOOPER, do_exit_looper),
	COMMAND(BC_REQUEST_DEATH_NOTIFICATION, do_request_death),
	COMMAND(BC_CLEAR_DEATH_NOTIFICATION, do_clear_death),
	COMMAND(BC_DEAD_BINDER_DONE, do_death_done),
	COMMAND_COST(BC_TRANSACTION_SG, do_transaction_sg, BINDER_CALL_COST),
	COMMAND_COST(BC_REPLY_SG, do_reply_sg, BINDER_CALL_COST),
	COMMAND(BC_REQUEST_FREEZE_NOTIFICATION, do_request_freeze),
	COMMAND(BC_CLEAR_FREEZE_NOTIFICATION, do_clear_freeze),
	COMMAND(BC_FREEZE_NOTIFICATION_DONE, do_freeze_done),
};
_Static_assert(sizeof(commands) / sizeof(commands[0]) == BINDER_NR_COMMANDS,
	       "every command has a line");

/* ---- the loop --------------------------------------------------------------------- */

#define COMMAND_WINDOW 128 /* bytes */

struct stream {
	struct binder_thread *thread;
	u64 pos; /* user address of the next byte */
	u64 end;
	u32 cost; /* what the commands so far have cost */
	u32 at;	  /* offset of the next byte in the window */
	u32 left; /* bytes of the window from there */
	_Alignas(8) u8 window[COMMAND_WINDOW];
};

/* Fetches a window or, if the client's memory ends before, the @size bytes that are needed. */
static int stream_refill(struct stream *s, u32 size)
{
	struct binder_thread *thread = s->thread;
	u64 rest = s->end > s->pos ? s->end - s->pos : 0;
	u32 want = rest < COMMAND_WINDOW ? (u32)rest : COMMAND_WINDOW;
	int err = -EFAULT;

	if (want > size)
		err = host_read_caller(&thread->host, s->window, s->pos, want);
	if (err) {
		want = size;
		err = host_read_caller(&thread->host, s->window, s->pos, want);
	}
	if (err)
		return err;
	s->left = want;
	s->at = 0;
	return 0;
}

/* Consumes @size bytes of the window, valid until the next stream_refill(). */
static const void *stream_take(struct stream *s, u32 size)
{
	const void *bytes = s->window + s->at;

	s->at += size;
	s->left -= size;
	s->pos += size;
	return bytes;
}

static int run_one(struct stream *s)
{
	const struct command *command;
	u32 code, nr;
	int err = 0;

	if (s->left < sizeof(code))
		err = stream_refill(s, sizeof(code));
	if (err)
		return err;
	code = *(const u32 *)stream_take(s, sizeof(code));
	if (!s->thread->long_command) /* else it was counted */
		binder_stats_command(&s->thread->proc->stats, code);
	nr = ABI_IOC_NR(code);
	command = nr < BINDER_NR_COMMANDS ? &commands[nr] : NULL;
	if (!command || command->code != code) {
		host_log(HOST_LOG_USER_ERROR, "%d:%d unknown command %x", s->thread->proc->pid,
			 s->thread->tid, code);
		return -EINVAL;
	}
	s->cost += command->cost;
	if (s->left < ABI_IOC_SIZE(code))
		err = stream_refill(s, ABI_IOC_SIZE(code));
	return err ? err : command->run(s->thread, stream_take(s, ABI_IOC_SIZE(code)));
}

int binder_write(struct binder_thread *thread, struct binder_write_read *bwr)
{
	struct stream s __uninitialized; /* the window is filled before it is read */
	int err = 0;

	s.thread = thread;
	s.pos = bwr->write_buffer + bwr->write_consumed;
	s.end = bwr->write_buffer + bwr->write_size;
	s.cost = 0;
	s.at = 0;
	s.left = 0;
	/* Only commands of this thread set return_error, so no lock is needed. */
	while (s.pos < s.end && thread->return_error.cmd == BR_OK) {
		if (s.cost >= BINDER_SLICE_COST) {
			BINDER_COVER(STREAM_PUT_BACK);
			return BINDER_AGAIN;
		}
		err = run_one(&s);
		if (err)
			break;
		bwr->write_consumed = s.pos - bwr->write_buffer;
	}
	return err;
}
