// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's init, and its only process besides the command under test. It executes a file of
 * steps, one per line, words separated by tabs ("insmod", "mount", "symlink" ...), so that the
 * script that starts the machine decides what a boot does.
 *
 * The steps begin in the initial RAM disk, which holds only what is needed to mount the host's file
 * system; "root" moves there and "steps" continues with a file there. The last step, "run",
 * starts the command and forwards its output to two virtio ports, which keeps it apart from kernel
 * messages (the serial console). The command writes to pipes, not to the ports: a port can be
 * opened only once, and opening /dev/stdout would fail.
 *
 * The exit status is sent on a third port as "exit STATUS OUT_BYTES ERR_BYTES"; the host stops the
 * machine once it has received that many bytes. A step that fails is reported as "fail TEXT".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP_WORDS 5
#define PORT_WAIT_MS 10000

/* A stream of the command that is forwarded to a port. */
struct stream {
	int from;
	int to;
	unsigned long bytes;
};

static int control_fd = -1;

static void steps(const char *path);

/* Writes all of it, even to a non-blocking port. */
static void put(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd wait = { .fd = fd, .events = POLLOUT };

			poll(&wait, 1, 100);
			continue;
		}
		if (n <= 0)
			return;
		data += n;
		len -= (size_t)n;
	}
}

static void send_line(const char *fmt, ...)
{
	char line[512];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (len >= (int)sizeof(line))
		len = sizeof(line) - 1;
	put(control_fd >= 0 ? control_fd : 2, line, (size_t)len);
}

static void stop_here(void)
{
	for (;;)
		pause();
}

/* Ports appear some time after their driver is loaded. */
static int open_port(int number)
{
	char path[32];
	int waited_ms;

	snprintf(path, sizeof(path), "/dev/vport0p%d", number);
	for (waited_ms = 0; waited_ms < PORT_WAIT_MS; waited_ms += 5) {
		int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

		if (fd >= 0)
			return fd;
		usleep(5000);
	}
	return -1;
}

static int do_insmod(char **word)
{
	int fd = open(word[1], O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -1;
	err = (int)syscall(SYS_finit_module, fd, word[2] ? word[2] : "", 0);
	close(fd);
	return err;
}

static int do_mount(char **word)
{
	unsigned long flags = 0;
	const char *options = word[4];

	if (options && !strncmp(options, "ro,", 3)) {
		flags = MS_RDONLY;
		options += 3;
	}
	return mount(word[1], word[2], word[3], flags, options);
}

static int do_mkdir(char **word)
{
	char *slash = word[1];

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		mkdir(word[1], 0755);
		*slash = '/';
	}
	return mkdir(word[1], 0755) && errno != EEXIST;
}

static int do_symlink(char **word)
{
	return symlink(word[1], word[2]) && errno != EEXIST;
}

/* Makes a mounted directory the root, as switch_root does. */
static int do_root(char **word)
{
	return chdir(word[1]) || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/");
}

static int do_control(char **word)
{
	(void)word;
	control_fd = open_port(1);
	return control_fd < 0;
}

static int do_steps(char **word)
{
	steps(word[1]);
	return 0;
}

/* A file of NUL-terminated strings as a NULL-terminated vector, which is never freed. */
static char **read_vector(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	size_t count = 0;
	char **vector;
	char *data;
	off_t i;

	if (fd < 0 || fstat(fd, &stat))
		return NULL;
	data = malloc((size_t)stat.st_size + 1);
	if (!data || read(fd, data, (size_t)stat.st_size) != stat.st_size)
		return NULL;
	close(fd);
	for (i = 0; i < stat.st_size; i++)
		count += !data[i];
	vector = calloc(count + 1, sizeof(*vector));
	if (!vector)
		return NULL;
	for (i = 0; i < (off_t)count; i++) {
		vector[i] = data;
		data += strlen(data) + 1;
	}
	return vector;
}

static void become_command(const char *dir, int out, int err)
{
	char path[256];
	char **argv, **env, **cwd;

	snprintf(path, sizeof(path), "%s/argv", dir);
	argv = read_vector(path);
	snprintf(path, sizeof(path), "%s/env", dir);
	env = read_vector(path);
	snprintf(path, sizeof(path), "%s/cwd", dir);
	cwd = read_vector(path);
	setsid();
	close(0);
	open("/dev/null", O_RDWR);
	dup2(out, 1);
	dup2(err, 2);
	if (!argv || !env || !cwd || chdir(cwd[0])) {
		dprintf(2, "vm: cannot enter the command's directory: %s\n", strerror(errno));
		_exit(126);
	}
	environ = env;
	execvpe(argv[0], argv, env);
	dprintf(2, "vm: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Forwards what can be read. Returns false at the end of the stream or if nothing is available. */
static int forward(struct stream *stream)
{
	char data[16384];
	ssize_t n = read(stream->from, data, sizeof(data));

	if (n <= 0)
		return 0;
	put(stream->to, data, (size_t)n);
	stream->bytes += (unsigned long)n;
	return 1;
}

/* Forwards both streams and reaps orphans until the command exits. Returns its shell status. */
static int forward_until_exit(pid_t command, struct stream *streams)
{
	struct pollfd wait[2] = {
		{ .fd = streams[0].from, .events = POLLIN },
		{ .fd = streams[1].from, .events = POLLIN },
	};
	sigset_t none;
	int status = 0;

	sigemptyset(&none);
	for (;;) {
		pid_t pid;

		ppoll(wait, 2, NULL, &none);
		if (wait[0].revents & POLLIN)
			forward(&streams[0]);
		if (wait[1].revents & POLLIN)
			forward(&streams[1]);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == command)
				return WIFEXITED(status) ? WEXITSTATUS(status) :
							   128 + WTERMSIG(status);
	}
}

static void child_ended(int sig)
{
	(void)sig; /* only interrupts ppoll() */
}

static int do_run(char **word)
{
	struct sigaction action = { .sa_handler = child_ended };
	struct stream streams[2] = { { .to = open_port(2) }, { .to = open_port(3) } };
	int out[2], err[2], status;
	sigset_t child;
	pid_t command;

	if (streams[0].to < 0 || streams[1].to < 0)
		return -1;
	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return -1;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigaction(SIGCHLD, &action, NULL);
	command = fork();
	if (!command)
		become_command(word[1], out[1], err[1]);
	/* Blocked except in ppoll(), so that no SIGCHLD is missed. */
	sigprocmask(SIG_BLOCK, &child, NULL);
	kill(getpid(), SIGCHLD);
	streams[0].from = out[0];
	streams[1].from = err[0];
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	status = forward_until_exit(command, streams);
	while (forward(&streams[0]) | forward(&streams[1]))
		;
	send_line("exit %d %lu %lu\n", status, streams[0].bytes, streams[1].bytes);
	stop_here();
	return 0;
}

static const struct {
	const char *name;
	int (*run)(char **word);
} verbs[] = {
	{ "control", do_control }, /* open the control port */
	{ "insmod", do_insmod }, /* FILE [PARAMETERS] */
	{ "mkdir", do_mkdir }, /* DIRECTORY, with its parents */
	{ "mount", do_mount }, /* SOURCE DIRECTORY TYPE [OPTIONS]; "ro," comes first */
	{ "root", do_root }, /* DIRECTORY */
	{ "run", do_run }, /* DIRECTORY with files argv, env and cwd */
	{ "steps", do_steps }, /* FILE */
	{ "symlink", do_symlink }, /* TARGET LINK */
};

static void step(char *line)
{
	char *word[STEP_WORDS + 1] = { NULL };
	char *rest = line;
	size_t i;

	for (i = 0; i < STEP_WORDS && rest; i++)
		word[i] = strsep(&rest, "\t");
	for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(verbs[i].name, word[0]))
			continue;
		errno = 0;
		if (!verbs[i].run(word))
			return;
		send_line("fail %s %s %s: %s\n", word[0], word[1] ? word[1] : "",
			  word[2] ? word[2] : "", strerror(errno));
		stop_here();
	}
	send_line("fail unknown step %s\n", word[0]);
	stop_here();
}

static void steps(const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	if (!file) {
		send_line("fail steps %s: %s\n", path, strerror(errno));
		stop_here();
	}
	while ((len = getline(&line, &size, file)) > 0) {
		line[len - 1] = '\0';
		if (line[0] && line[0] != '#')
			step(line);
	}
	fclose(file);
	free(line);
}

int main(void)
{
	steps("/steps");
	send_line("fail the steps ended without a run\n");
	stop_here();
	return 0;
}
