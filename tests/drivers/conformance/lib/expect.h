/* SPDX-License-Identifier: GPL-2.0 */
/*
 * expect: what a client must get. BR_NOOP is skipped. So are BR_INCREFS, BR_ACQUIRE (acknowledged
 * as a client must), BR_RELEASE and BR_DECREFS, unless client->show_refs is set.
 */
#ifndef CONFORMANCE_EXPECT_H
#define CONFORMANCE_EXPECT_H

#include "txn.h"

/* How long to wait for a return that is due, ms. */
#define EXPECT_TIMEOUT_MS 4000

/* The next return is this one (read, and waited for, if need be). The result stays valid. */
#define expect(client, cmd) expect_return(client, cmd, __FILE__, __LINE__)
const struct returned *expect_return(struct client *client, uint32_t cmd, const char *file,
				     int line);

/* What was sent last is accepted (BR_TRANSACTION_COMPLETE); the return after that is this one. */
#define expect_sent(client_, cmd) \
	({ struct client *by_ = (client_); expect(by_, BR_TRANSACTION_COMPLETE); \
	   expect(by_, cmd); })

/* No return is left, and a read finds none (-EAGAIN). The client must be a non-blocking one. */
#define expect_nothing(client) expect_no_return(client, __FILE__, __LINE__)
void expect_no_return(struct client *client, const char *file, int line);
/* The next return is this one, and it is the last. */
#define expect_only(client_, cmd) \
	({ struct client *by_ = (client_); expect(by_, cmd); expect_nothing(by_); })
/* A call that gets BR_FAILED_REPLY: call_fails(client, handle, .code = 1, ...). */
#define call_fails(client_, handle, ...) \
	({ struct client *by_ = (client_); call(by_, handle, ##__VA_ARGS__); \
	   expect(by_, BR_FAILED_REPLY); })

/* Read once and look at the next return without waiting; NULL when there is none. */
const struct returned *peek(struct client *client);

/*
 * Whole exchanges. round_trip(): client calls handle, server gets it and replies, both have freed
 * everything at the end; proves that the two still work. give(): `from` sends an object (ptr,
 * cookie, flags) to `to`, which must be the context manager; returns the handle there, with one
 * strong reference. from gets its BR_INCREFS and BR_ACQUIRE meanwhile.
 */
void round_trip(struct client *client, uint32_t handle, struct client *server);
uint32_t give(struct client *from, struct client *to, uint64_t ptr, uint64_t cookie,
	      uint32_t flags);
/* A call, and what the server receives of it: got = call_received(client, handle, server, ...). */
#define call_received(client_, handle, server_, ...) \
	({ call(client_, handle, ##__VA_ARGS__); expect(server_, BR_TRANSACTION); })
/* Reply without data to a call just received, free its buffer, and skip BR_TRANSACTION_COMPLETE. */
void answer(struct client *server, const struct returned *got);
/* The same with a reply of these fields of struct txn. */
#define answer_with(server_, got, ...) \
	({ struct client *by_ = (server_); put_free(by_, got); reply(by_, __VA_ARGS__); \
	   expect(by_, BR_TRANSACTION_COMPLETE); })
/* Expect BR_TRANSACTION_COMPLETE and BR_REPLY, and free the reply. */
void finish_call(struct client *client);
/* answer(), then finish_call() by the client. */
void complete_call(struct client *server, const struct returned *got, struct client *client);

/* A holder (the context manager) with a handle to an object of a server that can be killed. */
struct holding {
	struct client *holder;
	struct client *server;
	uint32_t handle;
};
struct holding holding_new(void);

/* The extended error of the client's thread: BINDER_GET_EXTENDED_ERROR. */
struct binder_extended_error extended_error(struct client *client);

#endif
