// SPDX-License-Identifier: GPL-2.0
/*
 * The daemon's side of the helper process: start, channels, events.
 *
 * A channel is used by one thread at a time. One whose answer did not come in time belongs to the
 * events thread until the answer comes: then it is free again. The lock is held for sending, so
 * that the control socket cannot be replaced meanwhile; a send waits only if the helper's main
 * thread does not run, for which that helper is killed. Its descriptors may outlive it, so its end
 * is noticed by its life (exit_watch.h), which shuts down the control socket.
 */
#include "helper/helper.h"

#include "base/clock.h"
#include "base/daemon.h"
#include "base/exit_watch.h"
#include "base/locks.h"
#include "base/log.h"
#include "base/thread.h"
#include "clients/users.h"
#include "session/session.h"
#include "workers/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Those in use by workers and those abandoned. */
#define CHANNELS_MAX 256u

#define TICK_MS 250

/* An answer takes a tenth of a millisecond unless a client delays it or the processors are busy. */
#define SOON_MS 3

extern char **environ;

struct channel {
	bool exists;
	bool busy;		/* used by a thread, or abandoned */
	int fd;
	u32 generation;
	u32 op;			/* of the question that was abandoned */
	u32 uid;		/* charged for it */
};

struct helper {
	const struct helper_handlers *handlers;
	pthread_mutex_t lock;		/* guards the next three, and changes of @generation */
	int control;			/* -1: none */
	pid_t pid;
	struct channel channels[CHANNELS_MAX];
	atomic_uint generation;

	/* of the events thread */
	struct worker worker;
	int epoll_fd;
	int wake_fd;
	atomic_bool ticking;
	_Alignas(8) char buffer[sizeof(struct helper_event) + HELPER_NUMBERS_MAX * sizeof(s32)];
};

u32 helper_generation(void)
{
	return atomic_load(&daemon_self->helper->generation);
}

static void set_timeout(int socket, int option)
{
	struct timeval limit = { HELPER_DEADLINE_MS / 1000, HELPER_DEADLINE_MS % 1000 * 1000 };

	setsockopt(socket, SOL_SOCKET, option, &limit, sizeof(limit));
}

static bool is_watched(int fd, void *data)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = data };

	return !epoll_ctl(daemon_self->helper->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* A helper that does not receive is replaced. Lock held. */
static bool send_control(const void *data, size_t size, int attached)
{
	if (daemon_self->helper->control < 0)
		return false;
	if (message_send(daemon_self->helper->control, data, size, attached))
		return true;
	kill(daemon_self->helper->pid, SIGKILL);
	return false;
}

/* Sends @op with one end of a new pair of sockets of @type; the other end, or -1. Lock held. */
static int send_socket(int type, u32 op)
{
	const struct helper_message message = { .op = op };
	int pair[2];
	bool ok;

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair))
		return -1;
	ok = send_control(&message, sizeof(message), pair[1]);
	close(pair[1]);
	if (ok)
		return pair[0];
	close(pair[0]);
	return -1;
}

/* The control socket is shut down when either process ends. Lock held. */
static bool link_lives(void)
{
	int life = send_socket(SOCK_STREAM, HELPER_LIFE);

	return life >= 0 && exit_watch_start(life, daemon_self->helper->control);
}

/*
 * Executing the program again leaves the FUSE connection and all buffers behind: each descriptor of
 * the daemon is closed by exec, and none is a client's. Lock held.
 */
static bool start_process(void)
{
	struct helper *helper = daemon_self->helper;
	char *const args[] = { HELPER_NAME, NULL };
	posix_spawn_file_actions_t actions;
	int pair[2];
	int error;
	bool ok;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pair[1], HELPER_CONTROL);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	error = posix_spawn(&helper->pid, "/proc/self/exe", &actions, NULL, args, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(pair[1]);
	if (error || !is_watched(pair[0], NULL)) {
		close(pair[0]);
		errno = error ? error : errno;
		return false;
	}
	set_timeout(pair[0], SO_SNDTIMEO);
	helper->control = pair[0];
	atomic_fetch_add(&helper->generation, 1);
	ok = link_lives();
	if (!ok)
		kill(helper->pid, SIGKILL);
	return ok;
}

bool helper_send(const struct helper_message *message, u32 nr_numbers, u32 to)
{
	guard_mutex(&daemon_self->helper->lock);
	return to == helper_generation() &&
	       send_control(message, sizeof(*message) + nr_numbers * sizeof(s32), -1);
}

/* ---- channels ---- */

/* Lock held. */
static bool open_channel(struct channel *channel)
{
	int fd = send_socket(SOCK_SEQPACKET, HELPER_CHANNEL);

	if (fd < 0)
		return false;
	set_timeout(fd, SO_RCVTIMEO);
	channel->exists = true;
	channel->fd = fd;
	channel->generation = helper_generation();
	return true;
}

/* The first that is not busy: those in use are the first ones. */
static struct channel *get_channel(void)
{
	struct channel *channel = daemon_self->helper->channels;

	guard_mutex(&daemon_self->helper->lock);
	while (channel < daemon_self->helper->channels + CHANNELS_MAX && channel->busy)
		channel++;
	if (channel == daemon_self->helper->channels + CHANNELS_MAX ||
	    (!channel->exists && !open_channel(channel)))
		channel = NULL;
	else
		channel->busy = true;
	return channel;
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

static void helper_abandon(struct channel *channel, const struct helper_message *message)
{
	channel->op = message->op;
	channel->uid = message->uid;
	user_charges_add_always(channel->uid, USER_STALLED);
	log_info("a client of user %u delays the daemon's helper; its call fails", channel->uid);
	/* an answer that came meanwhile is reported at once */
	if (!is_watched(channel->fd, channel)) {
		user_charges_remove(channel->uid, USER_STALLED);
		put_channel(channel, false);
	}
}

static ssize_t receive_answer(int fd, struct helper_answer *answer)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	ssize_t got;

	if (!poll(&pollfd, 1, SOON_MS))
		daemon_self->helper->handlers->waits_long();
	do {
		got = recv(fd, answer, sizeof(*answer), 0);
	} while (got < 0 && errno == EINTR);
	return got;
}

/* Does the user delay as many operations, or the client of the open as many workers, as it may? */
static bool is_refused(u32 uid, u64 open_id)
{
	return user_charges_is_over(uid, USER_STALLED) ||
	       !daemon_self->helper->handlers->may_delay(open_id);
}

int helper_ask(const struct helper_message *message, int attached, u64 open_id,
	       struct helper_answer *answer)
{
	struct channel *channel;
	ssize_t got = -1;
	int error = -EIO;

	if (is_refused(message->uid, open_id))
		return -EBUSY;
	channel = get_channel();
	if (!channel)
		return -EBUSY;
	open_id = worker_begin_wait(open_id);
	if (message_send(channel->fd, message, sizeof(*message), attached)) {
		got = receive_answer(channel->fd, answer);
		if (got < 0 && errno == EAGAIN)
			error = -ETIMEDOUT;
	}
	worker_end_wait(open_id);
	answer->generation = channel->generation;
	if (error == -ETIMEDOUT)
		helper_abandon(channel, message);
	else
		put_channel(channel, got == sizeof(*answer));
	return got == sizeof(*answer) ? 0 : error;
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
		.device = daemon_self->session->device,
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

/* A helper with a thread that a client keeps in the kernel cannot be waited for. */
static void wait_for_helper(void)
{
	for (int i = 0; i < 20 && !waitpid(daemon_self->helper->pid, NULL, WNOHANG); i++)
		usleep(5000);
}

static void helper_restart(void)
{
	struct helper *helper = daemon_self->helper;
	bool ok;

	log_warn("the helper process was killed: files in transactions under way are lost");
	pthread_mutex_lock(&helper->lock);
	close(helper->control);
	helper->control = -1;
	kill(helper->pid, SIGKILL);
	wait_for_helper();
	ok = start_process();
	close_channels();
	pthread_mutex_unlock(&helper->lock);
	if (!ok) {
		log_error("cannot start the helper process again: %s", strerror(errno));
		kill(getpid(), SIGTERM);
	}
	helper->handlers->lost();
}

static void receive_event(void)
{
	struct helper *helper = daemon_self->helper;
	ssize_t got = recv(helper->control, helper->buffer, sizeof(helper->buffer), MSG_DONTWAIT);

	if (got >= (ssize_t)sizeof(struct helper_event))
		helper->handlers->event((const struct helper_event *)helper->buffer);
	else if (got >= 0 || (errno != EAGAIN && errno != EINTR))
		helper_restart();
}

static void helper_tick(void)
{
	if (daemon_self->helper->handlers->tick())
		return;
	atomic_store(&daemon_self->helper->ticking, false);
	/* check again: helper_arm_tick() may have seen the flag set */
	if (daemon_self->helper->handlers->tick())
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
		int count = epoll_wait(helper->epoll_fd, events, 16,
				       atomic_load(&helper->ticking) ? TICK_MS : -1);

		for (int i = 0; i < count; i++) {
			if (!events[i].data.ptr)
				receive_event();
			else if (events[i].data.ptr != &helper->wake_fd)
				late_answer(events[i].data.ptr);
			else if (read(helper->wake_fd, &ignored, sizeof(ignored)) < 0)
				log_debug("helper: %s", strerror(errno));
		}
		if (atomic_load(&helper->ticking) &&
		    clock_now_ns() - last_tick >= TICK_MS * 1000000ull) {
			last_tick = clock_now_ns();
			helper_tick();
		}
	}
}

bool helper_start(const struct helper_handlers *given)
{
	struct helper *helper = daemon_part(helper);
	bool ok;

	pthread_mutex_init(&helper->lock, NULL);
	helper->control = -1;
	helper->handlers = given;
	helper->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	helper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_lock(&helper->lock);
	ok = helper->epoll_fd >= 0 && helper->wake_fd >= 0 &&
	     is_watched(helper->wake_fd, &helper->wake_fd) && start_process();
	pthread_mutex_unlock(&helper->lock);
	if (!ok)
		log_error("cannot start the helper process (/proc/self/exe): %s", strerror(errno));
	return ok && !thread_start(events_main, NULL);
}
