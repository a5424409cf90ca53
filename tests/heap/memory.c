// SPDX-License-Identifier: GPL-2.0
/* Where memory comes from and where it is returned to. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dma_buffer.h"
#include "test.h"

static size_t random_len(unsigned int *seed)
{
	const size_t most[] = { 8 * PAGE, 64 * PAGE, 3 * MIB };

	return PAGE + (size_t)rand_r(seed) % most[rand_r(seed) % 3];
}

static void need_ours(void)
{
	if (!heap_is_ours())
		test_skip("the stock heap does not show its memory use");
}

TEST(memory_is_zeroed, "New memory contains zeroes, whatever it was used for before.")
{
	unsigned int seed = 1;

	for (int i = 0; i < 60; i++) {
		size_t len = random_len(&seed);
		int fd = heap_alloc(len);
		unsigned char *data = heap_map(fd, len);

		EXPECT_EQ(heap_differing(data, len, 0), 0);
		memset(data, 0xa5, len);
		munmap(data, len);
		close(fd);
		/* half of them get idle memory, half memory that has still to be cleaned */
		if (i % 2)
			usleep(2000);
	}
}

TEST(memory_is_kept_and_used_again, "Freed memory is cleaned, kept and used for the next buffer.")
{
	cpu_set_t one;
	int fd;

	need_ours();
	/* On another CPU it may get new memory. */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	EXPECT(!sched_setaffinity(0, sizeof(one), &one));
	heap_expect_unused();
	heap_shrink(heap_bytes_idle());
	close(heap_alloc(4 * MIB));
	heap_expect_unused();
	EXPECT_EQ(heap_bytes_idle(), 4 * MIB);
	fd = heap_alloc(4 * MIB);
	EXPECT_EQ(heap_bytes_in_use(), 4 * MIB);
	EXPECT_EQ(heap_bytes_idle(), 0);
	close(fd);
	heap_expect_unused();
	EXPECT_EQ(heap_bytes_idle(), 4 * MIB);
}

TEST(memory_shrinks,
     "Idle memory is returned to the system: on request and when caches are "
     "dropped.")
{
	FILE *drop;

	need_ours();
	heap_expect_unused();
	for (int i = 0; i < 4; i++)
		close(heap_alloc(5 * MIB));
	heap_expect_unused();
	EXPECT(heap_bytes_idle() >= (long)(5 * MIB));
	heap_shrink(MIB);
	heap_shrink(heap_bytes_idle());
	EXPECT_EQ(heap_bytes_idle(), 0);
	close(heap_alloc(5 * MIB));
	heap_expect_unused();
	drop = fopen("/proc/sys/vm/drop_caches", "w");
	EXPECT(drop && fputs("2", drop) > 0 && !fclose(drop));
	EXPECT_EQ(heap_bytes_idle(), 0);
}

TEST(memory_too_much, "More than the machine has: ENOMEM at once.")
{
	struct sysinfo info;
	uint32_t fd;

	if (!heap_is_ours())
		test_skip("the stock heap goes on until processes are killed");
	sysinfo(&info);
	EXPECT_ERR(heap_alloc_raw(~0ull - 2 * PAGE, 0, O_RDWR, 0, &fd), ENOMEM);
	EXPECT_ERR(heap_alloc_raw(1ull << 40, 0, O_RDWR, 0, &fd), ENOMEM);
	EXPECT_EQ(heap_bytes_in_use(), 0);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		FAIL("%s: %s", path, test_errno_name(errno));
	close(fd);
}

static long number_in(const char *path)
{
	FILE *file = fopen(path, "r");
	long number;

	EXPECT(file && fscanf(file, "%ld", &number) == 1);
	fclose(file);
	return number;
}

#define GROUPS "/tmp/heap-groups"
#define GROUP GROUPS "/limited"
#define ACCOUNTING "/sys/module/anybinder_heap/parameters/mem_accounting"

/* Runs in the child, whose group may have 64 MiB. */
static void fill_group(void)
{
	int fds[20], nr = 0;

	put(GROUP "/cgroup.procs", "0");
	while (nr < 20 && (fds[nr] = heap_try(8 * MIB)) >= 0)
		nr++;
	EXPECT(nr > 4 && nr < 8);
	EXPECT_EQ(fds[nr], -ENOMEM);
	EXPECT(number_in(GROUP "/memory.current") >= nr * 8 * (long)MIB);
	while (nr)
		close(fds[--nr]);
	EXPECT(number_in(GROUP "/memory.current") < 8 * (long)MIB);
	/* idle memory is charged to no group */
	EXPECT_EQ(heap_bytes_idle(), 0);
}

TEST(memory_of_a_control_group,
     "With mem_accounting=Y buffers are charged to the control group of "
     "their process; what exceeds its limit: ENOMEM.")
{
	pid_t pid;
	int status;

	need_ours();
	heap_expect_unused();
	heap_shrink(heap_bytes_idle());
	mkdir(GROUPS, 0755);
	EXPECT(!mount("none", GROUPS, "cgroup2", 0, NULL));
	put(GROUPS "/cgroup.subtree_control", "+memory");
	EXPECT(!mkdir(GROUP, 0755));
	put(GROUP "/memory.max", "67108864");
	put(ACCOUNTING, "Y");
	pid = fork();
	if (!pid) {
		fill_group();
		_exit(TEST_PASSED);
	}
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	put(ACCOUNTING, "N");
	rmdir(GROUP);
	umount(GROUPS);
	EXPECT_EQ(status, TEST_PASSED);
}

/* Allocates, writes and frees until it is killed. */
static void live(unsigned int seed)
{
	int fds[8] = { 0 };

	for (;; seed++) {
		int *fd = &fds[rand_r(&seed) % 8];
		size_t len = random_len(&seed);
		unsigned char *data;

		if (*fd)
			close(*fd);
		*fd = heap_alloc(len);
		data = heap_map(*fd, len);
		memset(data, (int)seed, len);
		if (rand_r(&seed) % 4)
			munmap(data, len);
	}
}

TEST(memory_of_the_killed_comes_back, "Processes are killed at any moment: no memory is lost.")
{
	unsigned int seed = 42;
	pid_t pids[4];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 4; i++) {
			pids[i] = fork();
			if (!pids[i])
				live((unsigned int)(round * 4 + i));
		}
		for (int i = 0; i < 4; i++) {
			usleep((unsigned int)rand_r(&seed) % 30000);
			kill(pids[i], SIGKILL);
			waitpid(pids[i], NULL, 0);
		}
	}
	if (heap_is_ours())
		heap_expect_unused();
}

TEST(memory_killed_while_allocating, "A process that waits for memory can be killed.")
{
	struct sysinfo info;
	unsigned int seed = 7;

	sysinfo(&info);
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			for (;;)
				close(heap_alloc(info.totalram / 4));
		}
		usleep((unsigned int)rand_r(&seed) % 60000);
		kill(pid, SIGKILL);
		EXPECT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	if (heap_is_ours())
		heap_expect_unused();
}

static void on_alarm(int signal)
{
}

TEST(memory_other_signals_wait, "A signal that does not kill has no effect.")
{
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	ualarm(1000, 1000);
	for (int i = 0; i < 10; i++)
		close(heap_alloc(8 * MIB));
}
