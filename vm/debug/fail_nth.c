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
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/binder.h"
#include "tests/lib/tap.h"

#define MAP_BYTES (256 * 1024)
#define CLIENT_LIMIT_S 30
#define WAIT_MS 10000
#define MAX_NTH 1000

enum { FAILED = 1, NOT_REACHED = 3 };

/* The state of this process; one exchange per process. */
static struct {
	const char *device;
	struct port port;
	struct looper looper;
	struct binder_transaction_data received;
} my;

static void die(const char *what)
{
	perror(what);
	exit(FAILED);
}

/* An object of this process, an open file, a buffer and, in that, an array of two files. */
static int send_parcel(bool reply)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	uint32_t fds[2] = { (uint32_t)null, (uint32_t)null };
	const union object objects[] = {
		OBJ_BINDER(16, 32), OBJ_FD(null), OBJ_PTR(fds, sizeof(fds)), OBJ_FDA(2, 2, 0),
	};
	uint8_t data[sizeof(objects)];
	binder_size_t offsets[4];
	struct payload payload = {
		.data = data, .room = sizeof(data), .offsets = offsets, .max = 4,
	};
	struct binder_transaction_data_sg sg = { .buffers_size = 64 };
	int err;

	for (size_t i = 0; i < 4; i++)
		payload_add(&payload, &objects[i]);
	sg.transaction_data = payload_txn(&payload);
	sg.transaction_data.flags = TF_ACCEPT_FDS;
	if (reply)
		commands_put_reply_sg(&my.looper.out, &sg);
	else
		commands_put_call_sg(&my.looper.out, &sg);
	err = looper_flush(&my.looper);
	close(null);
	return err;
}

/* Acknowledges what the driver has returned; true if there was a call or a reply. */
static bool take_returns(void)
{
	struct returned got;
	bool found = false;

	while (returns_next(&my.looper.in, &got)) {
		if (commands_acknowledge(&my.looper.out, &got))
			looper_flush(&my.looper);
		if (returned_is_payload(&got)) {
			my.received = got.txn;
			found = true;
		}
	}
	return found;
}

static void wait_readable(void)
{
	struct pollfd wait = { .fd = my.port.fd, .events = POLLIN };

	poll(&wait, 1, WAIT_MS);
}

/* ---- the steps of an exchange ---- */

static int step_open(void)
{
	looper_init(&my.looper, &my.port);
	return port_open(&my.port, my.device,
			 (struct port_options){ .nonblocking = true, .no_map = true });
}

static int step_map(void)
{
	long at = port_kernel.map(&my.port, MAP_BYTES, PROT_READ, MAP_PRIVATE, 0);

	if (at < 0 && at > -4096)
		return (int)at;
	my.port.map = (uint8_t *)at;
	my.port.map_bytes = MAP_BYTES;
	return 0;
}

static int step_loop(void)
{
	commands_put(&my.looper.out, BC_ENTER_LOOPER, NULL);
	return looper_flush(&my.looper);
}

static int step_send(void)
{
	return send_parcel(false);
}

/* BR_TRANSACTION_COMPLETE of a call arrives with the reply or before it. */
static int step_receive(void)
{
	for (int i = 0; i < 2; i++) {
		int err;

		wait_readable();
		err = looper_read(&my.looper);
		if (err)
			return err;
		if (take_returns())
			return 0;
	}
	return -ENOMSG;
}

static int step_references(void)
{
	commands_put_u32(&my.looper.out, BC_ACQUIRE, 0);
	commands_put_notice(&my.looper.out, BC_REQUEST_DEATH_NOTIFICATION, 0, 64);
	return looper_flush(&my.looper);
}

static int step_free(void)
{
	looper_free(&my.looper, &my.received);
	return looper_flush(&my.looper);
}

static int step_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	return epoll < 0 ? -1 : epoll_ctl(epoll, EPOLL_CTL_ADD, my.port.fd, &event);
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
	return port_close(&my.port);
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
	if (step_open() || step_map() || port_manage(&my.port) || step_loop())
		die("fail_nth: server");
	close(ready);
	for (;;) {
		wait_readable();
		if (looper_read(&my.looper) || !take_returns())
			continue;
		step_free();
		if (send_parcel(true))
			fputs("fail_nth: a reply failed\n", stderr);
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
