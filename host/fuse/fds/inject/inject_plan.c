// SPDX-License-Identifier: GPL-2.0
/*
 * The files are sent over a socket, since the receiver may have no permission to access the
 * daemon's descriptors.
 *
 * The receiver creates a datagram socket; the helper duplicates it (pidfd_getfd), binds it to an
 * address, connects it to itself, and sends it a message with the files. A socket that is
 * connected to itself receives from no other socket; a message that arrived before is discarded
 * first. The receiver's recvmsg then installs the files.
 *
 * The socket gets the lowest free number, which is to be that of the first file. So it is moved
 * above the numbers that the files will get:
 *
 *     socket = N | fcntl(N, F_DUPFD) = M | close(N) | recvmsg(M): the files | close(M)
 *
 * A file may be of a file system that never answers its close(2), which then keeps the thread. None
 * is closed in the receiver, unless the job fails after the files were received: there is room for
 * them when M is there, so other threads of the receiver would have to take it meanwhile.
 *
 * The message header lies in memory of the receiver, below its stack; the original contents are
 * restored at once. Another thread of the receiver could change anything that is read back, so it
 * is only used as descriptor numbers of that process.
 */
#include "fds/inject/inject_plan.h"

#include "base/libc.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

/* Messages to discard at most: more than the usual length of a queue (max_dgram_qlen). */
#define MAX_STRAYS 1024

/* Numbers in use, among those of the files, that are passed over at most to choose M. */
#define MAX_PASSED 1024

/* Scratch memory for the receiver's recvmsg. */
struct scratch_wide {
	struct msghdr header;
	struct {
		size_t len;
		int level, type;
	} control;	/* a struct cmsghdr */
	int fds[INJECT_BATCH + 1];
};

/* Scratch memory in a 32-bit program. */
struct scratch_narrow {
	struct {
		uint32_t name, namelen, iov, iovlen, control, controllen, flags;
	} header;
	struct {
		uint32_t len;
		int level, type;
	} control;
	int fds[INJECT_BATCH];
};

union scratch {
	struct scratch_wide wide;
	struct scratch_narrow narrow;
};

/* Size of the control data of a message of @nr files. */
static size_t control_size(const struct inject_plan *plan, int nr)
{
	size_t size = (size_t)nr * sizeof(int);

	return plan->narrow ? sizeof(((struct scratch_narrow *)NULL)->control) + size :
			      CMSG_SPACE(size);
}

static size_t scratch_size(const struct inject_plan *plan, int nr)
{
	return control_size(plan, nr) + (plan->narrow ? offsetof(struct scratch_narrow, control) :
							offsetof(struct scratch_wide, control));
}

/* The number of files in the message, *@fds their descriptors; 0 if it is malformed. */
static size_t files_in(const struct inject_plan *plan, const union scratch *image, const int **fds)
{
	const struct scratch_narrow *narrow = &image->narrow;
	const struct scratch_wide *wide = &image->wide;
	size_t all = wide->header.msg_controllen, len = wide->control.len;
	size_t head = CMSG_LEN(0);
	int level = wide->control.level, type = wide->control.type;

	*fds = wide->fds;
	if (plan->narrow) {
		all = narrow->header.controllen;
		len = narrow->control.len;
		head = sizeof(narrow->control);
		level = narrow->control.level;
		type = narrow->control.type;
		*fds = narrow->fds;
	}
	if (all < head + sizeof(int) || len < head || level != SOL_SOCKET || type != SCM_RIGHTS)
		return 0;
	return (len - head) / sizeof(int);
}

static int copy_in(const struct inject_plan *plan, void *data, uint64_t address, size_t size)
{
	struct iovec local = { data, size };
	struct iovec remote = { (void *)(uintptr_t)address, size };
	ssize_t got = process_vm_readv(plan->tid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EFAULT;
}

static int copy_out(const struct inject_plan *plan, const void *data, uint64_t address, size_t size)
{
	struct iovec local = { (void *)(uintptr_t)data, size };
	struct iovec remote = { (void *)(uintptr_t)address, size };
	ssize_t got = process_vm_writev(plan->tid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EFAULT;
}

/* Saves memory of the receiver and writes the header for a message of @nr files there. */
static int borrow_scratch(struct inject_plan *plan, int nr)
{
	union scratch image = { 0 };
	size_t size = scratch_size(plan, nr);
	int error;

	plan->scratch = (plan->stack_limit - size) & ~15ull;
	error = copy_in(plan, plan->saved, plan->scratch, size);
	if (error)
		return error;
	if (plan->narrow) {
		image.narrow.header.control = (uint32_t)
			(plan->scratch + offsetof(struct scratch_narrow, control));
		image.narrow.header.controllen = (uint32_t)control_size(plan, nr);
	} else {
		image.wide.header.msg_control = (void *)(uintptr_t)
			(plan->scratch + offsetof(struct scratch_wide, control));
		image.wide.header.msg_controllen = control_size(plan, nr);
	}
	plan->scratch_size = size;
	return copy_out(plan, &image, plan->scratch, size);
}

static void return_scratch(struct inject_plan *plan)
{
	if (plan->scratch_size)
		copy_out(plan, plan->saved, plan->scratch, plan->scratch_size);
	plan->scratch_size = 0;
}

/*
 * Is @fd a socket of the requested type? Another thread of the receiver may have replaced it, and
 * connecting a socket of another type could block.
 */
static bool is_our_kind(int fd)
{
	int domain = -1, type = -1;
	socklen_t len = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0)
		return false;
	len = sizeof(int);
	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       domain == AF_UNIX && type == SOCK_DGRAM;
}

/*
 * Discards messages sent to the socket before it was connected. Only the receiver itself can send
 * now; if it does not stop, its job fails.
 */
static int plan_drain(int fd)
{
	char byte;

	for (int i = 0; i < MAX_STRAYS; i++) {
		if (recv(fd, &byte, 1, MSG_DONTWAIT) < 0)
			return errno == EAGAIN ? 0 : -errno;
	}
	return -EBUSY;
}

/* Duplicates the receiver's socket and connects it to itself. */
static int take_socket(struct inject_plan *plan)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(address);
	int fd;

	fd = (int)syscall(SYS_pidfd_getfd, plan->pidfd, plan->socket, 0);
	if (fd < 0)
		return -errno;
	plan->socket_copy = fd;
	if (!is_our_kind(fd))
		return -ENOTSOCK;
	/* an address of the family alone requests an unused abstract name */
	if (bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&address, len) < 0)
		return -errno;
	return plan_drain(fd);
}

static int send_batch(struct inject_plan *plan)
{
	unsigned char control[CMSG_SPACE(INJECT_BATCH * sizeof(int))] = { 0 };
	struct msghdr header = { .msg_control = control };
	struct cmsghdr *cmsg;
	int nr = plan->nr_install - plan->nr_fds;
	int *out;

	if (nr > INJECT_BATCH)
		nr = INJECT_BATCH;
	header.msg_controllen = CMSG_SPACE((size_t)nr * sizeof(int));
	cmsg = CMSG_FIRSTHDR(&header);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN((size_t)nr * sizeof(int));
	out = (int *)(void *)CMSG_DATA(cmsg);
	for (int i = 0; i < nr; i++)
		out[i] = plan->files[plan->nr_fds + i];
	plan->batch = nr;
	return sendmsg(plan->socket_copy, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Reads the numbers that recvmsg returned; fewer than sent: the descriptor table is full. */
static int collect_batch(struct inject_plan *plan)
{
	union scratch image;
	const int *fds;
	size_t got;
	int error;

	error = copy_in(plan, &image, plan->scratch, scratch_size(plan, plan->batch));
	if (error)
		return error;
	got = files_in(plan, &image, &fds);
	if (got > (size_t)plan->batch)
		got = (size_t)plan->batch;
	memcpy(plan->fds + plan->nr_fds, fds, got * sizeof(int));
	plan->nr_fds += (int)got;
	return got == (size_t)plan->batch ? 0 : -EMFILE;
}

static bool call_close(struct inject_call *call, int fd)
{
	*call = (struct inject_call){ SYS_close, { (unsigned int)fd } };
	return true;
}

static bool next_close_asked(struct inject_plan *plan, struct inject_call *call)
{
	return plan->nr_closed < plan->nr_close &&
	       call_close(call, plan->closes[plan->nr_closed++]);
}

static bool next_socket(struct inject_plan *plan, struct inject_call *call)
{
	if (!plan->nr_install || plan->socket >= 0)
		return false;
	plan->pidfd = open_pidfd(plan->tgid, plan->tid);
	if (plan->pidfd < 0) {
		plan->error = plan->pidfd;
		return false;
	}
	*call = (struct inject_call){ SYS_socket, { AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0 } };
	return true;
}

static int socket_returned(struct inject_plan *plan, long ret)
{
	if (ret < 0)
		return (int)ret;
	plan->socket = (int)ret;
	return take_socket(plan);
}

/*
 * The lowest number above those that the files will get: the lowest free ones, from the socket's
 * on, which is about to be free. A wrong one leaves a hole among the files, nothing else.
 */
static int choose_number(const struct inject_plan *plan)
{
	int number = plan->socket + 1;
	int last = plan->socket + plan->nr_install + MAX_PASSED;
	struct stat ignored;
	char path[48];

	for (int nr = 1; nr < plan->nr_install && number < last; number++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", plan->tid, number);
		nr += lstat(path, &ignored) < 0;
	}
	return number;
}

static bool next_move(struct inject_plan *plan, struct inject_call *call)
{
	if (plan->socket < 0)
		return false;
	*call = (struct inject_call){ SYS_fcntl, {
		(unsigned int)plan->socket, F_DUPFD_CLOEXEC, (unsigned int)choose_number(plan),
	} };
	return true;
}

/* EINVAL: the number is above the receiver's limit. */
static int move_returned(struct inject_plan *plan, long ret)
{
	if (ret < 0)
		return ret == -EINVAL ? -EMFILE : (int)ret;
	plan->old_socket = plan->socket;
	plan->socket = (int)ret;
	return 0;
}

static bool close_number(int *number, struct inject_call *call)
{
	int fd = *number;

	*number = -1;
	return fd >= 0 && call_close(call, fd);
}

static bool next_close_old(struct inject_plan *plan, struct inject_call *call)
{
	return close_number(&plan->old_socket, call);
}

static bool next_receive(struct inject_plan *plan, struct inject_call *call)
{
	if (plan->nr_fds == plan->nr_install)
		return false;
	plan->error = send_batch(plan);
	if (!plan->error)
		plan->error = borrow_scratch(plan, plan->batch);
	if (plan->error) {
		return_scratch(plan);
		return false;
	}
	*call = (struct inject_call){ SYS_recvmsg, {
		(unsigned int)plan->socket, plan->scratch, MSG_CMSG_CLOEXEC | MSG_DONTWAIT,
	} };
	return true;
}

static int receive_returned(struct inject_plan *plan, long ret)
{
	int error = ret < 0 ? (int)ret : collect_batch(plan);

	return_scratch(plan);
	return error;
}

static bool next_close_socket(struct inject_plan *plan, struct inject_call *call)
{
	return close_number(&plan->socket, call);
}

static bool next_undo(struct inject_plan *plan, struct inject_call *call)
{
	if (!plan->error)
		return false;
	if (plan->nr_fds)
		return call_close(call, plan->fds[--plan->nr_fds]);
	return close_number(&plan->old_socket, call) || close_number(&plan->socket, call);
}

/* close(2) releases the number even if it fails. */
static int close_returned(struct inject_plan *plan, long ret)
{
	return 0;
}

static const struct {
	bool (*next)(struct inject_plan *plan, struct inject_call *call);
	int (*returned)(struct inject_plan *plan, long ret);
	bool once;
} steps[] = {
	[INJECT_CLOSE_ASKED] = { next_close_asked, close_returned, false },
	[INJECT_SOCKET] = { next_socket, socket_returned, true },
	[INJECT_MOVE] = { next_move, move_returned, true },
	[INJECT_CLOSE_OLD] = { next_close_old, close_returned, true },
	[INJECT_RECEIVE] = { next_receive, receive_returned, false },
	[INJECT_CLOSE_SOCKET] = { next_close_socket, close_returned, true },
	[INJECT_UNDO] = { next_undo, close_returned, false },
};

int inject_plan_begin(struct inject_plan *plan)
{
	plan->step = INJECT_CLOSE_ASKED;
	plan->error = 0;
	plan->pidfd = -1;
	plan->socket = -1;
	plan->old_socket = -1;
	plan->socket_copy = -1;
	plan->nr_closed = 0;
	plan->nr_fds = 0;
	plan->scratch_size = 0;
	plan->fds = malloc((size_t)plan->nr_install * sizeof(int) + 1);
	plan->saved = malloc(sizeof(union scratch));
	return plan->fds && plan->saved ? 0 : -ENOMEM;
}

bool inject_plan_next(struct inject_plan *plan, struct inject_call *call)
{
	while (plan->step != INJECT_END) {
		if (steps[plan->step].next(plan, call))
			return true;
		if (plan->error && plan->step < INJECT_UNDO)
			plan->step = INJECT_UNDO;
		else
			plan->step++;
	}
	return false;
}

void inject_plan_returned(struct inject_plan *plan, long ret)
{
	int error = steps[plan->step].returned(plan, ret);

	if (error)
		inject_plan_abort(plan, error);
	else if (steps[plan->step].once)
		plan->step++;
}

void inject_plan_abort(struct inject_plan *plan, int error)
{
	if (!plan->error)
		plan->error = error;
	if (plan->step < INJECT_UNDO)
		plan->step = INJECT_UNDO;
}

int inject_plan_result(const struct inject_plan *plan, int i)
{
	return plan->fds[i];
}

void inject_plan_end(struct inject_plan *plan)
{
	if (plan->socket_copy >= 0)
		close(plan->socket_copy);
	if (plan->pidfd >= 0)
		close(plan->pidfd);
	free(plan->fds);
	free(plan->saved);
	plan->fds = NULL;
	plan->saved = NULL;
	plan->socket_copy = -1;
	plan->pidfd = -1;
}
