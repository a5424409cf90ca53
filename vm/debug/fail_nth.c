// SPDX-License-Identifier: GPL-2.0
/*
 * Makes every allocation, and every copy from or to user memory, of an ordinary exchange fail once.
 *
 * With fault injection a thread can make its N-th failable operation fail
 * (/proc/thread-self/fail-nth), and read afterwards whether it did. For each step of an exchange a
 * client process executes the steps before it, runs the step itself with N, and exits; first with
 * N = 1, then 2 and so on until no fault was injected. The peer is a server without faults, which
 * must still answer at the end.
 *
 * The result of the step is ignored. The run fails if one of the kernel's checkers (KASAN, lockdep,
 * kmemleak) does, or if a final exchange without faults does.
 */
#include <fcntl.h>
#include <linux/android/binder.h>
#include <linux/android/binderfs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/tap.h"

#define MAP_BYTES (256 * 1024)
#define READ_BYTES 1024
#define CLIENT_LIMIT_S 30
#define WAIT_MS 10000
#define MAX_NTH 1000

enum { FAILED = 1, NOT_REACHED = 3 };

/* The state of this process; one exchange per process. */
static struct {
	const char *device;
	int fd;
	void *map;
	uint64_t reply_data;
} my = { .fd = -1, .map = MAP_FAILED };

static void die(const char *what)
{
	perror(what);
	exit(FAILED);
}

/* ---- commands ---- */

static int write_read(void *out, size_t out_size, void *in, size_t in_size, size_t *got)
{
	struct binder_write_read bwr = {
		.write_size = out_size,
		.write_buffer = (uintptr_t)out,
		.read_size = in_size,
		.read_buffer = (uintptr_t)in,
	};
	int err = ioctl(my.fd, BINDER_WRITE_READ, &bwr);

	if (got)
		*got = bwr.read_consumed;
	return err;
}

static size_t put(uint8_t *out, uint32_t cmd, const void *arg)
{
	memcpy(out, &cmd, sizeof(cmd));
	if (arg)
		memcpy(out + sizeof(cmd), arg, _IOC_SIZE(cmd));
	return sizeof(cmd) + _IOC_SIZE(cmd);
}

/* An object of this process, an open file, a buffer and, in that, an array of two files. */
struct parcel {
	struct flat_binder_object object;
	struct binder_fd_object file;
	struct binder_buffer_object bytes;
	struct binder_fd_array_object files;
};

static int send_parcel(uint32_t cmd)
{
	static uint32_t fds[2];
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct parcel parcel = {
		.object = { .hdr.type = BINDER_TYPE_BINDER, .binder = 16, .cookie = 32 },
		.file = { .hdr.type = BINDER_TYPE_FD, .fd = (uint32_t)null },
		.bytes = { .hdr.type = BINDER_TYPE_PTR, .buffer = (uintptr_t)fds,
			   .length = sizeof(fds) },
		.files = { .hdr.type = BINDER_TYPE_FDA, .num_fds = 2, .parent = 2 },
	};
	binder_size_t offsets[] = {
		offsetof(struct parcel, object), offsetof(struct parcel, file),
		offsetof(struct parcel, bytes), offsetof(struct parcel, files),
	};
	struct binder_transaction_data_sg sg = {
		.transaction_data = {
			.flags = TF_ACCEPT_FDS,
			.data_size = sizeof(parcel),
			.offsets_size = sizeof(offsets),
			.data.ptr = { (uintptr_t)&parcel, (uintptr_t)offsets },
		},
		.buffers_size = 64,
	};
	uint8_t out[sizeof(cmd) + sizeof(sg)];
	int err;

	fds[0] = fds[1] = (uint32_t)null;
	err = write_read(out, put(out, cmd, &sg), NULL, 0, NULL);
	close(null);
	return err;
}

/* Acknowledges the references requested by the driver. */
static void take_references(uint32_t cmd, const void *arg)
{
	uint8_t out[32];
	uint32_t done = cmd == BR_INCREFS ? BC_INCREFS_DONE : BC_ACQUIRE_DONE;

	if (cmd == BR_INCREFS || cmd == BR_ACQUIRE)
		write_read(out, put(out, done, arg), NULL, 0, NULL);
}

/* Parses the returns; true if there was a call or a reply, whose buffer is my.reply_data. */
static bool take_returns(const uint8_t *in, size_t size)
{
	bool found = false;
	size_t at = 0;

	while (at < size) {
		struct binder_transaction_data txn;
		uint32_t cmd;

		memcpy(&cmd, in + at, sizeof(cmd));
		take_references(cmd, in + at + sizeof(cmd));
		if (cmd == BR_TRANSACTION || cmd == BR_REPLY) {
			memcpy(&txn, in + at + sizeof(cmd), sizeof(txn));
			my.reply_data = txn.data.ptr.buffer;
			found = true;
		}
		at += sizeof(cmd) + _IOC_SIZE(cmd);
	}
	return found;
}

static void wait_readable(void)
{
	struct pollfd wait = { .fd = my.fd, .events = POLLIN };

	poll(&wait, 1, WAIT_MS);
}

/* ---- the steps of an exchange ---- */

static int step_open(void)
{
	my.fd = open(my.device, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return my.fd < 0 ? -1 : 0;
}

static int step_map(void)
{
	my.map = mmap(NULL, MAP_BYTES, PROT_READ, MAP_PRIVATE, my.fd, 0);
	return my.map == MAP_FAILED ? -1 : 0;
}

static int step_loop(void)
{
	uint8_t out[4];

	return write_read(out, put(out, BC_ENTER_LOOPER, NULL), NULL, 0, NULL);
}

static int step_send(void)
{
	return send_parcel(BC_TRANSACTION_SG);
}

/* BR_TRANSACTION_COMPLETE of a call arrives with the reply or before it. */
static int step_receive(void)
{
	uint8_t in[READ_BYTES];
	size_t got = 0;

	for (int i = 0; i < 2; i++) {
		wait_readable();
		if (write_read(NULL, 0, in, sizeof(in), &got))
			return -1;
		if (take_returns(in, got))
			return 0;
	}
	return -1;
}

static int step_references(void)
{
	struct binder_handle_cookie death = { .handle = 0, .cookie = 64 };
	uint32_t handle = 0;
	uint8_t out[64];
	size_t size = put(out, BC_ACQUIRE, &handle);

	size += put(out + size, BC_REQUEST_DEATH_NOTIFICATION, &death);
	return write_read(out, size, NULL, 0, NULL);
}

static int step_free(void)
{
	uint8_t out[16];

	return write_read(out, put(out, BC_FREE_BUFFER, &my.reply_data), NULL, 0, NULL);
}

static int step_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	return epoll < 0 ? -1 : epoll_ctl(epoll, EPOLL_CTL_ADD, my.fd, &event);
}

static int step_mount(void)
{
	return mount("binder", "/tmp", "binder", 0, "stats=global");
}

static int step_add(void)
{
	struct binderfs_device device = { .name = "another" };
	int control = open("/tmp/binder-control", O_RDONLY | O_CLOEXEC);

	return control < 0 ? -1 : ioctl(control, BINDER_CTL_ADD, &device);
}

static int step_report(void)
{
	char text[512];
	int fd = open("/tmp/binder_logs/state", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, text, sizeof(text))) > 0)
		;
	return n < 0 ? -1 : 0;
}

static int step_close(void)
{
	munmap(my.map, MAP_BYTES);
	return close(my.fd);
}

static const struct {
	const char *name;
	int (*run)(void);
} steps[] = {
	{ "open", step_open },
	{ "map", step_map },
	{ "loop", step_loop },
	{ "send", step_send },
	{ "receive", step_receive },
	{ "references", step_references },
	{ "free", step_free },
	{ "epoll", step_epoll },
	{ "mount", step_mount },
	{ "add", step_add },
	{ "report", step_report },
	{ "close", step_close },
};

#define NR_STEPS (sizeof(steps) / sizeof(steps[0]))

/* ---- one client, one fault ---- */

/* Sets or reads the thread's fail-nth. */
static int fail_nth(int fd, int nth)
{
	char text[16] = "";

	if (nth >= 0) {
		int len = snprintf(text, sizeof(text), "%d", nth);

		return pwrite(fd, text, (size_t)len, 0) == len ? 0 : -1;
	}
	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : -1;
}

/* Runs in a child process. @nth 0: no fault. */
static void client(size_t last, int nth)
{
	int control = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	int left;

	alarm(CLIENT_LIMIT_S);
	if (control < 0 || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die("fail_nth: preparing a client");
	for (size_t i = 0; i < last + (nth ? 0 : 1); i++) {
		if (steps[i].run())
			die(steps[i].name);
	}
	if (!nth)
		exit(0);
	if (steps[last].run == step_receive)
		wait_readable();
	fail_nth(control, nth);
	steps[last].run();
	left = fail_nth(control, -1);
	fail_nth(control, 0);
	exit(left ? NOT_REACHED : 0);
}

/* The exit status of such a client; FAILED if it was killed. */
static int run_client(size_t last, int nth)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die("fork");
	if (!pid)
		client(last, nth);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

/* ---- the server ---- */

static void serve(int ready)
{
	uint8_t in[READ_BYTES], out[4];
	struct flat_binder_object manager = { .flags = FLAT_BINDER_FLAG_ACCEPTS_FDS };
	size_t got;

	if (step_open() || step_map() || ioctl(my.fd, BINDER_SET_CONTEXT_MGR_EXT, &manager))
		die("fail_nth: server");
	write_read(out, put(out, BC_ENTER_LOOPER, NULL), NULL, 0, NULL);
	close(ready);
	for (;;) {
		wait_readable();
		if (!write_read(NULL, 0, in, sizeof(in), &got) && take_returns(in, got)) {
			step_free();
			if (send_parcel(BC_REPLY_SG))
				perror("fail_nth: reply");
		}
	}
}

static pid_t start_server(void)
{
	int pipe_fds[2];
	char byte;
	pid_t pid;

	if (pipe(pipe_fds))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		close(pipe_fds[0]);
		serve(pipe_fds[1]);
	}
	close(pipe_fds[1]);
	if (read(pipe_fds[0], &byte, 1) < 0)
		die("read");
	close(pipe_fds[0]);
	return pid;
}

/* ---- main ---- */

/* All operations may fail, without a stack trace in the log, which vm/run takes for a fault. */
static void set_up_injection(void)
{
	static const struct { const char *file, *value; } settings[] = {
		{ "failslab/verbose", "0" },	    { "failslab/ignore-gfp-wait", "0" },
		{ "fail_page_alloc/verbose", "0" }, { "fail_page_alloc/ignore-gfp-wait", "0" },
		{ "fail_page_alloc/ignore-gfp-highmem", "0" },
		{ "fail_page_alloc/min-order", "0" }, { "fail_usercopy/verbose", "0" },
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		char path[128];
		int fd;

		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", settings[i].file);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, settings[i].value, 1) != 1)
			die(path);
		close(fd);
	}
}

/* The number of faults injected into one step; -1 if the run failed otherwise. */
static int try_step(size_t step)
{
	for (int nth = 1; nth < MAX_NTH; nth++) {
		int status = run_client(step, nth);

		if (status == NOT_REACHED)
			return nth - 1;
		if (status) {
			printf("not ok fail_nth: %s, fault %d\n", steps[step].name, nth);
			return -1;
		}
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct tap tap = { 0 };
	int total = 0;
	pid_t server;

	if (argc != 2) {
		fputs("usage: vm-fail-nth DEVICE\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	my.device = argv[1];
	set_up_injection();
	server = start_server();
	for (size_t i = 0; i < NR_STEPS; i++) {
		int faults = try_step(i);
		bool fine = faults >= 0 && !run_client(NR_STEPS - 1, 0);

		printf("# %d faults\n", faults);
		tap_case(&tap, fine, steps[i].name);
		total += fine ? faults : 0;
	}
	/* A single step may have no failable operation, but not all of them. */
	tap_case(&tap, total > 0, "faults were injected");
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return tap_end(&tap);
}
