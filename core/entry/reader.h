/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reader: the read buffer of one read. Return codes are collected and stored with few copies. If
 * the buffer turns out not to be writable from its start on, the read has taken nothing.
 */
#ifndef BINDER_READER_H
#define BINDER_READER_H

#include "entities/thread.h"

#define COLLECTED_MAX 128 /* bytes */

struct reader {
	struct binder_thread *thread;
	struct binder_write_read *bwr;
	u64 pos;	/* user address behind what is collected */
	u64 end;
	u32 used;	/* bytes collected */
	bool proc_work;	   /* the thread may take work of the process */
	bool spawned;	   /* BR_SPAWN_LOOPER was returned */
	bool delivered;	   /* anything besides BR_NOOP */
	bool writable;	   /* the start of the buffer was written, or is not to be */
	bool from_proc;	   /* the work dequeued last was the process's */
	bool process_todo; /* the thread's, before the read */
	struct binder_work *completion; /* dequeued while not writable; the thread's spare */
	_Alignas(8) u8 collected[COLLECTED_MAX];
};

static inline int returns_flush(struct reader *r)
{
	struct binder_thread *thread = r->thread;
	int err = 0;

	if (r->used)
		err = host_write_caller(&thread->host, r->pos - r->used, r->collected, r->used);
	if (!err)
		r->bwr->read_consumed = r->pos - r->bwr->read_buffer;
	r->used = 0;
	return err;
}

/* Can @ret be appended without a flush? */
static inline bool has_room(const struct reader *r, u32 ret)
{
	return r->used + sizeof(ret) + ABI_IOC_SIZE(ret) <= COLLECTED_MAX;
}

/* Appends @ret, for which there is room, and counts it; returns where its payload goes. */
static inline void *returns_append(struct reader *r, u32 ret)
{
	u32 size = sizeof(ret) + ABI_IOC_SIZE(ret);
	u8 *code = r->collected + r->used;

	*(u32 *)code = ret;
	r->used += size;
	r->pos += size;
	r->delivered = true;
	binder_stats_return(&r->thread->proc->stats, ret);
	return code + sizeof(ret);
}

static inline int append_copy(struct reader *r, u32 ret, const void *payload)
{
	int err = has_room(r, ret) ? 0 : returns_flush(r);

	if (!err)
		host_memcpy(returns_append(r, ret), payload, ABI_IOC_SIZE(ret));
	return err;
}

static inline int append_code(struct reader *r, u32 ret)
{
	int err = has_room(r, ret) ? 0 : returns_flush(r);

	if (!err)
		returns_append(r, ret);
	return err;
}

/* BR_NOOP starts every read and is not counted. */
static inline void append_noop(struct reader *r)
{
	*(u32 *)r->collected = BR_NOOP;
	r->used = sizeof(u32);
	r->pos += sizeof(u32);
}

/*
 * The C driver writes BR_NOOP before it dequeues work. Here that is done only where it matters:
 * when storing has failed, and before what could not be undone. No lock held.
 */
int reader_write_start(struct reader *r);
/* Puts work back to the head of the list that it was dequeued from. No lock held. */
void reader_put_back(struct reader *r, struct binder_work *work);
/* The read has failed. If nothing was stored, takes the rest back. No lock held. */
void reader_undo(struct reader *r);

#endif
