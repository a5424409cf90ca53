// SPDX-License-Identifier: GPL-2.0
/*
 * The frame of a running test. One process, the director, runs the test's function; the binder
 * processes that it drives are its children and share one arena of memory with it at the same
 * address, so that buffers built here can be sent from there, and what was received there can be
 * checked here.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/common/abi_list.h"
#include "test.h"
#include "tests/lib/uapi.h"

#define ARENA_SIZE (96u << 20)

struct arena {
	_Atomic size_t used;
};

static struct arena *arena;
static char device_dir[4096];
static char device_path[4200];
static char other_device_path[4200];

void test_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s:%d: ", file, line);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	fflush(stderr);
	_exit(TEST_FAILED);
}

void test_skip(const char *reason)
{
	fprintf(stderr, "%s\n", reason);
	fflush(stderr);
	_exit(TEST_SKIPPED);
}

const char *test_errno_name(int err)
{
	const char *name = strerrorname_np(err);

	return name ? name : "unknown errno";
}

const char *test_device(void)
{
	return device_path;
}

const char *test_other_device(void)
{
	return other_device_path;
}

const char *test_device_dir(void)
{
	return device_dir;
}

int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void sleep_ms(int ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

void *shared_alloc(size_t size)
{
	size_t want = (size + 15) & ~(size_t)15;
	size_t at = atomic_fetch_add(&arena->used, want);

	if (want < size || at + want > ARENA_SIZE)
		FAIL("the arena is used up (%zu bytes wanted)", size);
	return (char *)arena + at;
}

void *shared_copy(const void *from, size_t size)
{
	void *to = shared_alloc(size);

	if (size)
		memcpy(to, from, size);
	return to;
}

int test_read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = -1;
	size_t used = 0;
	int err;

	while (fd >= 0 && (got = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)got;
	err = got ? -errno : 0;
	if (fd >= 0)
		close(fd);
	text[err ? 0 : used] = '\0';
	return err;
}

void test_begin(const char *dir, const char *device, const char *other_device)
{
	arena = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena == MAP_FAILED)
		FAIL("no memory for the arena: %s", test_errno_name(errno));
	arena->used = 64;
	snprintf(device_dir, sizeof(device_dir), "%s", dir);
	snprintf(device_path, sizeof(device_path), "%s/%s", dir, device);
	snprintf(other_device_path, sizeof(other_device_path), "%s/%s", dir, other_device);
}

/* Messages name BR_DEAD_REPLY, not 0x7205. The numbers of commands and returns do not collide. */
#define NAME(code) { (uint32_t)(code), #code },

static const struct {
	uint32_t cmd;
	const char *name;
} names[] = {
	BINDER_RETURNS(NAME)
	BINDER_COMMANDS(NAME)
	NAME(BR_TRANSACTION_SEC_CTX)
};

const char *command_name(uint32_t cmd)
{
	static char unknown[8][16];
	static unsigned int turn;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].cmd == cmd)
			return names[i].name;
	}
	turn = (turn + 1) % 8;
	snprintf(unknown[turn], sizeof(unknown[turn]), "0x%x", cmd);
	return unknown[turn];
}
