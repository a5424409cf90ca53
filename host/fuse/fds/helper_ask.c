// SPDX-License-Identifier: GPL-2.0
/*
 * Channels to the helper process.
 *
 * A channel is used by one thread at a time. One whose answer did not come in time belongs to the
 * thread of the helper's events until the answer comes: then it is free again. The lock is held for
 * sending, so that the control socket cannot be replaced meanwhile; a send waits only if the
 * helper's main thread does not run, for which that helper is killed. Its descriptors may outlive
 * it, so its end is noticed by its life (exit_watch.h), which shuts down the control socket.
 */
#include "fds/daemon_side.h"

#include "base/clock.h"
#include "base/daemon_log.h"
#include "base/gate.h"
#include "base/locks.h"
#include "calls/open_file.h"
#include "calls/stuck_workers.h"
#include "clients/users.h"
#include "session/session.h"
#include "workers/worker.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* An answer takes a tenth of a millisecond unless a client delays it or the processors are busy. */
#define SOON_MS 3
/* After that it is seen whether the helper was stopped. */
#define STOPPED_MS 20
/* A helper that runs answers a question about nothing within HELPER_ALIVE_MS, */
/* and by then, or so much later, also the one before it, unless a client delays that. */
#define GRACE_MS 500
/* How long a helper may get no processor time, or none may be there, until questions fail. */
#define PATIENCE_NS 30000000000ull
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

void helper_close_channels(void)
{
	struct helper *helper = daemon_self->helper;

	for (unsigned int i = 0; i < CHANNELS_MAX; i++) {
		if (helper->channels[i].exists && helper->channels[i].busy)
			shutdown(helper->channels[i].fd, SHUT_RDWR);
		else if (helper->channels[i].exists)
			close_channel(&helper->channels[i]);
	}
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

bool helper_is_alive(void)
{
	const struct helper_message message = { .op = HELPER_PING };
	struct helper_answer answer;
	struct channel *channel;
	bool alive;

	helper_continue_if_stopped();
	if (get_channel(&channel))
		return true;
	alive = !message_send(channel->fd, &message, sizeof(message), -1) ||
		has_answer(channel, HELPER_ALIVE_MS);
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
	pool_replace_self();
	if (has_answer(channel, STOPPED_MS))
		return true;
	helper_continue_if_stopped();
	while (!has_answer(channel, HELPER_DEADLINE_MS)) {
		if (helper_is_alive())
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
	       (pool_has_stuck() && !open_file_may_delay(open_id));
}

static bool is_answered(const struct channel *channel)
{
	struct helper_answer answer;

	return recv(channel->fd, &answer, sizeof(answer), MSG_DONTWAIT | MSG_PEEK) ==
	       sizeof(answer);
}

/*
 * Returns 0 with a channel of which the answer is to be read, -EBUSY, -ETIMEDOUT, or -EIO: the
 * helper has ended.
 */
static int ask_once(const struct helper_message *message, int attached, struct channel **out)
{
	struct channel *channel;
	int error = get_channel(&channel);
	bool ok;

	if (error)
		return error;
	ok = message_send(channel->fd, message, sizeof(*message), attached);
	if (ok && !await_answer(channel)) {
		helper_abandon(channel, message);
		return -ETIMEDOUT;
	}
	if (!ok || !is_answered(channel)) {
		put_channel(channel, false);
		return -EIO;
	}
	*out = channel;
	return 0;
}

/* Asks the next helper if this one ends. */
static int ask_until_answered(const struct helper_message *message, int attached,
			      struct channel **channel)
{
	u64 end = clock_now_ns() + PATIENCE_NS;
	int error;

	while ((error = ask_once(message, attached, channel)) == -EIO && clock_now_ns() < end) {
		pool_replace_self();
		usleep(RESTART_US);
	}
	return error;
}

static int read_answer(struct channel *channel, struct helper_answer *answer)
{
	bool ok = recv(channel->fd, answer, sizeof(*answer), MSG_DONTWAIT) == sizeof(*answer);

	answer->generation = channel->generation;
	put_channel(channel, ok);
	return ok ? 0 : -EIO;
}

/*
 * A hand-over may leave the thread behind while the client delays the answer. Then the answer is
 * never read, by which the helper knows that no process has been told of the file that it took.
 */
int helper_ask(const struct helper_message *message, int attached, u64 open_id,
	       struct helper_answer *answer)
{
	struct channel *channel;
	unsigned int section;
	int error = -EBUSY;

	if (!is_refused(message->uid, open_id)) {
		open_id = worker_begin_wait(open_id);
		section = gate_begin_client();
		error = ask_until_answered(message, attached, &channel);
		gate_end_client(section);
		worker_end_wait(open_id);
		if (!error)
			error = read_answer(channel, answer);
	}
	if (error && log_is_due(&daemon_self->helper->logged_ns, LOG_INTERVAL_NS))
		log_warn("%s of user %u fails: %s, as its client delays the helper process",
			 message->op == HELPER_TAKE ? "taking a file" : "a look at a mapping",
			 message->uid, strerror(-error));
	return error;
}

void helper_late_answer(struct channel *channel)
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

int fds_find_mapping(const struct host_proc *proc, u32 index, struct fds_mapping *mapping)
{
	struct helper_message message = {
		.op = HELPER_MAPS,
		.uid = proc->charged_uid,
		.pid = proc->pid,
		.inode = proc->nodeid,
		.device = atomic_load(&daemon_self->session->device),
		.index = index,
		.count = proc->bound,
	};
	struct helper_answer answer;

	if (helper_ask(&message, -1, proc->open_id, &answer) || answer.result)
		return -ESRCH;
	*mapping = (struct fds_mapping){ answer.base, answer.size, answer.count, answer.shared };
	return 0;
}

void fds_search_holders(u64 open_id, u64 nodeid, const s32 *owners, u32 nr)
{
	_Alignas(8) char buffer[sizeof(struct helper_message) + HELPER_OWNERS_MAX * sizeof(s32)];
	struct helper_message *message = (struct helper_message *)buffer;

	_Static_assert(FDS_OWNERS_MAX <= HELPER_OWNERS_MAX, "the message has room for all");
	*message = (struct helper_message){
		.op = HELPER_SEARCH, .id = open_id, .inode = nodeid,
		.device = atomic_load(&daemon_self->session->device),
		.nr_close = nr,
	};
	memcpy(message->numbers, owners, nr * sizeof(s32));
	helper_send(message, nr, helper_generation());
}

void helper_arm_tick(void)
{
	static const uint64_t one = 1;

	if (!atomic_load_explicit(&daemon_self->helper->ticking, memory_order_relaxed) &&
	    !atomic_exchange(&daemon_self->helper->ticking, true) &&
	    write(daemon_self->helper->wake_fd, &one, sizeof(one)) < 0)
		log_debug("helper: %s", strerror(errno));
}
