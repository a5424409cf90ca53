// SPDX-License-Identifier: GPL-2.0
/*
 * The FUSE connection.
 *
 * The daemon implements the /dev/fuse protocol itself instead of using libfuse, for three reasons:
 * any thread may reply to a request at any later time (a blocked read is parked); an ioctl must be
 * able to fail and still return data; and a transaction with its reply takes three requests, so
 * each request should cost no more than one read(2) and one write(2).
 */
#include "session/session.h"

#include "base/gate.h"
#include "base/daemon_log.h"
#include "session/persistent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Linux 4.20: the oldest version that was tested. */
#define OLDEST_MINOR 28

/* How long session_close() waits for stores that wait for the reply to a read. */
#define STORES_MS 300

/*
 * Background requests are those that no process waits for: RELEASE of closed files, read-ahead.
 * The kernel's default of 12 at a time delays the release of many processes that exit together.
 */
#define MAX_BACKGROUND 1024

/* The kernel checks at intervals of 15 s and takes no shorter limit. */
#define TIMEOUT_LEAST_S 15u

static unsigned int read_sysctl(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned int value = 0;

	if (file && fscanf(file, "%u", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value;
}

/*
 * The kernel's limit on the age of requests. The administrator's default gives way to the longest
 * time that a file system can ask for, the administrator's maximum does not.
 */
static void negotiate_timeout(uint64_t *wanted, struct abi_init_out *out,
			      struct session_values *values)
{
	unsigned int preset = read_sysctl("/proc/sys/fs/fuse/default_request_timeout");
	unsigned int most = read_sysctl("/proc/sys/fs/fuse/max_request_timeout");

	if (!(*wanted & FUSE_REQUEST_TIMEOUT))
		return;
	if (!preset && !most) {
		*wanted &= ~FUSE_REQUEST_TIMEOUT;
		return;
	}
	out->request_timeout = UINT16_MAX;
	values->timeout_s = most && most < UINT16_MAX ? most : UINT16_MAX;
	if (values->timeout_s < TIMEOUT_LEAST_S)
		values->timeout_s = TIMEOUT_LEAST_S;
}

/* Before Linux 6.9.4, requests that were queued again could be freed twice (CVE-2024-38626). */
static bool resends_are_sound(void)
{
	unsigned int major = 0, minor = 0, patch = 0;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u.%u", &major, &minor, &patch) < 2)
		return false;
	return major > 6 || (major == 6 && (minor > 9 || (minor == 9 && patch >= 4)));
}

static void reply_init(const struct fuse_in_header *head, const struct fuse_init_in *in,
		       bool want_passthrough, struct session_values *values)
{
	uint64_t offered = in->flags;
	uint64_t wanted = FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_PARALLEL_DIROPS |
			  FUSE_MAX_PAGES | FUSE_INIT_EXT | FUSE_DIRECT_IO_ALLOW_MMAP |
			  FUSE_REQUEST_TIMEOUT;
	struct abi_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = in->minor < FUSE_KERNEL_MINOR_VERSION ? in->minor
							       : FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = in->max_readahead,
		.max_background = MAX_BACKGROUND,
		.congestion_threshold = MAX_BACKGROUND * 3 / 4,
		.max_write = SESSION_MAX_WRITE,
		.time_gran = 1,
		.max_pages = 32,
	};

	if (offered & FUSE_INIT_EXT)
		offered |= (uint64_t)in->flags2 << 32;
	if (want_passthrough)
		wanted |= FUSE_PASSTHROUGH;
	wanted &= offered;
	*values = (struct session_values){
		.passthrough = !!(wanted & FUSE_PASSTHROUGH),
		.resends = (offered & FUSE_HAS_RESEND) && resends_are_sound(),
	};
	negotiate_timeout(&wanted, &out, values);
	out.flags = (uint32_t)wanted;
	out.flags2 = (uint32_t)(wanted >> 32);
	if (values->passthrough) {
		out.max_stack_depth = 1;
		if (in->minor > out.minor)
			out.minor = in->minor < 40 ? in->minor : 40;
	}
	session_reply(head->unique, &out, sizeof(out));
}

/* The kernel may offer passthrough and still refuse it to an unprivileged daemon. */
static bool may_pass_through(void)
{
	int file = memfd_create("probe", MFD_CLOEXEC);
	int id = session_backing_open(file);

	if (id >= 0)
		session_backing_close(id);
	close(file);
	return id >= 0;
}

bool session_begin(int fd, bool want_passthrough, struct session_values *values)
{
	_Alignas(8) char buffer[SESSION_BUFFER_SIZE];
	struct request request;
	const struct fuse_init_in *in;

	daemon_part(session)->fd = fd;
	if (!session_read(&request, buffer) || request.head->opcode != FUSE_INIT ||
	    request.body_size < offsetof(struct fuse_init_in, flags) + sizeof(in->flags)) {
		log_error("the first request from the kernel is not FUSE_INIT");
		return false;
	}
	in = request.body;
	if (in->major != FUSE_KERNEL_VERSION || in->minor < OLDEST_MINOR) {
		log_error("the kernel's FUSE protocol %u.%u is not supported: Linux 4.20 or newer "
			  "is needed", in->major, in->minor);
		session_reply_status(request.head->unique, -EPROTO);
		return false;
	}
	reply_init(request.head, in, want_passthrough, values);
	values->passthrough = values->passthrough && may_pass_through();
	return true;
}

int session_clone(int fd)
{
	int clone = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	uint32_t number = (uint32_t)fd;

	if (clone >= 0 && ioctl(clone, FUSE_DEV_IOC_CLONE, &number)) {
		close(clone);
		clone = -1;
	}
	return clone;
}

void session_adopt(int fd, const struct session_values *values)
{
	struct session *session = daemon_part(session);

	session->fd = fd;
	session->passthrough = values->passthrough;
	session->timeout_s = values->timeout_s;
}

bool session_is_over(int fd)
{
	struct pollfd pollfd = { .fd = fd };

	return poll(&pollfd, 1, 0) > 0 && (pollfd.revents & POLLERR);
}

/*
 * A store waits while a read of the same page has no reply, with the connection in use: no exit of
 * the other threads, which could reply, must come before its end. Not closed, but replaced: the
 * number must not become that of another file while threads use it.
 */
void session_close(void)
{
	atomic_store(&daemon_self->session->closing, true);
	for (int ms = 0; ms < STORES_MS && atomic_load(&daemon_self->session->nr_stores); ms++)
		usleep(1000);
	atomic_store(&daemon_self->session->ended, true);
	session_forsake();
}

void session_forsake(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0 || dup2(nothing, daemon_self->session->fd) < 0)
		log_warn("cannot give up the connection: %s", strerror(errno));
}

bool session_read(struct request *request, void *buffer)
{
	struct session *session = daemon_self->session;

	while (!atomic_load_explicit(&session->ended, memory_order_relaxed)) {
		ssize_t got;

		gate_begin_read();
		/* the one that closes it interrupts the read, again and again */
		if (gate_is_closed()) {
			gate_rest();
			continue;
		}
		got = syscall(SYS_read, session->fd, buffer, SESSION_BUFFER_SIZE);
		gate_end_read();

		if (got >= (ssize_t)sizeof(struct fuse_in_header)) {
			request->head = buffer;
			request->body = request->head + 1;
			request->body_size = (uint32_t)got - sizeof(struct fuse_in_header);
			return true;
		}
		if (got < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT) {
			if (errno != ENODEV)
				log_error("reading /dev/fuse: %s", strerror(errno));
			atomic_store(&session->ended, true);
		}
	}
	return false;
}

bool session_has_request(void)
{
	struct pollfd pollfd = { .fd = daemon_self->session->fd, .events = POLLIN };

	return poll(&pollfd, 1, 0) > 0;
}

/*
 * Not writev(3): it is a cancellation point, which costs time, and the address sanitizer reads the
 * data again after the system call, when the requester may have had it freed already. ENOENT: the
 * request no longer exists, its caller was killed.
 */
static void send_with_data(const void *head, size_t head_size, const void *data, size_t size)
{
	struct iovec iov[] = { { (void *)head, head_size }, { (void *)data, size } };

	if (syscall(SYS_writev, daemon_self->session->fd, iov, 2) < 0 && errno != ENOENT)
		log_debug("writing /dev/fuse: %s", strerror(errno));
}

static void send_message(const void *message, size_t size)
{
	if (syscall(SYS_write, daemon_self->session->fd, message, size) < 0 && errno != ENOENT)
		log_debug("writing /dev/fuse: %s", strerror(errno));
}

void session_reply_status(uint64_t unique, int error)
{
	struct fuse_out_header out = { .len = sizeof(out), .error = error, .unique = unique };

	send_message(&out, sizeof(out));
}

void session_reply(uint64_t unique, const void *data, size_t size)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + size), .unique = unique };

	send_with_data(&out, sizeof(out), data, size);
}

void session_reply_result(uint64_t unique, int error, const void *data, size_t size)
{
	if (error)
		session_reply_status(unique, error);
	else
		session_reply(unique, data, size);
}

/*
 * The reply of every call: one contiguous buffer within one page, because the kernel looks up the
 * memory once for each segment and for each page.
 */
void session_reply_ioctl(uint64_t unique, int result, const void *data, size_t size)
{
	struct {
		struct fuse_out_header head;
		struct fuse_ioctl_out ioctl;
		char data[SESSION_IOCTL_MAX];
	} out __attribute__((aligned(512)));
	size_t length = offsetof(typeof(out), data) + size;

	_Static_assert(sizeof(out) <= 512, "the reply lies in one page");
	out.head = (struct fuse_out_header){ .len = (uint32_t)length, .unique = unique };
	out.ioctl = (struct fuse_ioctl_out){ .result = result };
	if (size)
		memcpy(out.data, data, size);
	send_message(&out, length);
}

void session_resend(void)
{
	struct fuse_out_header out = { .len = sizeof(out), .error = ABI_NOTIFY_RESEND };

	send_message(&out, sizeof(out));
}

void session_notify_poll(uint64_t poll_handle)
{
	struct {
		struct fuse_out_header head;
		struct fuse_notify_poll_wakeup_out poll;
	} out = {
		.head = { .len = sizeof(out), .error = FUSE_NOTIFY_POLL },
		.poll = { .kh = poll_handle },
	};

	send_message(&out, sizeof(out));
}

void session_notify_store(uint64_t nodeid, uint64_t offset, const void *data, size_t size)
{
	struct {
		struct fuse_out_header head;
		struct fuse_notify_store_out store;
	} out = {
		.head = { .len = (uint32_t)(sizeof(out) + size), .error = FUSE_NOTIFY_STORE },
		.store = { .nodeid = nodeid, .offset = offset, .size = (uint32_t)size },
	};
	unsigned int section;

	section = gate_begin_client();
	atomic_fetch_add(&daemon_self->session->nr_stores, 1);
	if (!atomic_load(&daemon_self->session->closing))
		send_with_data(&out, sizeof(out), data, size);
	atomic_fetch_sub(&daemon_self->session->nr_stores, 1);
	gate_end_client(section);
}

void session_notify_inval(uint64_t nodeid, uint64_t offset, size_t size)
{
	struct {
		struct fuse_out_header head;
		struct fuse_notify_inval_inode_out inval;
	} out = {
		.head = { .len = sizeof(out), .error = FUSE_NOTIFY_INVAL_INODE },
		.inval = { .ino = nodeid, .off = (int64_t)offset, .len = (int64_t)size },
	};
	unsigned int section = gate_begin_client();

	/* by writev(2), as a store: pool_check() knows that it may wait for a page */
	send_with_data(&out.head, sizeof(out.head), &out.inval, sizeof(out.inval));
	gate_end_client(section);
}

int session_backing_open(int fd)
{
	struct fuse_backing_map map = { .fd = fd };
	int id = ioctl(daemon_self->session->fd, FUSE_DEV_IOC_BACKING_OPEN, &map);

	if (id > 0 && persistent_get())
		persistent_note_backing((uint32_t)id);
	return id;
}

void session_backing_close(int backing_id)
{
	uint32_t id = (uint32_t)backing_id;

	ioctl(daemon_self->session->fd, FUSE_DEV_IOC_BACKING_CLOSE, &id);
}
