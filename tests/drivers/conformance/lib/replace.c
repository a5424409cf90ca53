// SPDX-License-Identifier: GPL-2.0
/*
 * binder_logs/daemon tells which process is asked, by SIGHUP, and how many hand-overs have ended.
 * It is read again until there is one more; by then the predecessor is gone.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replace.h"
#include "test.h"

#define DEADLINE_MS 60000
#define END_MS 10000

struct state {
	char text[1024];
};

static char path[4300];
static unsigned int attempts_before, generation_before;
static unsigned int every;	/* 0: at no step */
static unsigned int until_next;	/* steps */
static pthread_t thread;
static bool has_thread;
static const char *failure;		/* of the thread */
static atomic_bool is_over;

static bool read_state(struct state *state)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, state->text, sizeof(state->text) - 1);

	if (fd >= 0)
		close(fd);
	state->text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* What follows the name and a colon in a line; "" when there is no such line. */
static const char *value(const struct state *state, const char *name)
{
	const char *at = strstr(state->text, name);

	return at ? at + strlen(name) : "";
}

static unsigned int number(const struct state *state, const char *name)
{
	return (unsigned int)strtoul(value(state, name), NULL, 10);
}

bool replace_begin(const char *device_dir)
{
	struct state state;
	pid_t supervisor;

	snprintf(path, sizeof(path), "%s/binder_logs/daemon", device_dir);
	if (!read_state(&state))
		return false;
	attempts_before = number(&state, "\nattempts: ");
	generation_before = number(&state, "\ngeneration: ");
	supervisor = (pid_t)number(&state, "\nsupervisor: ");
	return supervisor && !kill(supervisor, 0);
}

/* Wait until a hand-over has ended. */
static const char *wait_for_end(unsigned int before, struct state *state)
{
	int64_t deadline = now_ms() + DEADLINE_MS;

	do {
		if (!read_state(state))
			return "binder_logs/daemon cannot be read after SIGHUP";
		if (number(state, "\nattempts: ") != before)
			return NULL;
		sleep_ms(1);
	} while (now_ms() < deadline);
	return "the hand-over does not end";
}

const char *replace_once(void)
{
	static char failed[400];
	struct state state;
	const char *why;

	if (!read_state(&state))
		return "binder_logs/daemon cannot be read";
	if (kill((pid_t)number(&state, "\nsupervisor: "), SIGHUP))
		return "the daemon cannot be sent SIGHUP";
	why = wait_for_end(number(&state, "\nattempts: "), &state);
	if (why || !strncmp(value(&state, "\nlast: "), "done\n", 5))
		return why;
	snprintf(failed, sizeof(failed), "the hand-over was %.300s", value(&state, "\nlast: "));
	return failed;
}

void replace_between_steps(unsigned int nth, unsigned int first)
{
	every = nth;
	until_next = first;
}

void replace_at_step(void)
{
	const char *why;

	if (!every || until_next--)
		return;
	until_next = every - 1;
	why = replace_once();
	if (why)
		FAIL("%s", why);
}

static void *replace_again_and_again(void *pause_ms)
{
	while (!is_over && !failure) {
		failure = replace_once();
		sleep_ms((int)(uintptr_t)pause_ms);
	}
	return NULL;
}

void replace_steadily(unsigned int pause_ms)
{
	if (pthread_create(&thread, NULL, replace_again_and_again, (void *)(uintptr_t)pause_ms))
		FAIL("no thread");
	has_thread = true;
}

const char *replace_end(unsigned int *count)
{
	int64_t deadline = now_ms() + END_MS;
	unsigned int attempts;
	struct state state;

	is_over = true;
	if (has_thread)
		pthread_join(thread, NULL);
	*count = 0;
	/* an attempt is counted when the successor serves already */
	do {
		if (!read_state(&state))
			return "binder_logs/daemon cannot be read";
		*count = number(&state, "\ngeneration: ") - generation_before;
		attempts = number(&state, "\nattempts: ") - attempts_before;
			sleep_ms(*count == attempts ? 0 : 10);
	} while (*count != attempts && now_ms() < deadline);
	if (failure)
		return failure;
	if (*count != attempts)
		return "not each hand-over succeeded";
	return *count ? NULL : "there was no hand-over";
}
