// SPDX-License-Identifier: GPL-2.0
/* The end of another process, noticed at once. */
#include "base/exit_watch.h"

#include "base/gate.h"
#include "base/libc.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <unistd.h>

struct start {
	int fd;
	int watched;
	atomic_uint *nr;
	bool ok;
	sem_t begun;
};

/* Leaves this thread with @fd as 0 and @watched as 1, and nothing else. */
static bool take_descriptors(int fd, int watched)
{
	if (unshare(CLONE_FILES))
		return false;
	/* out of the way of the numbers that are needed */
	fd = fcntl(fd, F_DUPFD, 2);
	if (watched >= 0) {
		watched = fcntl(watched, F_DUPFD, 2);
		if (watched < 0 || dup2(watched, 1) < 0)
			return false;
	} else {
		close(1);
	}
	if (fd < 0 || dup2(fd, 0) < 0)
		return false;
	close_from(2);
	return true;
}

static void exit_watch_main(void *arg)
{
	struct start *start = arg;
	bool ok = take_descriptors(start->fd, start->watched);
	atomic_uint *nr = start->nr;
	char byte;

	start->ok = ok;
	gate_away();
	sem_post(&start->begun);
	while (ok && recv(0, &byte, 1, 0) < 0 && errno == EINTR)
		;
	if (ok && (!nr || atomic_fetch_sub(nr, 1) == 1))
		shutdown(1, SHUT_RDWR);
}

bool exit_watch_start(int fd, int watched, atomic_uint *nr)
{
	struct start start = { .fd = fd, .watched = watched, .nr = nr };
	bool ok;

	sem_init(&start.begun, 0, 0);
	ok = !thread_start(exit_watch_main, &start);
	while (ok && sem_wait(&start.begun))
		;
	sem_destroy(&start.begun);
	close(fd);
	return ok && start.ok;
}
