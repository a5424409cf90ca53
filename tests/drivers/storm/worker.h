/* SPDX-License-Identifier: GPL-2.0 */
/*
 * worker: a thread of a member. Reads block, as in real clients. All that is written and returned
 * is counted in the member's tally.
 */
#ifndef STORM_WORKER_H
#define STORM_WORKER_H

#include "storm.h"

struct worker;

/* A member's open device, and what its threads do with what arrives there. */
struct opened {
	struct port port;
	struct member *me;
	/* A call arrived; the handler replies unless it is one-way, and frees its buffer. */
	void (*serve)(struct worker *worker, const struct returned *call);
	/* An object died, or a death request was cleared; @cookie is that of the request. */
	void (*died)(struct worker *worker, uint64_t cookie);
	void (*cleared)(struct worker *worker, uint64_t cookie);
};

/* Only its thread may use this. */
struct worker {
	struct opened *opened;
	struct looper looper;
	uint64_t random;
	uint32_t seq;
	bool quit; /* leave worker_loop() */
};

/* Open the device and map it; the caller fills in the rest of @opened before. */
void opened_begin(struct opened *opened);

void worker_init(struct worker *worker, struct opened *opened, uint32_t which);
/* A number below @limit. */
uint32_t worker_random(struct worker *worker, uint32_t limit);

/* Queue a command with its argument; worker_flush() writes what is queued. */
void worker_put(struct worker *worker, uint32_t cmd, const void *arg);
void worker_put_u32(struct worker *worker, uint32_t cmd, uint32_t value);
void worker_put_u64(struct worker *worker, uint32_t cmd, uint64_t value);
/* Queue that the buffer of a received call or reply is freed. */
void worker_put_free(struct worker *worker, const struct returned *got);
void worker_flush(struct worker *worker);

/*
 * Queue a call, a one-way call (TF_ONE_WAY in @flags) or, with worker_put_reply(), a reply. The
 * bytes are read when it is flushed.
 */
void worker_put_call(struct worker *worker, uint32_t handle, enum code code, uint32_t flags,
		     struct packed *packed);
void worker_put_reply(struct worker *worker, struct packed *packed);

/*
 * Flush, and wait for the result of the call: BR_REPLY (then in *reply; the caller frees its
 * buffer), BR_DEAD_REPLY or BR_FAILED_REPLY. Calls to this thread are served meanwhile.
 */
uint32_t worker_await_reply(struct worker *worker, struct returned *reply);
/* The same for what gets no reply: BR_TRANSACTION_COMPLETE, or an error as above. */
uint32_t worker_await_complete(struct worker *worker);
/* Serve until worker->quit. */
void worker_loop(struct worker *worker);
/* Read once and handle the returns. Blocks until there is one. */
void worker_serve_once(struct worker *worker);

#endif
