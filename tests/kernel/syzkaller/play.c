// SPDX-License-Identifier: GPL-2.0
/*
 * Plays programs that corpus.go wrote, each in a process of its own, some at a time:
 *
 *   play CORPUS DIR [--mount]
 *
 * DIR has the devices of the peer in fuzz/; those in binderfs/ are the program's own: with --mount,
 * each has a new binderfs there. An empty line is between two programs. Their lines, whose numbers
 * are hexadecimal:
 *
 *   # TEXT              nothing
 *   @ADDRESS WORD...    memory: 00ff is two bytes, *8 eight zero bytes, "TEXT" its bytes, @40 the
 *                       address 40 in eight bytes, r2/4:1 result 2 in four (in 14: its digits), or
 *                       1 if there is none
 *   r2 < ADDRESS SIZE   result 2 is what is there when the next call is over
 *   [r1 =] CALL WORD... a system call, with numbers, addresses and results (r2:1)
 *
 * A call that sleeps after CALL_MS goes on beside the ones that follow.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/uapi.h"

#define DATA 0x200000000000
#define DATA_BYTES (16UL << 20)
#define CALL_MS 50
#define PROGRAM_S 60
#define AT_A_TIME 4
#define NR_THREADS 16
#define NR_RESULTS 1024
#define NR_READS 16

static const struct {
	const char *name;
	long nr;
} calls[] = {
	{ "close", SYS_close }, { "dup", SYS_dup }, { "epoll_create1", SYS_epoll_create1 },
	{ "epoll_ctl", SYS_epoll_ctl }, { "epoll_wait", SYS_epoll_wait },
	{ "getdents64", SYS_getdents64 }, { "getpid", SYS_getpid }, { "ioctl", SYS_ioctl },
	{ "madvise", SYS_madvise }, { "mmap", SYS_mmap }, { "mprotect", SYS_mprotect },
	{ "munmap", SYS_munmap }, { "openat", SYS_openat }, { "pipe2", SYS_pipe2 },
	{ "pread64", SYS_pread64 }, { "read", SYS_read }, { "renameat", SYS_renameat },
	{ "unlinkat", SYS_unlinkat },
};

/* Where a result is read from when a call is over. */
struct result_read {
	unsigned int result;
	uint64_t at;
	size_t size;
};

struct call {
	long nr;
	uint64_t args[6];
	int result; /* -1: none */
	struct result_read reads[NR_READS];
	unsigned int nr_reads;
};

struct thread {
	sem_t begin, end;
	bool begun, busy;
	_Atomic pid_t tid;
	struct call call;
};

static struct {
	_Atomic bool there;
	_Atomic uint64_t value;
} results[NR_RESULTS];
static struct thread threads[NR_THREADS];

static void wrong(const char *line)
{
	fprintf(stderr, "play: this is no line of a program: %s\n", line);
	exit(2);
}

/* By system calls: the memory may be gone, or be a buffer of the driver. */
static void access_memory(long nr, uint64_t at, void *bytes, size_t size)
{
	struct iovec here = { bytes, size }, there = { (void *)at, size };

	syscall(nr, getpid(), &here, 1UL, &there, 1UL, 0UL);
}

static void set_result(unsigned int result, uint64_t value)
{
	atomic_store(&results[result].value, value);
	atomic_store(&results[result].there, true);
}

static unsigned int result_number(const char *text, char **end)
{
	unsigned long number = strtoul(text, end, 16);

	if (number >= NR_RESULTS)
		wrong(text);
	return (unsigned int)number;
}

/* r2:1, r2/4:1, behind the r */
static uint64_t result_value(const char *text, size_t *size)
{
	char *end;
	unsigned int result = result_number(text, &end);

	if (*end == '/')
		*size = strtoul(end + 1, &end, 16);
	if (*end != ':')
		wrong(text);
	return atomic_load(&results[result].there) ? atomic_load(&results[result].value) :
						     strtoull(end + 1, NULL, 16);
}

static void *thread_main(void *arg)
{
	struct thread *thread = arg;
	struct call *call = &thread->call;

	atomic_store(&thread->tid, gettid());
	for (;;) {
		long value;

		while (sem_wait(&thread->begin))
			;
		value = syscall(call->nr, call->args[0], call->args[1], call->args[2],
				call->args[3], call->args[4], call->args[5]);
		if (value != -1 && call->result >= 0)
			set_result((unsigned int)call->result, (uint64_t)value);
		for (unsigned int i = 0; value != -1 && i < call->nr_reads; i++) {
			uint64_t word = 0;

			access_memory(SYS_process_vm_readv, call->reads[i].at, &word,
				      call->reads[i].size);
			set_result(call->reads[i].result, word);
		}
		sem_post(&thread->end);
	}
	return NULL;
}

static void begin_thread(struct thread *thread)
{
	pthread_t id;

	sem_init(&thread->begin, 0, 0);
	sem_init(&thread->end, 0, 0);
	if (pthread_create(&id, NULL, thread_main, thread))
		err(1, "pthread_create");
	thread->begun = true;
}

static bool is_asleep(pid_t tid)
{
	char path[64], text[256] = "";
	const char *state;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		err(2, "%s", path);
	close(fd);
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

/* Returns whether the call goes on. On a slow machine, it may take long without sleeping. */
static bool wait_for_call(struct thread *thread)
{
	struct timespec until;
	pid_t tid;

	do {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += CALL_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (!sem_clockwait(&thread->end, CLOCK_MONOTONIC, &until))
			return false;
		tid = atomic_load(&thread->tid);
	} while (!tid || !is_asleep(tid));
	return true;
}

static void do_call(const struct call *call)
{
	unsigned int i;

	for (i = 0; i < NR_THREADS; i++) {
		if (threads[i].busy && !sem_trywait(&threads[i].end))
			threads[i].busy = false;
		if (!threads[i].busy)
			break;
	}
	if (i == NR_THREADS)
		return;
	if (!threads[i].begun)
		begin_thread(&threads[i]);
	threads[i].call = *call;
	threads[i].busy = true;
	sem_post(&threads[i].begin);
	threads[i].busy = wait_for_call(&threads[i]);
}

/* Returns the bytes of a word of a memory line. */
static size_t word_bytes(const char *word, uint8_t *bytes, size_t room)
{
	size_t size = 8;
	uint64_t value;

	if (*word == '"') {
		size = strcspn(word + 1, "\"");
		return memcpy(bytes, word + 1, size), size;
	}
	if (*word == '*') {
		size = strtoul(word + 1, NULL, 16);
		if (size > room)
			wrong(word);
		return memset(bytes, 0, size), size;
	}
	if (*word == '@' || *word == 'r') {
		value = *word == '@' ? DATA + strtoull(word + 1, NULL, 16) :
				       result_value(word + 1, &size);
		if (size == 20)
			return (size_t)sprintf((char *)bytes, "%020lu", value);
		return memcpy(bytes, &value, 8), size;
	}
	for (size = 0; word[2 * size]; size++) {
		unsigned int byte;

		if (sscanf(word + 2 * size, "%2x", &byte) != 1)
			wrong(word);
		bytes[size] = (uint8_t)byte;
	}
	return size;
}

static void write_memory(char *line)
{
	static uint8_t bytes[1 << 16];
	char *rest, *word = strtok_r(line, " ", &rest);
	uint64_t at = DATA + strtoull(word + 1, NULL, 16);
	size_t size = 0;

	while ((word = strtok_r(NULL, " ", &rest))) {
		if (size + strlen(word) + 32 > sizeof(bytes))
			wrong(word);
		size += word_bytes(word, bytes + size, sizeof(bytes) - size - 32);
	}
	access_memory(SYS_process_vm_writev, at, bytes, size);
}

static long call_number(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return calls[i].nr;
	wrong(name);
	return -1;
}

static void play_line(char *line, struct call *call)
{
	char *rest, *word;
	size_t size;

	if (*line == '#')
		return;
	if (*line == '@') {
		write_memory(line);
		return;
	}
	word = strtok_r(line, " ", &rest);
	if (*word == 'r' && *rest == '<') {
		struct result_read *read = &call->reads[call->nr_reads];

		if (call->nr_reads++ == NR_READS ||
		    sscanf(rest, "< %lx %zx", &read->at, &read->size) != 2 || read->size > 8)
			wrong(rest);
		read->result = result_number(word + 1, &word);
		read->at += DATA;
		return;
	}
	if (*rest == '=') {
		call->result = (int)result_number(word + 1, &word);
		strtok_r(NULL, " ", &rest);
		word = strtok_r(NULL, " ", &rest);
	}
	call->nr = call_number(word);
	for (int i = 0; i < 6 && (word = strtok_r(NULL, " ", &rest)); i++)
		call->args[i] = *word == '@' ? DATA + strtoull(word + 1, NULL, 16) :
				*word == 'r' ? result_value(word + 1, &size) :
					       strtoull(word, NULL, 16);
	do_call(call);
	*call = (struct call){ .result = -1 };
}

static void mount_own(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("binder", "binderfs", "binder", 0, NULL))
		err(2, "binderfs");
}

/* Makes the devices again that a program before has removed. */
static void add_devices(void)
{
	struct binderfs_device devices[] = { { "binder" }, { "hwbinder" }, { "vndbinder" } };
	int fd = open("binderfs/binder-control", O_RDONLY);

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (ioctl(fd, BINDER_CTL_ADD, &devices[i]) && errno != EEXIST)
			err(2, "binder-control");
	close(fd);
}

/* In a process of its own. */
static void play_program(char *text, bool mounts)
{
	struct call call = { .result = -1 };
	char *rest;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mounts)
		mount_own();
	else
		add_devices();
	if (mmap((void *)DATA, DATA_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		err(2, "mmap");
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		play_line(line, &call);
	_exit(0);
}

/* Returns whether the program that has ended, or is too slow and killed, has been played. */
static bool end_program(pid_t *pids)
{
	const struct timespec limit = { .tv_sec = PROGRAM_S };
	sigset_t children;
	int status;
	pid_t pid;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	while (!(pid = waitpid(-1, &status, WNOHANG)))
		if (sigtimedwait(&children, NULL, &limit) < 0 && errno == EAGAIN)
			for (int i = 0; i < AT_A_TIME; i++)
				if (pids[i])
					kill(pids[i], SIGKILL);
	for (int i = 0; i < AT_A_TIME; i++)
		if (pids[i] == pid)
			pids[i] = 0;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static char *read_corpus(const char *path)
{
	struct stat stat;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text;

	if (fd < 0 || fstat(fd, &stat))
		err(2, "%s", path);
	text = malloc((size_t)stat.st_size + 1);
	if (!text || read(fd, text, (size_t)stat.st_size) != stat.st_size)
		err(2, "%s", path);
	text[stat.st_size] = '\0';
	close(fd);
	return text;
}

int main(int argc, char **argv)
{
	pid_t pids[AT_A_TIME] = { 0 };
	int running = 0, begun = 0, failed = 0;
	bool mounts = argc > 3 && !strcmp(argv[3], "--mount");
	char *text;
	sigset_t children;

	if (argc < 3)
		errx(2, "usage: play CORPUS DIR [--mount]");
	text = read_corpus(argv[1]);
	if (chdir(argv[2]))
		err(2, "%s", argv[2]);
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	for (char *next; text; text = next) {
		int slot = 0;

		next = strstr(text, "\n\n");
		if (next) {
			*next = '\0';
			next += 2;
		}
		if (running == (mounts ? AT_A_TIME : 1)) {
			failed += !end_program(pids);
			running--;
		}
		while (pids[slot])
			slot++;
		pids[slot] = fork();
		if (!pids[slot])
			play_program(text, mounts);
		if (pids[slot] < 0)
			err(2, "fork");
		running++;
		begun++;
	}
	for (; running; running--)
		failed += !end_program(pids);
	printf("play: %d programs, %d of them not played to the end\n", begun, failed);
	return failed != 0;
}
