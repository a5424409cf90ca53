// SPDX-License-Identifier: GPL-2.0
/*
 * Questions about processes: their files and their /proc directories.
 *
 * A process that executes a program whose close-on-exec files do not close holds a lock that
 * pidfd_getfd(2) and /proc/PID/maps take. A question on a channel delays that channel only.
 */

#include "base/clock.h"
#include "base/daemon_state.h"
#include "base/libc.h"
#include "base/locks.h"
#include "base/thread.h"
#include "fds/helper/helper_side.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Opens to search for that can be pending; further ones are dropped. */
#define SEARCHES_MAX 256u
/* For one process, which may have a million descriptors. */
#define PROCESS_NS 200000000ull

static int helper_take(int pidfd, const struct helper_message *message)
{
	int fd;

	if (pidfd < 0)		/* there was no descriptor left to receive it */
		return -EMFILE;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, message->fd, 0);
	if (fd < 0)
		return -errno;
	helper_close_add(fd, message->uid);
	return fd;
}

static bool has_ended(int thread_dir)
{
	char target;

	return readlinkat(thread_dir, "exe", &target, 1) < 0 && errno == ENOENT;
}

/*
 * The /proc directory of a process, or of another thread of it if its first one has ended: that one
 * has no memory and no files any more.
 */
static int open_process(int proc, const char *pid)
{
	int first = openat(proc, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int found = -1;
	int tasks;
	DIR *dir;
	struct dirent *entry;

	if (first < 0 || !has_ended(first))
		return first;
	tasks = openat(first, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(first);
	dir = tasks < 0 ? NULL : fdopendir(tasks);
	while (dir && found < 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		found = openat(tasks, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (found >= 0 && has_ended(found)) {
			close(found);
			found = -1;
		}
	}
	if (dir)
		closedir(dir);
	else if (tasks >= 0)
		close(tasks);
	return found;
}

static FILE *open_maps(pid_t pid)
{
	char path[32];
	FILE *file;
	int dir, fd;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	dir = open_process(AT_FDCWD, path);
	fd = openat(dir, "maps", O_RDONLY | O_CLOEXEC);
	if (dir >= 0)
		close(dir);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file && fd >= 0)
		close(fd);
	return file;
}

/* Is @line ("start-end perms offset dev inode path") a mapping of the inode from its first byte? */
static bool parse_mapping(const char *line, const struct helper_message *message,
			  struct helper_answer *answer)
{
	unsigned long long start;
	unsigned long long end;
	unsigned long long offset;
	unsigned long long inode;
	unsigned int major;
	unsigned int minor;
	char shared;

	if (sscanf(line, "%llx-%llx %*3s%c %llx %x:%x %llu", &start, &end, &shared, &offset,
		   &major, &minor, &inode) != 7)
		return false;
	if (inode != message->inode || makedev(major, minor) != message->device || offset)
		return false;
	answer->base = start;
	answer->size = end - start;
	answer->shared = shared == 's';
	return true;
}

static int find_mapping(const struct helper_message *message, struct helper_answer *answer)
{
	FILE *file = open_maps(message->pid);
	struct helper_answer other;
	char line[512];
	bool done = false;

	if (!file)
		return -ESRCH;
	answer->count = 0;
	while (!done && fgets(line, sizeof(line), file)) {
		bool wanted = answer->count == message->index;

		answer->count += parse_mapping(line, message, wanted ? answer : &other);
		done = answer->count > message->index && !message->count;
		/* skip the rest of a line with a long path */
		while (!strchr(line, '\n') && fgets(line, sizeof(line), file))
			;
	}
	fclose(file);
	return answer->count > message->index ? 0 : -ESRCH;
}

static int answer_question(const struct helper_message *message, int attached,
			   struct helper_answer *answer)
{
	switch (message->op) {
	case HELPER_TAKE:
		return helper_take(attached, message);
	case HELPER_MAPS:
		return find_mapping(message, answer);
	case HELPER_PING:
		return 0;
	}
	return -EINVAL;
}

/*
 * A master that ends, because it has handed over, may not have read the last answer: then sending
 * that failed, or the channel ends with ECONNRESET. If it was about a file, that is closed, since
 * no process knows of it.
 */
static void channel_main(void *arg)
{
	int socket = (int)(intptr_t)arg;
	struct helper_message message, last = { .op = HELPER_PING };
	struct helper_answer answer;
	bool was_read = true;
	int attached;

	while (was_read && message_receive(socket, &message, sizeof(message), &attached) ==
				   sizeof(message)) {
		answer = (struct helper_answer){ 0 };
		answer.result = answer_question(&message, attached, &answer);
		if (attached >= 0)
			close(attached);
		was_read = message_send(socket, &answer, sizeof(answer), -1);
		last = message;
		errno = 0;
	}
	if (last.op == HELPER_TAKE && answer.result >= 0 && (!was_read || errno == ECONNRESET))
		helper_close_start(answer.result, last.uid, 0);
	close(socket);
}

bool helper_channel_start(int socket)
{
	return !thread_start(channel_main, (void *)(intptr_t)socket);
}

/* ---- which processes have a file open ---- */

/*
 * The inode of a descriptor is asked for by statx(2) without synchronisation, for which no file
 * system waits for anything: fdinfo of an epoll waits for a lock that is held while its files are
 * polled, and for a plain stat(2) FUSE would ask the server of the file.
 */
static bool is_inode(int pid_dir, const char *name, u64 nodeid, u64 device)
{
	char path[300];
	struct statx found;

	snprintf(path, sizeof(path), "fd/%s", name);
	return !stat_more(pid_dir, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &found) &&
	       found.stx_ino == nodeid &&
	       makedev(found.stx_dev_major, found.stx_dev_minor) == device;
}

/* A process that takes too long counts as one without the file: it alone is affected. */
static bool process_holds(int proc, const char *pid, u64 nodeid, u64 device)
{
	int pid_dir = open_process(proc, pid);
	int fds = openat(pid_dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fds < 0 ? NULL : fdopendir(fds);
	u64 end = clock_now_ns() + PROCESS_NS;
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)) && clock_now_ns() < end)
		found = entry->d_name[0] != '.' &&
			is_inode(pid_dir, entry->d_name, nodeid, device);
	if (dir)
		closedir(dir);
	else if (fds >= 0)
		close(fds);
	if (pid_dir >= 0)
		close(pid_dir);
	return found;
}

struct search {
	u64 id;
	u64 inode;
	u64 device;
	u32 nr_owners;
	s32 owners[HELPER_OWNERS_MAX];
};

static bool is_owner(const struct search *search, const char *pid)
{
	for (u32 i = 0; i < search->nr_owners; i++)
		if (search->owners[i] == atoi(pid))
			return true;
	return false;
}

/*
 * Has a process the inode open? The helper does not count: it has the files in messages, and a
 * message to an open that nobody has will not be read.
 */
static bool is_held(const struct search *search)
{
	struct dirent *entry;
	bool found = false;
	DIR *dir = opendir("/proc");

	if (!dir)
		return true;
	while (!found && (entry = readdir(dir)))
		found = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			atoi(entry->d_name) != getpid() && !is_owner(search, entry->d_name) &&
			process_holds(dirfd(dir), entry->d_name, search->inode, search->device);
	closedir(dir);
	return found;
}

struct helper_searches {
	pthread_mutex_t lock;
	struct search pending[SEARCHES_MAX];
	unsigned int nr;
	bool running;
};

void helper_searches_init(void)
{
	pthread_mutex_init(&daemon_part(helper_searches)->lock, NULL);
}

static void search_main(void *arg)
{
	struct helper_searches *searches = daemon_self->helper_searches;

	pthread_mutex_lock(&searches->lock);
	while (searches->nr) {
		struct search search = searches->pending[0];
		struct helper_event event = { .kind = HELPER_UNHELD, .id = search.id };

		searches->nr--;
		memmove(searches->pending, searches->pending + 1, searches->nr * sizeof(search));
		pthread_mutex_unlock(&searches->lock);
		if (!is_held(&search))
			helper_send_event(&event);
		pthread_mutex_lock(&searches->lock);
	}
	searches->running = false;
	pthread_mutex_unlock(&searches->lock);
}

void helper_search_start(const struct helper_message *message)
{
	struct helper_searches *searches = daemon_self->helper_searches;
	struct search search = {
		.id = message->id, .inode = message->inode, .device = message->device,
		.nr_owners = message->nr_close < HELPER_OWNERS_MAX ? message->nr_close : 0,
	};

	memcpy(search.owners, message->numbers, search.nr_owners * sizeof(s32));
	guard_mutex(&searches->lock);
	if (searches->nr < SEARCHES_MAX)
		searches->pending[searches->nr++] = search;
	if (!searches->running)
		searches->running = !thread_start(search_main, NULL);
}
