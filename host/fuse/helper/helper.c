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
#include "base/exit_watch.h"
#include "base/log.h"
#include "base/thread.h"
#include "clients/users.h"
#include "session/session.h"
#include "workers/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
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

static pthread_mutex_t helper_lock = PTHREAD_MUTEX_INITIALIZER;
static int control = -1;
static pid_t helper_pid;
static atomic_uint generation;
static struct channel channels[CHANNELS_MAX];

static const struct helper_handlers *handlers;
static int epoll_fd = -1;
static int wake_fd = -1;
static atomic_bool ticking;

u32 helper_generation(void)
{
	return atomic_load(&generation);
}

static void set_timeout(int socket, int option)
{
	struct timeval limit = { HELPER_DEADLINE_MS / 1000, HELPER_DEADLINE_MS % 1000 * 1000 };

	setsockopt(socket, SOL_SOCKET, option, &limit, sizeof(limit));
}

static bool is_watched(int fd, void *data)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = data };

	return !epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* A helper that does not receive is replaced. Lock held. */
static bool send_control(const void *data, size_t size, int attached)
{
	if (control < 0)
		return false;
	if (helper_msg_send(control, data, size, attached))
		return true;
	kill(helper_pid, SIGKILL);
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

	return life >= 0 && exit_watch_start(life, control);
}

/*
 * Executing the program again leaves the FUSE connection and all buffers behind: each descriptor of
 * the daemon is closed by exec, and none is a client's. Lock held.
 */
static bool start_process(void)
{
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
	error = posix_spawn(&helper_pid, "/proc/self/exe", &actions, NULL, args, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(pair[1]);
	if (error || !is_watched(pair[0], NULL)) {
		close(pair[0]);
		errno = error ? error : errno;
		return false;
	}
	set_timeout(pair[0], SO_SNDTIMEO);
	control = pair[0];
	atomic_fetch_add(&generation, 1);
	ok = link_lives();
	if (!ok)
		kill(helper_pid, SIGKILL);
	return ok;
}

bool helper_send(const struct helper_message *message, u32 nr_numbers, u32 to)
{
	bool ok;

	pthread_mutex_lock(&helper_lock);
	ok = to == helper_generation() &&
	     send_control(message, sizeof(*message) + nr_numbers * sizeof(s32), -1);
	pthread_mutex_unlock(&helper_lock);
	return ok;
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
	struct channel *channel = channels;

	pthread_mutex_lock(&helper_lock);
	while (channel < channels + CHANNELS_MAX && channel->busy)
		channel++;
	if (channel == channels + CHANNELS_MAX || (!channel->exists && !open_channel(channel)))
		channel = NULL;
	else
		channel->busy = true;
	pthread_mutex_unlock(&helper_lock);
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
	pthread_mutex_lock(&helper_lock);
	channel->busy = false;
	if (!usable || channel->generation != helper_generation())
		close_channel(channel);
	pthread_mutex_unlock(&helper_lock);
}

/* The helper has ended: fails the questions that are pending. Lock held. */
static void close_channels(void)
{
	for (unsigned int i = 0; i < CHANNELS_MAX; i++) {
		if (channels[i].exists && channels[i].busy)
			shutdown(channels[i].fd, SHUT_RDWR);
		else if (channels[i].exists)
			close_channel(&channels[i]);
	}
}

static void abandon(struct channel *channel, const struct helper_message *message)
{
	channel->op = message->op;
	channel->uid = message->uid;
	users_charge_always(channel->uid, USER_STALLED);
	log_info("a client of user %u delays the daemon's helper; its call fails", channel->uid);
	/* an answer that came meanwhile is reported at once */
	if (!is_watched(channel->fd, channel)) {
		users_discharge(channel->uid, USER_STALLED);
		put_channel(channel, false);
	}
}

static ssize_t receive_answer(int fd, struct helper_answer *answer)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	ssize_t got;

	if (!poll(&pollfd, 1, SOON_MS))
		handlers->waits_long();
	do {
		got = recv(fd, answer, sizeof(*answer), 0);
	} while (got < 0 && errno == EINTR);
	return got;
}

/* Does the user delay as many operations, or the client of the open as many workers, as it may? */
static bool is_refused(u32 uid, u64 open_id)
{
	return users_is_over(uid, USER_STALLED) ||
	       !handlers->may_delay(open_id);
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
	if (helper_msg_send(channel->fd, message, sizeof(*message), attached)) {
		got = receive_answer(channel->fd, answer);
		if (got < 0 && errno == EAGAIN)
			error = -ETIMEDOUT;
	}
	worker_end_wait(open_id);
	answer->generation = channel->generation;
	if (error == -ETIMEDOUT)
		abandon(channel, message);
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

	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, channel->fd, NULL);
	users_discharge(channel->uid, USER_STALLED);
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

	if (!atomic_load_explicit(&ticking, memory_order_relaxed) &&
	    !atomic_exchange(&ticking, true) && write(wake_fd, &one, sizeof(one)) < 0)
		log_debug("helper: %s", strerror(errno));
}

/* A helper with a thread that a client keeps in the kernel cannot be waited for. */
static void wait_for_helper(void)
{
	static const struct timespec nap = { .tv_nsec = 5000000 };

	for (int i = 0; i < 20 && !waitpid(helper_pid, NULL, WNOHANG); i++)
		nanosleep(&nap, NULL);
}

static void restart(void)
{
	bool ok;

	log_warn("the helper process was killed: files in transactions under way are lost");
	pthread_mutex_lock(&helper_lock);
	close(control);
	control = -1;
	kill(helper_pid, SIGKILL);
	wait_for_helper();
	ok = start_process();
	close_channels();
	pthread_mutex_unlock(&helper_lock);
	if (!ok) {
		log_error("cannot start the helper process again: %s", strerror(errno));
		kill(getpid(), SIGTERM);
	}
	handlers->lost();
}

static void receive_event(void)
{
	static _Alignas(8) char buffer[sizeof(struct helper_event) +
				       HELPER_NUMBERS_MAX * sizeof(s32)];
	ssize_t got = recv(control, buffer, sizeof(buffer), MSG_DONTWAIT);

	if (got >= (ssize_t)sizeof(struct helper_event))
		handlers->event((const struct helper_event *)buffer);
	else if (got >= 0 || (errno != EAGAIN && errno != EINTR))
		restart();
}

static void tick(void)
{
	if (handlers->tick())
		return;
	atomic_store(&ticking, false);
	/* check again: helper_arm_tick() may have seen the flag set */
	if (handlers->tick())
		atomic_store(&ticking, true);
}

static void events_main(void *arg)
{
	static struct worker self;
	uint64_t ignored;
	u64 last_tick = 0;

	worker_set_self(&self);
	for (;;) {
		struct epoll_event events[16];
		int count = epoll_wait(epoll_fd, events, 16, atomic_load(&ticking) ? TICK_MS : -1);

		for (int i = 0; i < count; i++) {
			if (!events[i].data.ptr)
				receive_event();
			else if (events[i].data.ptr != &wake_fd)
				late_answer(events[i].data.ptr);
			else if (read(wake_fd, &ignored, sizeof(ignored)) < 0)
				log_debug("helper: %s", strerror(errno));
		}
		if (atomic_load(&ticking) && clock_now_ns() - last_tick >= TICK_MS * 1000000ull) {
			last_tick = clock_now_ns();
			tick();
		}
	}
}

bool helper_start(const struct helper_handlers *given)
{
	bool ok;

	handlers = given;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_lock(&helper_lock);
	ok = epoll_fd >= 0 && wake_fd >= 0 && is_watched(wake_fd, &wake_fd) && start_process();
	pthread_mutex_unlock(&helper_lock);
	if (!ok)
		log_error("cannot start the helper process (/proc/self/exe): %s", strerror(errno));
	return ok && !thread_start(events_main, NULL);
}
