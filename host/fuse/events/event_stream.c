// SPDX-License-Identifier: GPL-2.0
/*
 * The file binder_logs/events.
 *
 * A writer of an event may hold locks of the engine and has a call to serve, so it wakes no thread.
 * While a READ waits, or a poller, a thread of its own, the ticker, looks every few milliseconds
 * whether there is something for it. That also makes readers get their events in large portions.
 *
 * A READ that waits must not become old, because the kernel may end the connection over it
 * (expire.h), so it returns an EVENT_IDLE after a while.
 */
#include "events/event_stream.h"

#include "base/clock.h"
#include "base/gate.h"
#include "base/locks.h"
#include "base/thread.h"
#include "clients/client_thread.h"
#include "core.h"
#include "events/events_ring.h"
#include "session/session.h"
#include "workers/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Opens of the file at a time, and the recording of stages. */
#define READERS_MAX 16u
#define TICK_NS 5000000
#define IDLE_NS 500000000ull
/* Records that one READ returns at most. */
#define PORTION 2048u
/* Records that events_ring_copy() needs room for if one is wanted. */
#define ROOM_FOR_ONE 2u
#define EVENTS_ALL ((1u << EVENT_KINDS) - 1)
/* A reader that has not selected anything gets all but the data of calls. */
#define EVENTS_OF_DATA (1u << EVENT_DATA | 1u << EVENT_DATA_TO_CLEAR)
#define EVENTS_AT_FIRST (EVENTS_ALL & ~EVENTS_OF_DATA)

struct events_reader {
	struct events_reader *next;
	struct events_position position;
	struct events_reader_state state;
	/* events of a predecessor; read first */
	struct event_record *pending;
	size_t nr_pending;
	size_t next_pending;
};

struct events_readers {
	pthread_mutex_t lock;		/* guards the rest, and each reader */
	pthread_cond_t one_waits;
	struct events_reader *first;
	unsigned int nr;
	bool ticker_runs;
	struct event_record portion[PORTION];	/* what is being returned */
};

void events_init(void)
{
	struct events *events = daemon_part(events);

	events->all = daemon_alloc(sizeof(*events->all));
	pthread_mutex_init(&events->all->lock, NULL);
	pthread_cond_init(&events->all->one_waits, NULL);
	events_ring_init();
}

/* ---- writing ---- */

static s32 calling_thread(void)
{
	if (!atomic_load_explicit(&worker_self->open_id, memory_order_relaxed))
		return 0;
	return atomic_load_explicit(&worker_self->client_tid, memory_order_relaxed);
}

void events_put_of(s32 thread, enum event_kind kind, const void *fields, size_t size)
{
	events_ring_put(clock_now_ns(), kind, false, thread, fields, size);
}

void events_put(enum event_kind kind, const void *fields, size_t size)
{
	events_put_of(calling_thread(), kind, fields, size);
}

void events_put_return(u32 cmd)
{
	struct event_word word = { cmd };

	if (events_wanted(EVENT_RETURN))
		events_put(EVENT_RETURN, &word, sizeof(word));
	if (events_wanted(EVENT_ERROR) &&
	    (cmd == BR_DEAD_REPLY || cmd == BR_FAILED_REPLY || cmd == BR_FROZEN_REPLY))
		events_put(EVENT_ERROR, &word, sizeof(word));
}

void events_put_failed(const struct event_failed *failed, bool reply)
{
	events_ring_put(clock_now_ns(), EVENT_FAILED, reply, calling_thread(), failed,
			sizeof(*failed));
}

void events_put_opened(s32 pid)
{
	struct event_opened opened = { .pid = pid };

	if (client_thread_read_file(pid, "comm", opened.comm, sizeof(opened.comm)) <= 0)
		return;
	opened.comm[strcspn(opened.comm, "\n")] = '\0';
	events_put_of(pid, EVENT_OPENED, &opened, sizeof(opened));
}

void events_put_data(const struct host_trace_data *data)
{
	events_ring_put_data(clock_now_ns(), calling_thread(), data);
}

/* ---- readers ---- */

static void put_header(struct event_record *record, u64 now_ns)
{
	*record = (struct event_record){
		.time_ns = now_ns,
		.kind = EVENT_HEADER,
		.header = {
			.magic = EVENTS_MAGIC,
			.version = EVENTS_VERSION,
			.record_size = sizeof(*record),
			.slots = EVENTS_SLOTS,
			.clock = CLOCK_MONOTONIC,
			.kinds = EVENT_KINDS,
		},
	};
}

/* Collects what there is for @reader in the portion; returns how many records. */
static size_t collect_portion(struct events_readers *all, struct events_reader *reader, size_t room,
			      u64 now_ns)
{
	struct event_record *portion = all->portion;
	size_t count = 0;

	if (!reader->state.header_sent)
		put_header(&portion[count++], now_ns);
	reader->state.header_sent = true;
	while (count < room && reader->next_pending < reader->nr_pending)
		portion[count++] = reader->pending[reader->next_pending++];
	if (room - count < 2)	/* for events_ring_copy() */
		return count;
	return count + events_ring_copy(&reader->position, now_ns, portion + count, room - count);
}

static void reply_portion(const struct events_readers *all, u64 unique, size_t count)
{
	session_reply(unique, all->portion, count * sizeof(all->portion[0]));
}

/* Replies to the READ that waits, if there is something or it has waited long enough. */
static void serve_read(struct events_readers *all, struct events_reader *reader, u64 now_ns)
{
	size_t count = collect_portion(all, reader, reader->state.room, now_ns);

	if (!count && now_ns < reader->state.idle_ns)
		return;
	if (!count)
		all->portion[count++] = (struct event_record){ .time_ns = now_ns,
							       .kind = EVENT_IDLE };
	reply_portion(all, reader->state.unique, count);
	reader->state.unique = 0;
}

/* Is there something to read for @reader? It passes over what it does not want. */
static bool has_something(struct events_readers *all, struct events_reader *reader, u64 now_ns)
{
	struct events_position after = reader->position;
	bool found = !reader->state.header_sent || reader->next_pending < reader->nr_pending ||
		     events_ring_copy(&after, now_ns, all->portion, ROOM_FOR_ONE);

	if (!found)
		reader->position = after;
	return found;
}

static void serve_poll(struct events_readers *all, struct events_reader *reader, u64 now_ns)
{
	if (!has_something(all, reader, now_ns))
		return;
	reader->state.poll_armed = false;
	session_notify_poll(reader->state.poll_handle);
}

static bool serve_readers(struct events_readers *all)
{
	u64 now_ns = clock_now_ns();
	bool waits = false;

	for (struct events_reader *reader = all->first; reader; reader = reader->next) {
		if (reader->state.unique)
			serve_read(all, reader, now_ns);
		if (reader->state.poll_armed)
			serve_poll(all, reader, now_ns);
		waits |= reader->state.unique || reader->state.poll_armed;
	}
	return waits;
}

static void ticker_main(void *arg)
{
	struct events_readers *all = arg;
	static const struct timespec tick = { .tv_nsec = TICK_NS };

	for (;;) {
		pthread_mutex_lock(&all->lock);
		if (!serve_readers(all)) {
			gate_away();
			pthread_cond_wait(&all->one_waits, &all->lock);
		}
		pthread_mutex_unlock(&all->lock);
		gate_away();
		nanosleep(&tick, NULL);
		gate_back();
	}
}

static bool start_ticker(struct events_readers *all)
{
	all->ticker_runs = all->ticker_runs || !thread_start(ticker_main, all);
	return all->ticker_runs;
}

static void update_wanted(struct events *events)
{
	u32 wanted = 0;

	for (const struct events_reader *reader = events->all->first; reader; reader = reader->next)
		wanted |= reader->position.mask;
	atomic_store(&events->wanted_kinds, wanted);
}

/* @mask: what it wants. */
static int add_reader(struct events *events, struct events_reader *reader, u32 mask)
{
	struct events_readers *all = events->all;

	guard_mutex(&all->lock);
	if (all->nr >= READERS_MAX)
		return -EMFILE;
	if (!events_ring_start() || !start_ticker(all))
		return -ENOMEM;
	reader->position.mask = mask;
	reader->position.number = events_ring_end();
	reader->next = all->first;
	all->first = reader;
	all->nr++;
	update_wanted(events);
	return 0;
}

int events_open(u32 uid, u32 owner, struct events_reader **out)
{
	struct events_reader *reader;
	int error;

	if (uid && uid != owner)
		return -EACCES;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	error = add_reader(daemon_self->events, reader, EVENTS_AT_FIRST);
	if (error)
		free(reader);
	else
		*out = reader;
	return error;
}

void events_close(struct events_reader *reader)
{
	struct events *events = daemon_self->events;
	struct events_reader **slot = &events->all->first;

	pthread_mutex_lock(&events->all->lock);
	while (*slot != reader)
		slot = &(*slot)->next;
	*slot = reader->next;
	update_wanted(events);
	if (!--events->all->nr)
		events_ring_stop();
	pthread_mutex_unlock(&events->all->lock);
	free(reader->pending);
	free(reader);
}

/* ---- requests ---- */

/* Returns 0 if the READ waits, or was replied to. */
static int try_read(struct events_reader *reader, const struct request *request)
{
	struct events_readers *all = daemon_self->events->all;
	const struct fuse_read_in *in = request->body;
	size_t room = in->size / sizeof(all->portion[0]);
	u64 now_ns = clock_now_ns();
	size_t count;

	if (room < 2)
		return -EINVAL;
	guard_mutex(&all->lock);
	if (reader->state.unique)
		return -EBUSY;
	if (room > PORTION)
		room = PORTION;
	count = collect_portion(all, reader, room, now_ns);
	if (count) {
		reply_portion(all, request->head->unique, count);
		return 0;
	}
	if (in->flags & O_NONBLOCK)
		return -EAGAIN;
	if (worker_was_interrupted(request->head->unique))
		return -EINTR;
	reader->state.unique = request->head->unique;
	reader->state.room = (u32)room;
	reader->state.idle_ns = now_ns + IDLE_NS;
	pthread_cond_signal(&all->one_waits);
	return 0;
}

void events_read(struct events_reader *reader, const struct request *request)
{
	int error = try_read(reader, request);

	if (error)
		session_reply_status(request->head->unique, error);
}

void events_select(struct events_reader *reader, u32 mask)
{
	guard_mutex(&daemon_self->events->all->lock);
	reader->position.mask = mask;
	update_wanted(daemon_self->events);
}

/* Data that is to be cleared after use is for root alone; @mask: what is selected. */
static bool may_select(const struct fuse_in_header *head, u32 mask)
{
	if (!(mask & EVENTS_OF_DATA))
		return true;
	if (head->uid)
		return !(mask & 1u << EVENT_DATA_TO_CLEAR);
	return client_thread_may_overhear((pid_t)head->pid);
}

void events_write(struct events_reader *reader, const struct request *request)
{
	const struct fuse_write_in *in = request->body;
	struct fuse_write_out out = { .size = in->size };
	char word[16] = "";
	unsigned long mask;
	char *end;

	if (!in->size || in->size >= sizeof(word) ||
	    request->body_size < sizeof(*in) + in->size) {
		session_reply_status(request->head->unique, -EINVAL);
		return;
	}
	memcpy(word, in + 1, in->size);
	word[strcspn(word, "\n")] = '\0';
	mask = strtoul(word, &end, 0);
	if (end == word || *end || *word == '-' || mask > EVENTS_ALL) {
		session_reply_status(request->head->unique, -EINVAL);
		return;
	}
	if (!may_select(request->head, (u32)mask)) {
		session_reply_status(request->head->unique, -EACCES);
		return;
	}
	events_select(reader, (u32)mask);
	session_reply(request->head->unique, &out, sizeof(out));
}

void events_poll(struct events_reader *reader, const struct request *request)
{
	struct events_readers *all = daemon_self->events->all;
	const struct fuse_poll_in *in = request->body;
	struct fuse_poll_out out = { .revents = POLLOUT };

	pthread_mutex_lock(&all->lock);
	if (has_something(all, reader, clock_now_ns())) {
		out.revents |= POLLIN;
	} else if (in->flags & FUSE_POLL_SCHEDULE_NOTIFY) {
		reader->state.poll_handle = in->kh;
		reader->state.poll_armed = true;
		pthread_cond_signal(&all->one_waits);
	}
	pthread_mutex_unlock(&all->lock);
	session_reply(request->head->unique, &out, sizeof(out));
}

/*
 * The worker that handles a READ is told of its INTERRUPT before this looks for it (park.h), so one
 * of the two sees the other.
 */
bool events_interrupt(u64 unique)
{
	struct events_readers *all = daemon_self->events->all;
	bool found = false;

	pthread_mutex_lock(&all->lock);
	for (struct events_reader *reader = all->first; reader && !found; reader = reader->next) {
		found = reader->state.unique == unique;
		if (found)
			reader->state.unique = 0;
	}
	pthread_mutex_unlock(&all->lock);
	if (found)
		session_reply_status(unique, -EINTR);
	return found;
}

/* ---- handing over ---- */

struct event_record *events_save(const struct events_reader *reader,
				 struct events_reader_state *state, size_t *nr)
{
	struct events_position position = reader->position;
	size_t left = reader->nr_pending - reader->next_pending;
	size_t room = left + EVENTS_PENDING;
	struct event_record *pending = malloc(room * sizeof(*pending));

	*nr = 0;
	if (pending) {
		if (left)
			memcpy(pending, reader->pending + reader->next_pending,
			       left * sizeof(*pending));
		*nr = left + events_ring_copy(&position, UINT64_MAX, pending + left, room - left);
	}
	*state = reader->state;
	state->end = events_ring_end();
	state->lost = position.lost + (events_ring_end() - position.number);
	state->mask = position.mask;
	return pending;
}

struct events_reader *events_restore(const struct events_reader_state *state,
				     const struct event_record *pending, size_t nr)
{
	struct events_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->position.lost = state->lost;
	reader->state = *state;
	if (reader->state.room > PORTION)
		reader->state.room = PORTION;
	reader->pending = malloc(nr * sizeof(*pending) + 1);
	if (reader->pending && nr)
		memcpy(reader->pending, pending, nr * sizeof(*pending));
	reader->nr_pending = reader->pending ? nr : 0;
	events_ring_set_end(state->end);
	if (!reader->pending || add_reader(daemon_self->events, reader, state->mask)) {
		free(reader->pending);
		free(reader);
		return NULL;
	}
	return reader;
}
