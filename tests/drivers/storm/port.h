/* SPDX-License-Identifier: GPL-2.0 */
/*
 * port: a member's open device, and the threads that use it. Reads block, as in real clients. All
 * that is written and returned is counted in the member's tally.
 */
#ifndef STORM_PORT_H
#define STORM_PORT_H

#include "parcel.h"
#include "storm.h"

struct worker;

struct port {
	int fd;
	void *map;
	struct member *me;
	/* A call arrived; the handler replies unless it is one-way, and frees txn's buffer. */
	void (*serve)(struct worker *worker, const struct binder_transaction_data *txn);
	/* An object died, or a death request was cleared; @cookie is that of the request. */
	void (*died)(struct worker *worker, uint64_t cookie);
	void (*cleared)(struct worker *worker, uint64_t cookie);
};

/* A thread; only it may use this. */
struct worker {
	struct port *port;
	uint64_t random;
	uint32_t seq;
	bool quit; /* leave worker_loop() */
	uint8_t out[1024], in[1024];
	size_t out_size, in_at, in_size;
};

/* Open the device and map it; the caller fills in the rest of @port before. */
void port_open(struct port *port);
void port_close(struct port *port);

void worker_init(struct worker *worker, struct port *port, uint32_t which);
/* A number below @limit. */
uint32_t worker_random(struct worker *worker, uint32_t limit);

/* Queue a command with its argument; worker_flush() writes what is queued. */
void worker_put(struct worker *worker, uint32_t cmd, const void *arg);
void worker_put_u32(struct worker *worker, uint32_t cmd, uint32_t value);
void worker_put_u64(struct worker *worker, uint32_t cmd, uint64_t value);
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
uint32_t worker_await_reply(struct worker *worker, struct binder_transaction_data *reply);
/* The same for what gets no reply: BR_TRANSACTION_COMPLETE, or an error as above. */
uint32_t worker_await_complete(struct worker *worker);
/* Serve until worker->quit. */
void worker_loop(struct worker *worker);
/* Read once and handle the returns. Blocks until there is one. */
void worker_serve_once(struct worker *worker);

#endif
