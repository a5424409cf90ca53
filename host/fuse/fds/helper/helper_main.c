// SPDX-License-Identifier: GPL-2.0
/*
 * The helper process: its main thread.
 *
 * It receives the messages of the daemon, its master, and never does anything that a client could
 * delay: that is left to threads, which may stay behind for as long as the client likes. When the
 * control socket is shut down, the daemon has ended: files are closed and receivers left in order
 * as far as that is possible in a short time, and the process exits. What a client still delays
 * then is a thread that the kernel ends as soon as the client does.
 */
#include "base/daemon_state.h"
#include "base/exit_watch.h"
#include "base/libc.h"
#include "fds/helper/helper_side.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long files are closed and jobs finished after the daemon's end. */
#define END_MS 1500

struct helper_side {
	atomic_uint nr_masters;	/* the daemon; for a moment also the one that takes over */
};

void helper_send_event(const struct helper_event *event)
{
	/* fails when the daemon has ended, which the main thread notices */
	message_send(HELPER_CONTROL, event, sizeof(*event) + event->nr * sizeof(s32), -1);
}

/* The version that both this process and its master use; 0: there is none. */
static u8 helper_common_version(u32 master)
{
	u32 version = master < HELPER_VERSION ? master : HELPER_VERSION;

	return (u8)(version < HELPER_OLDEST ? 0 : version);
}

/* The answer says as well that the end of another master does not end the helper any more. */
static void helper_add_master(int life, u32 master)
{
	atomic_uint *nr = &daemon_self->helper_side->nr_masters;
	u8 version = helper_common_version(master);

	if (version)
		atomic_fetch_add(nr, 1);
	send(life, &version, 1, MSG_NOSIGNAL);
	if (!version)
		close(life);
	else if (!exit_watch_start(life, HELPER_CONTROL, nr))
		_exit(1);
}

static void helper_handle(const struct helper_message *message, int attached)
{
	switch (message->op) {
	case HELPER_LIFE:
		helper_add_master(attached, message->version);
		break;
	case HELPER_CHANNEL:
		if (attached >= 0 && !helper_channel_start(attached))
			close(attached);
		break;
	case HELPER_CLOSE:
		helper_close_start(message->fd, message->uid, message->id);
		break;
	case HELPER_INJECT:
		helper_inject_start(message);
		break;
	case HELPER_SEARCH:
		helper_search_start(message);
		break;
	}
}

static void helper_end(void)
{
	for (int i = 0; i < END_MS / 5 && !helper_inject_is_idle(); i++)
		usleep(5000);
	helper_close_all();
	for (int i = 0; i < END_MS / 5 && !helper_close_is_idle(); i++)
		usleep(5000);
}

void helper_main(void)
{
	size_t size = sizeof(struct helper_message) + HELPER_NUMBERS_MAX * sizeof(s32);
	char *buffer;
	sigset_t set;
	int attached;

	prctl(PR_SET_NAME, HELPER_NAME);
	/* one that is stopped as the daemon ends has to end, too */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	/* in all threads: see inject_start() */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	/* what the daemon inherited, and a directory, must not be kept by a helper that is stuck */
	close_from(HELPER_CONTROL + 1);
	if (chdir("/") || fcntl(HELPER_CONTROL, F_SETFD, FD_CLOEXEC))
		_exit(1);
	daemon_self = daemon_alloc(sizeof(*daemon_self));
	daemon_part(helper_side);
	helper_closer_init();
	helper_injectors_init();
	helper_searches_init();
	buffer = daemon_alloc(size);
	while (message_receive(HELPER_CONTROL, buffer, size, &attached) >=
	       (ssize_t)sizeof(struct helper_message))
		helper_handle((const struct helper_message *)buffer, attached);
	helper_end();
	_exit(0);
}
