// SPDX-License-Identifier: GPL-2.0
/*
 * The daemon's side of the helper process: channels, events.
 *
 * A channel is used by one thread at a time. One whose answer did not come in time belongs to the
 * events thread until the answer comes: then it is free again. The lock is held for sending, so
 * that the control socket cannot be replaced meanwhile; a send waits only if the helper's main
 * thread does not run, for which that helper is killed. Its descriptors may outlive it, so its end
 * is noticed by its life (exit_watch.h), which shuts down the control socket.
 */
#include "fds/helper.h"

#include "base/clock.h"
#include "base/daemon_state.h"
#include "base/gate.h"
#include "base/locks.h"
#include "base/daemon_log.h"
#include "base/thread.h"
#include "clients/users.h"
#include "fds/helper_process.h"
#include "session/session.h"
#include "workers/worker.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS 250

/* An answer takes a tenth of a millisecond unless a client delays it or the processors are busy. */
#define SOON_MS 3
/* After that it is seen whether the helper was stopped. */
#define STOPPED_MS 20
/* A helper that runs answers a question about nothing in this time, */
#define ALIVE_MS 1000
/* and by then, or so much later, also the one before it, unless a client delays that. */
#define GRACE_MS 500
/* How long a helper may get no processor time, or none may be there, until questions fail. */
#define PATIENCE_NS 30000000000ull
/* How often in a row one is started that ends before it answers. */
#define STARTS_MAX 10
/* An ended helper is replaced in about this time. */
#define RESTART_US 5000
/* Messages that clients can cause, at the default level. */
#define LOG_INTERVAL_NS 10000000000ull

u32 helper_generation(void)
{
	return atomic_load(&daemon_self->helper->generation);
}

bool helper_send(const struct helper_message *message, u32 nr_numbers, u32 to)
{
	guard_mutex(&daemon_self->helper->lock);
	return to == helper_generation() &&
	       helper_send_control(message, sizeof(*message) + nr_numbers * sizeof(s32), -1);
}

/* ---- channels ---- */

/* Lock held. */
static bool open_channel(struct channel *channel)
{
	int fd = helper_send_socket(SOCK_SEQPACKET, HELPER_CHANNEL);

	if (fd < 0)
		return false;
	channel->exists = true;
	channel->fd = fd;
	channel->generation = helper_generation();
	return true;
}

/*
 * Takes the first that is not busy: those in use are the first ones. Returns 0; -EBUSY: all are;
 * -EIO: there is no helper at present.
 */
static int get_channel(struct channel **out)
{
	struct channel *channel = daemon_self->helper->channels;

	guard_mutex(&daemon_self->helper->lock);
	while (channel < daemon_self->helper->channels + CHANNELS_MAX && channel->busy)
		channel++;
	if (channel == daemon_self->helper->channels + CHANNELS_MAX)
		return -EBUSY;
	if (!channel->exists && !open_channel(channel))
		return -EIO;
	channel->busy = true;
	*out = channel;
	return 0;
}

/* Lock held. */
static void close_channel(struct channel *channel)
{
	close(channel->fd);
	channel->exists = false;
}

static void put_channel(struct channel *channel, bool usable)
{
	guard_mutex(&daemon_self->helper->lock);
	channel->busy = false;
	if (!usable || channel->generation != helper_generation())
		close_channel(channel);
}

/* The helper has ended: fails the questions that are pending. Lock held. */
static void close_channels(void)
{
	struct helper *helper = daemon_self->helper;

	for (unsigned int i = 0; i < CHANNELS_MAX; i++) {
		if (helper->channels[i].exists && helper->channels[i].busy)
			shutdown(helper->channels[i].fd, SHUT_RDWR);
		else if (helper->channels[i].exists)
			close_channel(&helper->channels[i]);
	}
}

/* Clients can cause such messages at will: few of them are printed. */
static bool may_log(void)
{
	u64 now = clock_now_ns();
	unsigned long long last = atomic_load(&daemon_self->helper->logged_ns);

	return now - last >= LOG_INTERVAL_NS &&
	       atomic_compare_exchange_strong(&daemon_self->helper->logged_ns, &last, now);
}

static void helper_abandon(struct channel *channel, const struct helper_message *message)
{
	channel->op = message->op;
	channel->uid = message->uid;
	user_charges_add_always(channel->uid, USER_STALLED);
	/* an answer that came meanwhile is reported at once */
	if (!helper_is_watched(channel->fd, channel)) {
		user_charges_remove(channel->uid, USER_STALLED);
		put_channel(channel, false);
	}
}

static bool has_answer(const struct channel *channel, int ms)
{
	struct pollfd pollfd = { .fd = channel->fd, .events = POLLIN };

	return poll(&pollfd, 1, ms) > 0;
}

/* Does it answer a question that no client can delay? Also if it has ended. */
static bool is_alive(void)
{
	const struct helper_message message = { .op = HELPER_PING };
	struct helper_answer answer;
	struct channel *channel;
	bool alive;

	helper_continue_if_stopped();
	if (get_channel(&channel))
		return true;
	alive = !message_send(channel->fd, &message, sizeof(message), -1) ||
		has_answer(channel, ALIVE_MS);
	put_channel(channel, alive && recv(channel->fd, &answer, sizeof(answer), MSG_DONTWAIT) ==
				     sizeof(answer));
	return alive;
}

/*
 * False: a client delays the answer. A helper that does not run is waited for: it gets no processor
 * time where these are very busy, or the whole machine was halted.
 */
static bool await_answer(const struct channel *channel)
{
	u64 end = clock_now_ns() + PATIENCE_NS;

	if (has_answer(channel, SOON_MS))
		return true;
	daemon_self->helper->handlers->waits_long();
	if (has_answer(channel, STOPPED_MS))
		return true;
	helper_continue_if_stopped();
	while (!has_answer(channel, HELPER_DEADLINE_MS)) {
		if (is_alive())
			return has_answer(channel, GRACE_MS);
		if (clock_now_ns() > end)
			return false;
	}
	return true;
}

/* Does the user delay as many operations, or the client of the open as many workers, as it may? */
static bool is_refused(u32 uid, u64 open_id)
{
	return user_charges_is_over(uid, USER_STALLED) ||
	       !daemon_self->helper->handlers->may_delay(open_id);
}

/* 0, -EBUSY, -ETIMEDOUT; -EIO: the helper has ended. */
static int ask_once(const struct helper_message *message, int attached,
		    struct helper_answer *answer)
{
	struct channel *channel;
	int error = get_channel(&channel);
	bool ok;

	if (error)
		return error;
	answer->generation = channel->generation;
	ok = message_send(channel->fd, message, sizeof(*message), attached);
	if (ok && !await_answer(channel)) {
		helper_abandon(channel, message);
		return -ETIMEDOUT;
	}
	ok = ok && recv(channel->fd, answer, sizeof(*answer), MSG_DONTWAIT) == sizeof(*answer);
	answer->generation = channel->generation;
	put_channel(channel, ok);
	return ok ? 0 : -EIO;
}

/* The same, of the next helper if this one ends. */
static int ask_until_answered(const struct helper_message *message, int attached,
			      struct helper_answer *answer)
{
	u64 end = clock_now_ns() + PATIENCE_NS;
	int error;

	while ((error = ask_once(message, attached, answer)) == -EIO && clock_now_ns() < end) {
		daemon_self->helper->handlers->waits_long();
		usleep(RESTART_US);
	}
	return error;
}

int helper_ask(const struct helper_message *message, int attached, u64 open_id,
	       struct helper_answer *answer)
{
	unsigned int section;
	int error = -EBUSY;

	if (!is_refused(message->uid, open_id)) {
		open_id = worker_begin_wait(open_id);
		section = gate_begin_client();
		error = ask_until_answered(message, attached, answer);
		gate_end_client(section);
		worker_end_wait(open_id);
	}
	if (error && may_log())
		log_warn("%s of user %u fails: %s, as its client delays the helper process",
			 message->op == HELPER_TAKE ? "taking a file" : "a look at a mapping",
			 message->uid, strerror(-error));
	return error;
}

/* The answer to an abandoned question; also when the helper has ended. */
static void late_answer(struct channel *channel)
{
	struct helper_message message = { .op = HELPER_CLOSE };
	struct helper_answer answer;
	bool ok = recv(channel->fd, &answer, sizeof(answer), MSG_DONTWAIT) == sizeof(answer);

	epoll_ctl(daemon_self->helper->epoll_fd, EPOLL_CTL_DEL, channel->fd, NULL);
	user_charges_remove(channel->uid, USER_STALLED);
	if (ok && channel->op == HELPER_TAKE && answer.result >= 0) {
		message.fd = answer.result;
		message.uid = channel->uid;
		helper_send(&message, 0, channel->generation);
	}
	put_channel(channel, ok);
}

void helper_search(u64 open_id, u64 nodeid, const s32 *owners, u32 nr)
{
	_Alignas(8) char buffer[sizeof(struct helper_message) + HELPER_OWNERS_MAX * sizeof(s32)];
	struct helper_message *message = (struct helper_message *)buffer;

	*message = (struct helper_message){
		.op = HELPER_SEARCH, .id = open_id, .inode = nodeid,
		.device = atomic_load(&daemon_self->session->device),
		.nr_close = nr,
	};
	memcpy(message->numbers, owners, nr * sizeof(s32));
	helper_send(message, nr, helper_generation());
}

/* ---- the events thread ---- */

void helper_arm_tick(void)
{
	static const uint64_t one = 1;

	if (!atomic_load_explicit(&daemon_self->helper->ticking, memory_order_relaxed) &&
	    !atomic_exchange(&daemon_self->helper->ticking, true) &&
	    write(daemon_self->helper->wake_fd, &one, sizeof(one)) < 0)
		log_debug("helper: %s", strerror(errno));
}

/* Also in place of one that was killed before it answered. Lock held. */
static bool replace_process(void)
{
	struct helper *helper = daemon_self->helper;

	for (int i = 0; i < STARTS_MAX; i++) {
		close(helper->control);
		helper->control = -1;
		helper_kill();
		helper_wait_for_end();
		if (helper_start_process())
			return true;
		if (errno == ETIMEDOUT)
			return false;
	}
	return false;
}

static void helper_restart(void)
{
	struct helper *helper = daemon_self->helper;
	const char *reason = NULL;

	log_warn("the helper process was killed: files in transactions under way are lost");
	pthread_mutex_lock(&helper->lock);
	if (!replace_process())
		reason = helper_start_error();
	close_channels();
	pthread_mutex_unlock(&helper->lock);
	if (reason) {
		log_error("cannot start the helper process again: %s", reason);
		kill(getpid(), SIGTERM);
	}
	helper->handlers->lost();
}

enum received {
	RECEIVED_EVENT,
	RECEIVED_NOTHING,
	RECEIVED_END,		/* of the helper */
};

/* Lock of receiving held. */
static enum received handle_event(void)
{
	struct helper *helper = daemon_self->helper;
	ssize_t got = recv(helper->control, helper->buffer, sizeof(helper->buffer), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return RECEIVED_NOTHING;
	if (got < (ssize_t)sizeof(struct helper_event))
		return RECEIVED_END;
	helper->handlers->event((const struct helper_event *)helper->buffer);
	return RECEIVED_EVENT;
}

void helper_receive(void)
{
	guard_mutex(&daemon_self->helper->receiving);
	while (handle_event() == RECEIVED_EVENT)
		;
}

static void receive_event(void)
{
	guard_mutex(&daemon_self->helper->receiving);
	if (handle_event() == RECEIVED_END)
		helper_restart();
}

static bool call_tick(void)
{
	guard_mutex(&daemon_self->helper->receiving);
	return daemon_self->helper->handlers->tick();
}

/*
 * Time in which the helper does not run is no client's: then, and for as long afterwards as a
 * client may take, nothing is overdue. @gap_ns: since the last tick.
 */
static bool was_asleep(u64 gap_ns)
{
	struct helper *helper = daemon_self->helper;

	if (gap_ns > ALIVE_MS * 1000000ull || !is_alive())
		helper->asleep_ns = clock_now_ns();
	return clock_now_ns() - helper->asleep_ns < HELPER_DEADLINE_MS * 1000000ull;
}

static void helper_tick(u64 gap_ns)
{
	if (was_asleep(gap_ns) || call_tick())
		return;
	atomic_store(&daemon_self->helper->ticking, false);
	/* check again: helper_arm_tick() may have seen the flag set */
	if (call_tick())
		atomic_store(&daemon_self->helper->ticking, true);
}

static void events_main(void *arg)
{
	struct helper *helper = daemon_self->helper;
	uint64_t ignored;
	u64 last_tick = 0;

	worker_set_self(&helper->worker);
	for (;;) {
		struct epoll_event events[16];
		int timeout = atomic_load(&helper->ticking) ? TICK_MS : -1;
		int count;

		gate_away();
		count = epoll_wait(helper->epoll_fd, events, 16, timeout);
		gate_back();
		for (int i = 0; i < count; i++) {
			if (!events[i].data.ptr)
				receive_event();
			else if (events[i].data.ptr != &helper->wake_fd)
				late_answer(events[i].data.ptr);
			else if (read(helper->wake_fd, &ignored, sizeof(ignored)) < 0)
				log_debug("helper: %s", strerror(errno));
		}
		if (!atomic_load(&helper->ticking)) {
			last_tick = 0;
		} else if (clock_now_ns() - last_tick >= TICK_MS * 1000000ull) {
			helper_tick(last_tick ? clock_now_ns() - last_tick : 0);
			last_tick = clock_now_ns();
		}
	}
}

static bool helper_init(const struct helper_handlers *given)
{
	struct helper *helper = daemon_part(helper);

	pthread_mutex_init(&helper->lock, NULL);
	pthread_mutex_init(&helper->receiving, NULL);
	helper->control = -1;
	helper->handlers = given;
	helper->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	helper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return helper->epoll_fd >= 0 && helper->wake_fd >= 0 &&
	       helper_is_watched(helper->wake_fd, &helper->wake_fd);
}

bool helper_start(const struct helper_handlers *given)
{
	bool ok = helper_init(given);
	struct helper *helper = daemon_self->helper;

	pthread_mutex_lock(&helper->lock);
	ok = ok && helper_start_process();
	pthread_mutex_unlock(&helper->lock);
	if (!ok)
		log_error("cannot start the helper process (/proc/self/exe): %s",
			  helper_start_error());
	return ok && !thread_start(events_main, NULL);
}

void helper_save(struct helper_state *state)
{
	struct helper *helper = daemon_self->helper;

	guard_mutex(&helper->lock);
	*state = (struct helper_state){ helper->control, helper->pidfd, helper_generation() };
}

bool helper_take_over(const struct helper_handlers *given, const struct helper_state *state)
{
	bool ok = helper_init(given);
	struct helper *helper = daemon_self->helper;

	pthread_mutex_lock(&helper->lock);
	helper->control = state->control;
	helper->pidfd = state->pidfd;
	atomic_store(&helper->generation, state->generation);
	ok = ok && helper_is_watched(helper->control, NULL) &&
	     helper_link_lives(HELPER_DEADLINE_MS);
	pthread_mutex_unlock(&helper->lock);
	return ok && !thread_start(events_main, NULL);
}
