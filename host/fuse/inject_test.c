// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the injector on real processes: what a receiver gets, where, and that it notices
 * nothing else. The hostile and unlucky cases are in inject_hard_test.c.
 */
#include "inject_test.h"

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

	CHECK(files_open(files, nr));
	lowest_free(receiver->pid, expected, nr);
	job_init(&waited, receiver, 0);
	job_files(&waited, nr, files, results);
	CHECK(job_run(&waited) == 0);
	for (int i = 0; i < nr; i++) {
		CHECK(results[i] == expected[i]);
		CHECK(same_file(receiver->pid, results[i], files[i]));
		CHECK(has_cloexec(receiver->pid, results[i]));
	}
	CHECK(count_fds(receiver->pid) == fds_before + nr);
	CHECK(wait_for(&receiver->report->nr_rounds, rounds_before + 1));
	files_close(files, nr);
	return true;
}

static bool test_one_file(void)
{
	struct receiver receiver;

	CHECK(receiver_start(&receiver, &(struct receiver_options){ BLOCK_READ }));
	CHECK(install_and_look(&receiver, 1));
	return receiver_end(&receiver);
}

static bool test_one_file_into_uninterruptible_wait(void)
{
	struct receiver receiver;

	CHECK(receiver_start(&receiver, &(struct receiver_options){ BLOCK_VFORK }));
	CHECK(install_and_look(&receiver, 1));
	return receiver_end(&receiver);
}

static bool test_ten_files(void)
{
	struct receiver receiver;

	CHECK(receiver_start(&receiver, &(struct receiver_options){ BLOCK_READ }));
	CHECK(install_and_look(&receiver, 10));
	return receiver_end(&receiver);
}

/* Every other number up to 80 is in use. */
static void prepare_holes(struct report *report)
{
	for (int fd = 20; fd < 80; fd += 2)
		dup2(0, fd);
}

static bool test_many_files_into_a_table_with_holes(void)
{
	struct receiver receiver;

	CHECK(receiver_start(&receiver, &(struct receiver_options){
		.blocking = BLOCK_READ, .prepare = prepare_holes }));
	CHECK(install_and_look(&receiver, MANY));
	return receiver_end(&receiver);
}

static void prepare_unprivileged(struct report *report)
{
	if (setgid(1000) < 0 || setuid(1000) < 0)
		_exit(1);
	/* Changing the user makes a process undumpable; an exec would undo that. */
	prctl(PR_SET_DUMPABLE, 1);
}

static bool test_unprivileged_receiver(void)
{
	struct receiver receiver;

	CHECK(receiver_start(&receiver, &(struct receiver_options){
		.blocking = BLOCK_READ, .prepare = prepare_unprivileged }));
	CHECK(install_and_look(&receiver, 3));
	return receiver_end(&receiver);
}

static bool test_close_comes_first(void)
{
	const int closes[2] = { 0, 999 };	/* the other is not open: ignored */
	int files[2], results[2], next_free, fds_before;
	struct receiver receiver;
	struct waited_job waited;

	CHECK(receiver_start(&receiver, &(struct receiver_options){
		.blocking = BLOCK_READ, .prepare = prepare_holes }));
	CHECK(files_open(files, 2));
	fds_before = count_fds(receiver.pid);
	lowest_free(receiver.pid, &next_free, 1);
	job_init(&waited, &receiver, 0);
	waited.job.nr_close = 2;
	waited.job.closes = closes;
	job_files(&waited, 2, files, results);
	CHECK(job_run(&waited) == 0);
	CHECK(results[0] == 0 && results[1] == next_free);
	CHECK(same_file(receiver.pid, 0, files[0]));
	CHECK(count_fds(receiver.pid) == fds_before + 1);
	files_close(files, 2);
	return receiver_end(&receiver);
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

static bool test_table_full(void)
{
	int files[3], results[3], fds_before;
	struct receiver receiver;
	struct waited_job waited;

	CHECK(receiver_start(&receiver, &(struct receiver_options){
		.blocking = BLOCK_READ, .prepare = prepare_tight }));
	CHECK(files_open(files, 3));
	fds_before = count_fds(receiver.pid);
	for (int nr = 2; nr <= 3; nr++) {
		/* Two numbers are free, and one is needed for the way. */
		job_init(&waited, &receiver, 0);
		job_files(&waited, nr, files, results);
		CHECK(job_run(&waited) == -EMFILE);
		CHECK(count_fds(receiver.pid) == fds_before);
	}
	job_init(&waited, &receiver, 0);
	job_files(&waited, 1, files, results);
	CHECK(job_run(&waited) == 0 && results[0] == 8);
	CHECK(count_fds(receiver.pid) == fds_before + 1);
	CHECK(wait_for(&receiver.report->nr_rounds, 3));
	files_close(files, 3);
	return receiver_end(&receiver);
}

/* The owner learns the numbers before the receiver makes its call again. */
static void check_before_restart(struct waited_job *waited)
{
	/* One more vfork child by now would mean that the receiver ran already. */
	if (waited->answer->report->nr_children != 1)
		waited->done_err = NO_RESULT;
}

static bool test_call_is_made_again(void)
{
	struct receiver receiver;
	struct waited_job waited;
	int file, result;

	CHECK(receiver_start(&receiver, &(struct receiver_options){ BLOCK_VFORK }));
	CHECK(files_open(&file, 1));
	CHECK(wait_for(&receiver.report->nr_children, 1));
	job_init(&waited, &receiver, 0);
	job_files(&waited, 1, &file, &result);
	waited.job.restart = true;
	waited.on_done = check_before_restart;
	CHECK(job_run(&waited) == 0);
	CHECK(wait_for(&receiver.report->nr_children, 2));
	CHECK(receiver.report->nr_rounds == 0);
	receiver_answer(&receiver, 0);
	CHECK(wait_for(&receiver.report->nr_rounds, 1));
	files_close(&file, 1);
	return receiver_end(&receiver);
}

static bool test_interrupted_call_is_made_again(void)
{
	struct receiver receiver;
	struct waited_job waited;
	int file, result;

	CHECK(receiver_start(&receiver, &(struct receiver_options){ BLOCK_READ }));
	CHECK(files_open(&file, 1));
	job_init(&waited, &receiver, 0);
	job_files(&waited, 1, &file, &result);
	waited.job.restart = true;
	waited.answer = NULL;
	CHECK(job_run(&waited) == 0);
	usleep(2000);
	CHECK(receiver.report->nr_rounds == 0);
	receiver_answer(&receiver, 0);
	CHECK(wait_for(&receiver.report->nr_rounds, 1));
	files_close(&file, 1);
	return receiver_end(&receiver);
}

static bool test_threads_at_once(void)
{
	struct waited_job waited[MAX_THREADS];
	int files[MAX_THREADS], results[MAX_THREADS];
	struct receiver receiver;
	int fds_before;

	CHECK(receiver_start(&receiver, &(struct receiver_options){
		.blocking = BLOCK_READ, .nr_threads = MAX_THREADS }));
	CHECK(files_open(files, MAX_THREADS));
	fds_before = count_fds(receiver.pid);
	for (int i = 0; i < MAX_THREADS; i++) {
		job_init(&waited[i], &receiver, i);
		job_files(&waited[i], 1, &files[i], &results[i]);
		inject_submit(injector, &waited[i].job);
	}
	for (int i = 0; i < MAX_THREADS; i++)
		CHECK(job_wait(&waited[i]) == 0);
	for (int i = 0; i < MAX_THREADS; i++) {
		CHECK(same_file(receiver.pid, results[i], files[i]));
		CHECK(has_cloexec(receiver.pid, results[i]));
	}
	CHECK(count_fds(receiver.pid) == fds_before + MAX_THREADS);
	CHECK(wait_for(&receiver.report->nr_rounds, MAX_THREADS));
	files_close(files, MAX_THREADS);
	return receiver_end(&receiver);
}

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static bool test_a_thousand_times(void)
{
	static double cost_us[1000];
	struct receiver receiver;
	int file, result = -1, previous, fds_before;

	CHECK(receiver_start(&receiver, &(struct receiver_options){ BLOCK_READ }));
	CHECK(files_open(&file, 1));
	fds_before = count_fds(receiver.pid);
	for (int i = 0; i < 1000; i++) {
		struct waited_job waited;
		double start;

		previous = result;
		job_init(&waited, &receiver, 0);
		start = now_us();
		job_files(&waited, 1, &file, &result);
		waited.job.nr_close = i > 0;
		waited.job.closes = &previous;
		CHECK(job_run(&waited) == 0);
		cost_us[i] = now_us() - start;
		CHECK(i == 0 || result == previous);
		CHECK(wait_for(&receiver.report->nr_rounds, i + 1));
	}
	CHECK(same_file(receiver.pid, result, file));
	CHECK(count_fds(receiver.pid) == fds_before + 1);
	qsort(cost_us, 1000, sizeof(cost_us[0]), compare_times);
	printf("inject: one file in and one closed, us: min %.0f median %.0f p99 %.0f max %.0f\n",
	       cost_us[0], cost_us[500], cost_us[990], cost_us[999]);
	files_close(&file, 1);
	return receiver_end(&receiver);
}

static const struct test tests[] = {
	{ "one file", test_one_file },
	{ "one file into an uninterruptible wait", test_one_file_into_uninterruptible_wait },
	{ "ten files", test_ten_files },
	{ "many files into a table with holes", test_many_files_into_a_table_with_holes },
	{ "unprivileged receiver", test_unprivileged_receiver },
	{ "close comes first", test_close_comes_first },
	{ "table full", test_table_full },
	{ "call is made again", test_call_is_made_again },
	{ "interrupted call is made again", test_interrupted_call_is_made_again },
	{ "threads at once", test_threads_at_once },
	{ "a thousand times", test_a_thousand_times },
	{ NULL, NULL },
};

static int count_tests(const struct test *list)
{
	int count = 0;

	while (list[count].name)
		count++;
	return count;
}

static void run_tests(const struct test *list, int *passed, int *failed)
{
	for (const struct test *test = list; test->name; test++) {
		bool good = test->run();

		if (!good)
			printf("FAILED %s\n", test->name);
		*passed += good;
		*failed += !good;
	}
}

/* May we trace a child at all? Containers and ptrace_scope often say no. */
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

int main(void)
{
	int total = count_tests(tests) + count_tests(inject_hard_tests);
	struct rlimit limit = { 4096, 4096 };
	int passed = 0;
	int failed = 0;
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	err = probe_ptrace();
	if (err || inject_supported() < 0) {
		printf("skipped: %s\n", err ? strerror(err) : "this machine is not supported");
		printf("inject: 0 passed, 0 failed, %d skipped\n", total);
		return 0;
	}
	setrlimit(RLIMIT_NOFILE, &limit);
	err = inject_start(&injector);
	if (err) {
		printf("inject_start: %s\n", strerror(-err));
		return 1;
	}
	run_tests(tests, &passed, &failed);
	run_tests(inject_hard_tests, &passed, &failed);
	inject_stop(injector);
	printf("inject: %d passed, %d failed, 0 skipped\n", passed, failed);
	return failed != 0;
}
