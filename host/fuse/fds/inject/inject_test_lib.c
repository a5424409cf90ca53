// SPDX-License-Identifier: GPL-2.0
/*
 * Receivers for the tests of the injector. They block in read (which PTRACE_INTERRUPT ends and the
 * kernel restarts) or in vfork (which only the child's exit or SIGKILL ends, as an interrupted FUSE
 * request). While blocked in read they keep known values in registers and in the red zone below the
 * stack, and count changes as damage.
 */
#include "fds/inject/inject_test.h"

#include "base/runnable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

volatile pid_t runnable_tid;

/* In place of that of base/runnable.c. */
bool thread_is_runnable(pid_t tid)
{
	return tid == runnable_tid;
}

struct thread {
	struct report *report;
	enum blocking blocking;
	int index;
	int answer;
};

#if defined(__x86_64__)
/*
 * read(2) with a known value in every register that the kernel keeps, and in the red zone.
 * Returns its result; *@changed counts values that were different afterwards.
 */
static long careful_read(int fd, void *buf, long size, long *changed)
{
	long ret = SYS_read;

	*changed = 0;
	asm volatile("subq $256, %%rsp\n\t"
		     "movq $0x1111, -8(%%rsp)\n\t"
		     "movq $0x2222, -128(%%rsp)\n\t"
		     "movq $8, %%r8\n\tmovq $9, %%r9\n\tmovq $10, %%r10\n\tmovq $12, %%r12\n\t"
		     "movq $13, %%r13\n\tmovq $14, %%r14\n\tmovq $15, %%r15\n\t"
		     "syscall\n\t"
		     "cmpq $0x1111, -8(%%rsp)\n\tjne 1f\n\t"
		     "cmpq $0x2222, -128(%%rsp)\n\tjne 1f\n\t"
		     "cmpq $8, %%r8\n\tjne 1f\n\tcmpq $9, %%r9\n\tjne 1f\n\t"
		     "cmpq $10, %%r10\n\tjne 1f\n\tcmpq $12, %%r12\n\tjne 1f\n\t"
		     "cmpq $13, %%r13\n\tjne 1f\n\tcmpq $14, %%r14\n\tjne 1f\n\t"
		     "cmpq $15, %%r15\n\tje 2f\n\t"
		     "1: incq %[changed]\n\t"
		     "2: addq $256, %%rsp\n\t"
		     : "+a"(ret), [changed] "+b"(*changed)
		     : "D"((long)fd), "S"(buf), "d"(size)
		     : "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
	return ret;
}
#elif defined(__aarch64__)
/* arm64 has no red zone. All registers but x0, which is the result, are kept. */
static long careful_read(int fd, void *buf, long size, long *changed)
{
	register long x0 __asm__("x0") = fd;
	register void *x1 __asm__("x1") = buf;
	register long x2 __asm__("x2") = size;
	register long x8 __asm__("x8") = SYS_read;
	register long wrong __asm__("x19") = 0;
	void *buf_before = buf;
	long size_before = size;

	asm volatile("mov x3, #3\n\tmov x4, #4\n\tmov x5, #5\n\tmov x6, #6\n\tmov x7, #7\n\t"
		     "mov x9, #9\n\tmov x16, #16\n\tmov x17, #17\n\tmov x18, #18\n\t"
		     "mov x28, #28\n\tmov x30, #30\n\tmov x20, sp\n\t"
		     "svc #0\n\t"
		     "sub x3, x3, #3\n\tsub x4, x4, #4\n\tsub x5, x5, #5\n\tsub x6, x6, #6\n\t"
		     "sub x7, x7, #7\n\tsub x9, x9, #9\n\tsub x16, x16, #16\n\t"
		     "sub x17, x17, #17\n\tsub x18, x18, #18\n\tsub x28, x28, #28\n\t"
		     "sub x30, x30, #30\n\tmov x21, sp\n\tsub x20, x20, x21\n\t"
		     "orr x19, x3, x4\n\torr x19, x19, x5\n\torr x19, x19, x6\n\t"
		     "orr x19, x19, x7\n\torr x19, x19, x9\n\torr x19, x19, x16\n\t"
		     "orr x19, x19, x17\n\torr x19, x19, x18\n\torr x19, x19, x28\n\t"
		     "orr x19, x19, x30\n\torr x19, x19, x20\n\t"
		     : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x8), "=r"(wrong)
		     :
		     : "x3", "x4", "x5", "x6", "x7", "x9", "x16", "x17", "x18", "x20", "x21", "x28",
		       "x30", "memory", "cc");
	*changed = wrong || x1 != buf_before || x2 != size_before || x8 != SYS_read;
	return x0;
}
#else
static long careful_read(int fd, void *buf, long size, long *changed)
{
	*changed = 0;
	return read(fd, buf, (size_t)size);
}
#endif

static void block_in_read(struct thread *thread)
{
	char buf[8] = "";
	long changed;
	long ret = careful_read(thread->answer, buf, 1, &changed);

	if (ret == -EINTR)
		return;
	if (ret != 1 || buf[0] != 'a' || changed)
		__atomic_add_fetch(&thread->report->damage, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&thread->report->nr_rounds, 1, __ATOMIC_SEQ_CST);
}

static void block_in_vfork(struct thread *thread)
{
	pid_t receiver = getpid();
	char byte;
	pid_t pid;

	pid = vfork();
	if (pid == 0) {
		/* the receiver may be killed at any time, then this child has to exit */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != receiver)
			_exit(1);
		thread->report->nr_children++;
		_exit(read(thread->answer, &byte, 1) == 1 ? 0 : 1);
	}
	/* a restarted vfork leaves a child whose pid was never returned */
	while (waitpid(-1, NULL, 0) > 0)
		;
	if (pid < 0)
		__atomic_add_fetch(&thread->report->damage, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&thread->report->nr_rounds, 1, __ATOMIC_SEQ_CST);
}

static void *receiver_thread(void *arg)
{
	struct thread *thread = arg;

	thread->report->tids[thread->index] = (pid_t)syscall(SYS_gettid);
	__atomic_add_fetch(&thread->report->nr_threads, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		if (thread->blocking == BLOCK_READ)
			block_in_read(thread);
		else
			block_in_vfork(thread);
	}
	return NULL;
}

static void receiver_main(struct report *report, const struct receiver_options *options,
			  const int *answers, int nr_threads)
{
	static struct thread threads[MAX_THREADS];
	pthread_t ids[MAX_THREADS];
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	if (options->prepare)
		options->prepare(report);
	for (int i = 0; i < nr_threads; i++)
		threads[i] = (struct thread){ report, options->blocking, i, answers[i] };
	for (int i = 1; i < nr_threads; i++)
		pthread_create(&ids[i], NULL, receiver_thread, &threads[i]);
	receiver_thread(&threads[0]);
}

/* The state letter of a thread, from /proc. */
static char thread_state(pid_t tid)
{
	char path[64], line[256] = "";
	char *after;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(line, sizeof(line), file))
		line[0] = 0;
	fclose(file);
	after = strrchr(line, ')');
	return after ? after[2] : 0;
}

static bool all_block(const struct receiver *receiver, int nr_threads, char state)
{
	for (int i = 0; i < nr_threads; i++) {
		int tries = 0;

		while (thread_state(receiver->report->tids[i]) != state) {
			if (++tries > 5000)
				return false;
			usleep(100);
		}
	}
	return true;
}

/* The receiver's parent: records what wait(2) returns. */
static void parent_main(struct report *report, const struct receiver_options *options,
			const int *answers, int nr_threads)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		receiver_main(report, options, answers, nr_threads);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	report->pid = pid;
	while (waitpid(pid, &status, WUNTRACED) == pid) {
		if (WIFSTOPPED(status)) {
			report->nr_stops++;
			continue;
		}
		report->end_status = status;
		report->nr_ends = 1;
		_exit(0);
	}
	_exit(1);
}

bool receiver_start(struct receiver *receiver, const struct receiver_options *options)
{
	int nr_threads = options->nr_threads ? options->nr_threads : 1;
	int answers[MAX_THREADS];

	receiver->report = mmap(NULL, sizeof(struct report), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(receiver->report != MAP_FAILED);
	for (int i = 0; i < nr_threads; i++) {
		int ends[2];

		/* Far up, to keep the receiver's low numbers in plain order. */
		CHECK(pipe2(ends, O_CLOEXEC) == 0);
		receiver->answers[i] = fcntl(ends[1], F_DUPFD_CLOEXEC, 500);
		answers[i] = fcntl(ends[0], F_DUPFD_CLOEXEC, 500);
		CHECK(receiver->answers[i] >= 0 && answers[i] >= 0);
		close(ends[0]);
		close(ends[1]);
	}
	for (int i = nr_threads; i < MAX_THREADS; i++)
		receiver->answers[i] = -1;
	fflush(stdout);
	receiver->parent = fork();
	CHECK(receiver->parent >= 0);
	if (receiver->parent == 0)
		parent_main(receiver->report, options, answers, nr_threads);
	for (int i = 0; i < nr_threads; i++)
		close(answers[i]);
	CHECK(wait_for(&receiver->report->nr_threads, nr_threads));
	while (!receiver->report->pid)
		usleep(100);
	receiver->pid = receiver->report->pid;
	return all_block(receiver, nr_threads, options->blocking == BLOCK_VFORK ? 'D' : 'S');
}

void receiver_answer(const struct receiver *receiver, int i)
{
	if (write(receiver->answers[i], "a", 1) != 1)
		printf("answering a receiver: %s\n", strerror(errno));
}

bool receiver_kill(struct receiver *receiver)
{
	bool ended;

	kill(receiver->pid, SIGKILL);
	ended = wait_for(&receiver->report->nr_ends, 1);
	kill(receiver->parent, SIGKILL);
	waitpid(receiver->parent, NULL, 0);
	for (int i = 0; i < MAX_THREADS; i++) {
		if (receiver->answers[i] >= 0)
			close(receiver->answers[i]);
	}
	munmap(receiver->report, sizeof(*receiver->report));
	CHECK(ended);
	return true;
}

bool receiver_end(struct receiver *receiver)
{
	bool alive = receiver->report->nr_ends == 0;
	bool intact = receiver->report->damage == 0;

	CHECK(receiver_kill(receiver));
	CHECK(alive);
	CHECK(intact);
	return true;
}

static void job_armed(struct inject_job *job, int err)
{
	struct waited_job *waited = (struct waited_job *)job;

	waited->nr_armed++;
	waited->armed_err = err;
	if (err) {
		sem_post(&waited->over);
		return;
	}
	if (waited->on_armed)
		waited->on_armed(waited);
	if (waited->answer)
		receiver_answer(waited->answer, waited->thread);
}

static void job_done(struct inject_job *job, int err)
{
	struct waited_job *waited = (struct waited_job *)job;

	waited->nr_done++;
	waited->done_err = err;
	if (waited->on_done)
		waited->on_done(waited);
	sem_post(&waited->over);
}

void job_init(struct waited_job *waited, const struct receiver *receiver, int thread)
{
	/* a running thread has not entered its system call yet */
	while (thread_state(receiver->report->tids[thread]) == 'R')
		usleep(50);
	memset(waited, 0, sizeof(*waited));
	sem_init(&waited->over, 0, 0);
	waited->job.tid = receiver->report->tids[thread];
	waited->job.tgid = receiver->pid;
	waited->job.armed = job_armed;
	waited->job.done = job_done;
	waited->answer = receiver;
	waited->thread = thread;
	waited->done_err = NO_RESULT;
}

void job_files(struct waited_job *waited, int nr, const int *files, int *results)
{
	waited->job.nr_install = nr;
	waited->job.files = files;
	waited->job.result_fds = results;
}

int job_wait(struct waited_job *waited)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	while (sem_timedwait(&waited->over, &until) < 0) {
		if (errno != EINTR)
			return NO_RESULT;
	}
	/* either armed() with an error or done(), exactly once */
	if (waited->nr_armed != 1 || waited->nr_done != (waited->armed_err == 0))
		return NO_RESULT;
	return waited->armed_err ? waited->armed_err : waited->done_err;
}

int job_run(struct waited_job *waited)
{
	inject_submit(injector, &waited->job);
	return job_wait(waited);
}

bool wait_for(const volatile int *counter, int value)
{
	/* busy at first: some tests have to act right after the event */
	for (int i = 0; i < 60000; i++) {
		if (*counter >= value)
			return *counter == value;
		if (i > 10000)
			usleep(100);
	}
	return false;
}

bool files_open(int *files, int nr)
{
	for (int i = 0; i < nr; i++) {
		int fd = memfd_create("file", 0);

		/* above the numbers that are checked in the receivers */
		files[i] = fcntl(fd, F_DUPFD_CLOEXEC, 1000);
		CHECK(fd >= 0 && files[i] >= 0);
		close(fd);
	}
	return true;
}

void files_close(int *files, int nr)
{
	for (int i = 0; i < nr; i++)
		close(files[i]);
}

bool same_file(pid_t pid, int fd, int file)
{
	struct stat theirs, ours;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	return stat(path, &theirs) == 0 && fstat(file, &ours) == 0 &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

bool has_cloexec(pid_t pid, int fd)
{
	char path[64], line[128];
	unsigned int flags = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		sscanf(line, "flags: %o", &flags);
	fclose(file);
	return flags & O_CLOEXEC;
}

int count_fds(pid_t pid)
{
	char path[64];
	int count = -2;		/* "." and ".." */
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (!dir)
		return -1;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}
