// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the injector on receivers that are killed, stopped, signalled, traced, filtered or stuck
 * during a job. In each case the job ends exactly once and in time, no file is left in the receiver
 * after an error, and it continues unchanged.
 */
#include "fds/inject/inject_test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct report *handler_report;

static void count_signal(int signal, siginfo_t *info, void *context)
{
	__atomic_add_fetch(&handler_report->nr_signals, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&handler_report->signal_sum, info->si_value.sival_int, __ATOMIC_SEQ_CST);
}

static void catch_signal(struct report *report, int signal)
{
	struct sigaction action = { .sa_sigaction = count_signal, .sa_flags = SA_SIGINFO };

	handler_report = report;
	sigaction(signal, &action, NULL);
}

/* A job with one file; the test sets the rest. */
struct one_file {
	struct receiver receiver;	/* of one_start() */
	struct waited_job waited;
	int file;
	int result;
};

static bool one_file_init(struct one_file *one, const struct receiver *receiver)
{
	job_init(&one->waited, receiver, 0);
	REQUIRE(files_open(&one->file, 1), false);
	job_files(&one->waited, 1, &one->file, &one->result);
	return true;
}

static int one_file_run(const struct receiver *receiver)
{
	struct one_file one;
	int err;

	if (!one_file_init(&one, receiver))
		return NO_RESULT;
	err = job_run(&one.waited);
	files_close(&one.file, 1);
	return err;
}

/* A receiver for the job alone. */
static bool one_start(struct one_file *one, const struct receiver_options *options)
{
	return receiver_start(&one->receiver, options) && one_file_init(one, &one->receiver);
}

/* @end: receiver_end() or receiver_kill(). */
static bool one_end(struct one_file *one, bool (*end)(struct receiver *receiver))
{
	files_close(&one->file, 1);
	return end(&one->receiver);
}

static void spin_ns(long ns)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < ns);
}

/*
 * Kills the receiver at a moment that moves over the whole job, for both ways of blocking.
 */
TEST(inject_killed_at_any_moment)
{
	int nr_done = 0;

	for (int i = 0; i < 300; i++) {
		struct receiver_options options = { i % 2 ? BLOCK_READ : BLOCK_VFORK };
		struct one_file one;
		int err;

		REQUIRE(one_start(&one, &options));
		inject_submit(injector, &one.waited.job);
		REQUIRE(wait_for(&one.waited.nr_armed, 1));
		spin_ns(i * 700);
		kill(one.receiver.pid, SIGKILL);
		err = job_wait(&one.waited);
		REQUIRE(err == 0 || err == -ESRCH);
		nr_done += err == 0;
		REQUIRE(one_end(&one, receiver_kill));
	}
	printf("inject: killed at any moment: %d of 300 were done first\n", nr_done);
	REQUIRE(nr_done < 300);
}

static void kill_receiver(struct waited_job *waited)
{
	kill(waited->job.tgid, SIGKILL);
}

TEST(inject_killed_while_armed)
{
	struct one_file one;

	REQUIRE(one_start(&one, &(struct receiver_options){ BLOCK_VFORK, MAX_THREADS }));
	one.waited.on_armed = kill_receiver;
	REQUIRE(job_run(&one.waited) == -ESRCH);
	CHECK(one_end(&one, receiver_kill));
}

TEST(inject_killed_as_it_is_done)
{
	struct report *report;
	struct one_file one;

	REQUIRE(one_start(&one, &(struct receiver_options){ BLOCK_READ, MAX_THREADS }));
	report = one.receiver.report;
	one.waited.on_done = kill_receiver;
	REQUIRE(job_run(&one.waited) == 0);
	REQUIRE(wait_for(&report->nr_ends, 1));
	REQUIRE(WIFSIGNALED(report->end_status) && WTERMSIG(report->end_status) == SIGKILL);
	CHECK(one_end(&one, receiver_kill));
}

TEST(inject_long_gone)
{
	struct one_file one;

	REQUIRE(one_start(&one, &(struct receiver_options){ BLOCK_READ }));
	kill(one.receiver.pid, SIGKILL);
	REQUIRE(wait_for(&one.receiver.report->nr_ends, 1));
	REQUIRE(job_run(&one.waited) == -ESRCH && one.waited.armed_err == -ESRCH);
	CHECK(one_end(&one, receiver_kill));
}

static void prepare_signals(struct report *report)
{
	sigset_t set;

	catch_signal(report, SIGRTMIN);
	catch_signal(report, SIGSEGV);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTRAP);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Lines of /proc/PID/status about signals: mask, ignored, caught. */
static void signal_setup(pid_t pid, char *out, size_t size)
{
	char path[64], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	out[0] = 0;
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "SigBlk", 6) || !strncmp(line, "SigIgn", 6) ||
		    !strncmp(line, "SigCgt", 6))
			strncat(out, line, size - strlen(out) - 1);
	}
	if (file)
		fclose(file);
}

/*
 * A late signal may arrive in the receiver's next uninterruptible wait: after that one has ended
 * too, every signal must have been handled.
 */
static bool delivered(const struct receiver *receiver, int nr_signals)
{
	int rounds = receiver->report->nr_rounds;

	REQUIRE(wait_for(&receiver->report->nr_rounds, rounds | 1), false);
	receiver_answer(receiver, 0);
	REQUIRE(wait_for(&receiver->report->nr_rounds, (rounds | 1) + 1), false);
	REQUIRE(wait_for(&receiver->report->nr_signals, nr_signals), false);
	return true;
}

/* Queued signals with values, to the process and to the thread, during the whole job. */
TEST(inject_signals_arrive_once)
{
	char before[256], after[256];
	struct receiver receiver;
	long sum = 0;
	int sent = 0;

	REQUIRE(receiver_start(&receiver, &(struct receiver_options){
		.blocking = BLOCK_VFORK, .prepare = prepare_signals }));
	signal_setup(receiver.pid, before, sizeof(before));
	for (int i = 0; i < 300; i++) {
		struct one_file one;
		siginfo_t info = { .si_signo = SIGRTMIN, .si_code = SI_QUEUE };

		REQUIRE(one_file_init(&one, &receiver));
		inject_submit(injector, &one.waited.job);
		spin_ns(i * 400);
		for (int k = 0; k < 3; k++) {
			info.si_value.sival_int = ++sent;
			sum += sent;
			if (k % 2)
				REQUIRE(!sigqueue(receiver.pid, SIGRTMIN, info.si_value));
			else
				REQUIRE(!syscall(SYS_rt_tgsigqueueinfo, receiver.pid, receiver.pid,
					       SIGRTMIN, &info));
		}
		REQUIRE(job_wait(&one.waited) == 0);
		REQUIRE(same_file(receiver.pid, one.result, one.file));
		REQUIRE(delivered(&receiver, sent));
		files_close(&one.file, 1);
	}
	REQUIRE(receiver.report->signal_sum == sum);
	signal_setup(receiver.pid, after, sizeof(after));
	REQUIRE(strcmp(before, after) == 0 && strlen(before) > 20);
	CHECK(receiver_end(&receiver));
}

/* A signal of the kind that is not blocked during a job, sent by a process. */
TEST(inject_fault_signal_sent_by_hand)
{
	struct receiver receiver;

	REQUIRE(receiver_start(&receiver, &(struct receiver_options){
		.blocking = BLOCK_VFORK, .prepare = prepare_signals }));
	for (int i = 0; i < 200; i++) {
		struct one_file one;

		REQUIRE(one_file_init(&one, &receiver));
		inject_submit(injector, &one.waited.job);
		spin_ns(i * 500);
		kill(receiver.pid, SIGSEGV);
		REQUIRE(job_wait(&one.waited) == 0);
		REQUIRE(delivered(&receiver, i + 1));
		files_close(&one.file, 1);
	}
	CHECK(receiver_end(&receiver));
}

TEST(inject_stopped_meanwhile)
{
	for (int i = 0; i < 100; i++) {
		struct one_file one;

		REQUIRE(one_start(&one, &(struct receiver_options){ BLOCK_READ }));
		inject_submit(injector, &one.waited.job);
		spin_ns(i * 1500);
		kill(one.receiver.pid, SIGSTOP);
		REQUIRE(job_wait(&one.waited) == 0);
		REQUIRE(wait_for(&one.receiver.report->nr_stops, 1));
		kill(one.receiver.pid, SIGCONT);
		REQUIRE(wait_for(&one.receiver.report->nr_rounds, 1));
		REQUIRE(one_end(&one, receiver_end));
	}
}

TEST(inject_already_traced)
{
	struct receiver receiver;
	int ready[2], fds_before;
	pid_t tracer;
	char byte;

	REQUIRE(receiver_start(&receiver, &(struct receiver_options){ BLOCK_READ }));
	fds_before = count_fds(receiver.pid);
	REQUIRE(pipe(ready) == 0);
	tracer = fork();
	if (tracer == 0) {
		byte = ptrace(PTRACE_SEIZE, receiver.pid, 0, 0) == 0;
		_exit(write(ready[1], &byte, 1) == 1 ? pause() : 1);
	}
	REQUIRE(read(ready[0], &byte, 1) == 1 && byte == 1);
	REQUIRE(one_file_run(&receiver) == -EPERM);
	kill(tracer, SIGKILL);
	REQUIRE(waitpid(tracer, NULL, 0) == tracer);
	REQUIRE(count_fds(receiver.pid) == fds_before);
	REQUIRE(one_file_run(&receiver) == 0);
	close(ready[0]);
	close(ready[1]);
	CHECK(receiver_end(&receiver));
}

/* Runs one-file jobs until the injector has nothing to do with the receiver any more. */
static int run_when_free(const struct receiver *receiver)
{
	int err = -EBUSY;

	for (int i = 0; i < 100 && err == -EBUSY; i++) {
		err = one_file_run(receiver);
		usleep(1000);
	}
	return err;
}

TEST(inject_never_answered)
{
	struct one_file one;
	int fds_before;

	REQUIRE(one_start(&one, &(struct receiver_options){ BLOCK_VFORK }));
	fds_before = count_fds(one.receiver.pid);
	one.waited.job.timeout_ms = 50;
	one.waited.answer = NULL;
	inject_submit(injector, &one.waited.job);
	REQUIRE(one_file_run(&one.receiver) == -EBUSY);
	REQUIRE(job_wait(&one.waited) == -ETIMEDOUT);
	REQUIRE(one_file_run(&one.receiver) == -EBUSY);
	receiver_answer(&one.receiver, 0);
	REQUIRE(wait_for(&one.receiver.report->nr_rounds, 1));
	REQUIRE(count_fds(one.receiver.pid) == fds_before);
	REQUIRE(run_when_free(&one.receiver) == 0);
	REQUIRE(wait_for(&one.receiver.report->nr_rounds, 2));
	CHECK(one_end(&one, receiver_end));
}

TEST(inject_receiver_without_a_processor_is_waited_for)
{
	struct one_file one;

	REQUIRE(one_start(&one, &(struct receiver_options){ BLOCK_VFORK }));
	one.waited.job.timeout_ms = 50;
	one.waited.answer = NULL;
	runnable_tid = one.waited.job.tid;
	inject_submit(injector, &one.waited.job);
	usleep(300000);
	receiver_answer(&one.receiver, 0);
	REQUIRE(job_wait(&one.waited) == 0);
	runnable_tid = 0;
	CHECK(one_end(&one, receiver_end));
}

/* Descriptor 30: closing it takes ten seconds, because its data is not read. */
static void prepare_slow_close(struct report *report)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger option = { 1, 10 };
	socklen_t len = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM, 0);
	int client = socket(AF_INET, SOCK_STREAM, 0);
	static char data[65536];

	if (bind(server, (struct sockaddr *)&address, len) < 0 || listen(server, 1) < 0 ||
	    getsockname(server, (struct sockaddr *)&address, &len) < 0 ||
	    connect(client, (struct sockaddr *)&address, len) < 0)
		_exit(1);
	while (send(client, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	setsockopt(client, SOL_SOCKET, SO_LINGER, &option, sizeof(option));
	dup2(client, 30);
	close(client);
}

TEST(inject_stuck_in_the_middle)
{
	struct one_file one;
	int fds_before, slow = 30;

	REQUIRE(one_start(&one, &(struct receiver_options){ .prepare = prepare_slow_close }));
	fds_before = count_fds(one.receiver.pid);
	/* Less than the close takes, and enough for a receiver that gets a processor late. */
	one.waited.job.timeout_ms = 2000;
	one.waited.job.nr_close = 1;
	one.waited.job.closes = &slow;
	REQUIRE(job_run(&one.waited) == -ETIMEDOUT);
	REQUIRE(wait_for(&one.receiver.report->nr_rounds, 1));
	REQUIRE(count_fds(one.receiver.pid) == fds_before - 1);
	REQUIRE(run_when_free(&one.receiver) == 0);
	CHECK(one_end(&one, receiver_end));
}

/* Refuses one system call by number with @action. */
static void install_filter(unsigned int nr, unsigned int action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(1);
}

static void prepare_no_socket(struct report *report)
{
	install_filter(SYS_socket, SECCOMP_RET_ERRNO | EACCES);
}

static void prepare_no_dup(struct report *report)
{
	install_filter(SYS_fcntl, SECCOMP_RET_ERRNO | EACCES);
}

/* The number that a trapped call returns is that of an open descriptor. */
static void prepare_trapped_socket(struct report *report)
{
	dup2(0, SYS_socket);
	catch_signal(report, SIGSYS);
	install_filter(SYS_socket, SECCOMP_RET_TRAP);
}

static bool refused(void (*prepare)(struct report *report), int expect)
{
	struct receiver receiver;
	int fds_before;

	REQUIRE(receiver_start(&receiver, &(struct receiver_options){ .prepare = prepare }), false);
	fds_before = count_fds(receiver.pid);
	for (int i = 1; i <= 3; i++) {
		REQUIRE(one_file_run(&receiver) == expect, false);
		REQUIRE(wait_for(&receiver.report->nr_rounds, i), false);
	}
	REQUIRE(count_fds(receiver.pid) == fds_before, false);
	REQUIRE(receiver.report->nr_signals == 0, false);
	return receiver_end(&receiver);
}

TEST(inject_filter_refuses_socket)
{
	CHECK(refused(prepare_no_socket, -EACCES));
}

TEST(inject_filter_refuses_half_way)
{
	CHECK(refused(prepare_no_dup, -EACCES));
}

TEST(inject_filter_raises_a_signal)
{
	CHECK(refused(prepare_trapped_socket, -EPERM));
}

static void *exec_soon(void *arg)
{
	usleep(30000);
	execl("/bin/sleep", "sleep", "60", (char *)NULL);
	return NULL;
}

static void prepare_exec(struct report *report)
{
	pthread_t id;

	pthread_create(&id, NULL, exec_soon, NULL);
}

/* Another thread's exec replaces the tracee. */
TEST(inject_exec_meanwhile)
{
	struct one_file one;
	int err;

	REQUIRE(one_start(&one, &(struct receiver_options){
		.blocking = BLOCK_VFORK, .prepare = prepare_exec }));
	one.waited.job.timeout_ms = 300;
	one.waited.answer = NULL;
	err = job_run(&one.waited);
	REQUIRE(err == -ESRCH || err == -ETIMEDOUT);
	/* the process that took its place is alive and not traced */
	REQUIRE(one.receiver.report->nr_ends == 0);
	REQUIRE(run_when_free(&one.receiver) != -EBUSY);
	CHECK(one_end(&one, receiver_kill));
}

/* SIGCHLD is sent to the process: either injector may take the one that is for the other. */
TEST(inject_two_injectors_at_once)
{
	struct injector *other;
	struct one_file ones[2];

	REQUIRE(inject_start(&other) == 0);
	for (int i = 0; i < 2; i++) {
		REQUIRE(one_start(&ones[i], &(struct receiver_options){ BLOCK_VFORK }));
		inject_submit(i ? other : injector, &ones[i].waited.job);
	}
	for (int i = 0; i < 2; i++) {
		REQUIRE(job_wait(&ones[i].waited) == 0);
		REQUIRE(wait_for(&ones[i].receiver.report->nr_rounds, 1));
		CHECK(one_end(&ones[i], receiver_end));
	}
}
