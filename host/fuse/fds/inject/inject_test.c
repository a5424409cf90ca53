// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the injector on real processes: the files that a receiver gets, their numbers, and that
 * nothing else changes. Hostile and rare cases are in inject_hard_test.c.
 */
#include "fds/inject/inject_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MANY 300

struct injector *injector;

/* The numbers that the next @nr files opened in @pid would get. */
static void lowest_free(pid_t pid, int *fds, int nr)
{
	char path[64];
	int found = 0;

	for (int fd = 0; found < nr; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
		if (access(path, F_OK) < 0)
			fds[found++] = fd;
	}
}

/* Installs @nr files and checks everything that can be seen from outside. */
static bool install_and_look(const struct receiver *receiver, int nr)
{
	int files[MANY], results[MANY], expected[MANY];
	int fds_before = count_fds(receiver->pid);
	int rounds_before = receiver->report->nr_rounds;
	struct waited_job waited;

	REQUIRE(files_open(files, nr), false);
	lowest_free(receiver->pid, expected, nr);
	job_init(&waited, receiver, 0);
	job_files(&waited, nr, files, results);
	REQUIRE(job_run(&waited) == 0, false);
	for (int i = 0; i < nr; i++) {
		REQUIRE(results[i] == expected[i], false);
		REQUIRE(same_file(receiver->pid, results[i], files[i]), false);
		REQUIRE(has_cloexec(receiver->pid, results[i]), false);
	}
	REQUIRE(count_fds(receiver->pid) == fds_before + nr, false);
	REQUIRE(wait_for(&receiver->report->nr_rounds, rounds_before + 1), false);
	files_close(files, nr);
	return true;
}

/* Installs @nr files in a receiver of its own. */
static bool installs(const struct receiver_options *options, int nr)
{
	struct receiver receiver;

	REQUIRE(receiver_start(&receiver, options), false);
	REQUIRE(install_and_look(&receiver, nr), false);
	return receiver_end(&receiver);
}

TEST(inject_one_file)
{
	CHECK(installs(&(struct receiver_options){ BLOCK_READ }, 1));
}

TEST(inject_one_file_into_uninterruptible_wait)
{
	CHECK(installs(&(struct receiver_options){ BLOCK_VFORK }, 1));
}

TEST(inject_ten_files)
{
	CHECK(installs(&(struct receiver_options){ BLOCK_READ }, 10));
}

/* Every other number up to 80 is in use. */
static void prepare_holes(struct report *report)
{
	for (int fd = 20; fd < 80; fd += 2)
		dup2(0, fd);
}

TEST(inject_many_files_into_a_table_with_holes)
{
	CHECK(installs(&(struct receiver_options){ .prepare = prepare_holes }, MANY));
}

static void prepare_unprivileged(struct report *report)
{
	if (setgid(1000) < 0 || setuid(1000) < 0)
		_exit(1);
	/* setuid(2) cleared it; in an ordinary process exec has set it again */
	prctl(PR_SET_DUMPABLE, 1);
}

TEST(inject_unprivileged_receiver)
{
	CHECK(installs(&(struct receiver_options){ .prepare = prepare_unprivileged }, 3));
}

TEST(inject_close_comes_first)
{
	const int closes[2] = { 0, 999 };	/* 999 is not open: ignored */
	int files[2], results[2], next_free, fds_before;
	struct receiver receiver;
	struct waited_job waited;

	REQUIRE(receiver_start(&receiver, &(struct receiver_options){ .prepare = prepare_holes }));
	REQUIRE(files_open(files, 2));
	fds_before = count_fds(receiver.pid);
	lowest_free(receiver.pid, &next_free, 1);
	job_init(&waited, &receiver, 0);
	waited.job.nr_close = 2;
	waited.job.closes = closes;
	job_files(&waited, 2, files, results);
	REQUIRE(job_run(&waited) == 0);
	REQUIRE(results[0] == 0 && results[1] == next_free);
	REQUIRE(same_file(receiver.pid, 0, files[0]));
	REQUIRE(count_fds(receiver.pid) == fds_before + 1);
	files_close(files, 2);
	CHECK(receiver_end(&receiver));
}

static void prepare_tight(struct report *report)
{
	struct rlimit limit = { 10, 10 };

	for (int fd = 3; fd < 10; fd++)
		dup2(0, fd);
	close(9);
	close(8);
	setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(inject_table_full)
{
	int files[3], results[3], fds_before;
	struct receiver receiver;
	struct waited_job waited;

	REQUIRE(receiver_start(&receiver, &(struct receiver_options){ .prepare = prepare_tight }));
	REQUIRE(files_open(files, 3));
	fds_before = count_fds(receiver.pid);
	for (int nr = 2; nr <= 3; nr++) {
		/* two numbers are free, but the socket needs one */
		job_init(&waited, &receiver, 0);
		job_files(&waited, nr, files, results);
		REQUIRE(job_run(&waited) == -EMFILE);
		REQUIRE(count_fds(receiver.pid) == fds_before);
	}
	job_init(&waited, &receiver, 0);
	job_files(&waited, 1, files, results);
	REQUIRE(job_run(&waited) == 0 && results[0] == 8);
	REQUIRE(count_fds(receiver.pid) == fds_before + 1);
	REQUIRE(wait_for(&receiver.report->nr_rounds, 3));
	files_close(files, 3);
	CHECK(receiver_end(&receiver));
}

static int locked_file;

static void prepare_lock(struct report *report)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(locked_file, F_SETLK, &lock) < 0)
		_exit(1);
}

static void prepare_lock_and_tight(struct report *report)
{
	prepare_lock(report);
	prepare_tight(report);
}

static bool is_locked_by(pid_t pid)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(locked_file, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK &&
	       lock.l_pid == pid;
}

/*
 * A process that closes any descriptor of a file loses its locks on the file. It may also never
 * return from that.
 */
static bool keeps_its_lock(void (*prepare)(struct report *report), int first, int last, int expect)
{
	struct receiver receiver;
	struct waited_job waited;
	int files[3], results[3];

	REQUIRE(files_open(&locked_file, 1), false);
	for (int i = 0; i < 3; i++)
		files[i] = locked_file;
	REQUIRE(receiver_start(&receiver, &(struct receiver_options){ .prepare = prepare }), false);
	REQUIRE(is_locked_by(receiver.pid), false);
	for (int nr = first; nr <= last; nr++) {
		job_init(&waited, &receiver, 0);
		job_files(&waited, nr, files, results);
		REQUIRE(job_run(&waited) == expect, false);
		REQUIRE(is_locked_by(receiver.pid), false);
		REQUIRE(wait_for(&receiver.report->nr_rounds, nr - first + 1), false);
	}
	files_close(&locked_file, 1);
	return receiver_end(&receiver);
}

TEST(inject_closes_no_file)
{
	CHECK(keeps_its_lock(prepare_lock, 1, 3, 0));
}

TEST(inject_closes_no_file_when_the_table_is_full)
{
	CHECK(keeps_its_lock(prepare_lock_and_tight, 2, 3, -EMFILE));
}

/* done() is called before the receiver executes its call again. */
static void check_before_restart(struct waited_job *waited)
{
	/* a second vfork child would mean that the receiver ran already */
	if (waited->answer->report->nr_children != 1)
		waited->done_err = NO_RESULT;
}

TEST(inject_call_is_made_again)
{
	struct receiver receiver;
	struct waited_job waited;
	int file, result;

	REQUIRE(receiver_start(&receiver, &(struct receiver_options){ BLOCK_VFORK }));
	REQUIRE(files_open(&file, 1));
	REQUIRE(wait_for(&receiver.report->nr_children, 1));
	job_init(&waited, &receiver, 0);
	job_files(&waited, 1, &file, &result);
	waited.job.restart = true;
	waited.on_done = check_before_restart;
	REQUIRE(job_run(&waited) == 0);
	REQUIRE(wait_for(&receiver.report->nr_children, 2));
	REQUIRE(receiver.report->nr_rounds == 0);
	receiver_answer(&receiver, 0);
	REQUIRE(wait_for(&receiver.report->nr_rounds, 1));
	files_close(&file, 1);
	CHECK(receiver_end(&receiver));
}

TEST(inject_interrupted_call_is_made_again)
{
	struct receiver receiver;
	struct waited_job waited;
	int file, result;

	REQUIRE(receiver_start(&receiver, &(struct receiver_options){ BLOCK_READ }));
	REQUIRE(files_open(&file, 1));
	job_init(&waited, &receiver, 0);
	job_files(&waited, 1, &file, &result);
	waited.job.restart = true;
	waited.answer = NULL;
	REQUIRE(job_run(&waited) == 0);
	usleep(2000);
	REQUIRE(receiver.report->nr_rounds == 0);
	receiver_answer(&receiver, 0);
	REQUIRE(wait_for(&receiver.report->nr_rounds, 1));
	files_close(&file, 1);
	CHECK(receiver_end(&receiver));
}

TEST(inject_threads_at_once)
{
	struct waited_job waited[MAX_THREADS];
	int files[MAX_THREADS], results[MAX_THREADS];
	struct receiver receiver;
	int fds_before;

	REQUIRE(receiver_start(&receiver, &(struct receiver_options){
		.blocking = BLOCK_READ, .nr_threads = MAX_THREADS }));
	REQUIRE(files_open(files, MAX_THREADS));
	fds_before = count_fds(receiver.pid);
	for (int i = 0; i < MAX_THREADS; i++) {
		job_init(&waited[i], &receiver, i);
		job_files(&waited[i], 1, &files[i], &results[i]);
		inject_submit(injector, &waited[i].job);
	}
	for (int i = 0; i < MAX_THREADS; i++)
		REQUIRE(job_wait(&waited[i]) == 0);
	for (int i = 0; i < MAX_THREADS; i++) {
		REQUIRE(same_file(receiver.pid, results[i], files[i]));
		REQUIRE(has_cloexec(receiver.pid, results[i]));
	}
	REQUIRE(count_fds(receiver.pid) == fds_before + MAX_THREADS);
	REQUIRE(wait_for(&receiver.report->nr_rounds, MAX_THREADS));
	files_close(files, MAX_THREADS);
	CHECK(receiver_end(&receiver));
}

TEST(inject_a_thousand_times)
{
	struct receiver receiver;
	int file, result = -1, previous, fds_before;

	REQUIRE(receiver_start(&receiver, &(struct receiver_options){ BLOCK_READ }));
	REQUIRE(files_open(&file, 1));
	fds_before = count_fds(receiver.pid);
	for (int i = 0; i < 1000; i++) {
		struct waited_job waited;

		previous = result;
		job_init(&waited, &receiver, 0);
		job_files(&waited, 1, &file, &result);
		waited.job.nr_close = i > 0;
		waited.job.closes = &previous;
		REQUIRE(job_run(&waited) == 0);
		REQUIRE(i == 0 || result == previous);
		REQUIRE(wait_for(&receiver.report->nr_rounds, i + 1));
	}
	REQUIRE(same_file(receiver.pid, result, file));
	REQUIRE(count_fds(receiver.pid) == fds_before + 1);
	files_close(&file, 1);
	CHECK(receiver_end(&receiver));
}

/* Is tracing a child permitted? Containers and ptrace_scope often forbid it. */
static int probe_ptrace(void)
{
	pid_t pid = fork();
	int err;

	if (pid == 0) {
		pause();
		_exit(0);
	}
	err = ptrace(PTRACE_SEIZE, pid, 0, 0) < 0 ? errno : 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return err;
}

static void nothing(void)
{
}

int main(int argc, char **argv)
{
	struct rlimit limit = { 4096, 4096 };
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	err = probe_ptrace();
	if (err)
		return unit_skip(strerror(err));
	setrlimit(RLIMIT_NOFILE, &limit);
	err = inject_start(&injector);
	if (err == -ENOSYS)
		return unit_skip("this machine is not supported");
	if (err) {
		printf("inject_start: %s\n", strerror(-err));
		return 1;
	}
	return unit_run(argv + 1, nothing, nothing);
}
