// SPDX-License-Identifier: GPL-2.0
/*
 * Storms: clients and services are killed at random during thousands of calls between them.
 *
 *   anybinder-storm [--device-dir DIR] [--seed N] [--seeds COUNT] [--kills N] [--replace-ms MS]
 *
 * The director starts a manager and two clients that survive, and services and clients that do
 * not: after a random number of calls one of them is killed and replaced. All of them check what
 * they get: the content, and that an error is due to the death of a condemned process. At the end
 * the rest is killed, and nothing may be left of them: no process, thread, node, handle, call or
 * notice in the driver's statistics, no open file in transit. The survivors have no references
 * left, and the driver has counted each of their commands and returns as they have. No other
 * process may use the driver meanwhile.
 *
 * The seed decides which processes die and what is called; the machine decides when. With
 * --replace-ms, the daemon hands over all the time, with pauses of so many milliseconds.
 */
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replace.h"
#include "storm.h"
#include "test.h"
#include "tests/lib/tap.h"
#include "tests/version.h"

#define NR_SURVIVORS 3 /* the manager and two clients */
#define NR_SERVICES 4
#define NR_CLIENTS 4
#define NR_VICTIMS (NR_SERVICES + NR_CLIENTS)
#define MAX_CALLS_BETWEEN 200
#define PATIENCE_MS 60000

struct storm *storm;

static struct {
	const char *device_dir;
	uint64_t seed, seeds;
	unsigned int kills;
	int replace_ms; /* -1: not */
} options = {
	.device_dir = "/dev/binderfs", .seed = 1, .seeds = 1, .kills = 200, .replace_ms = -1
};

static uint32_t draw(uint32_t limit)
{
	static uint64_t x;

	if (!x)
		x = storm->seed * 0x9e3779b97f4a7c15u | 1;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 32) % limit;
}

/* Waits for progress; a storm that stands still has lost a wake-up. */
#define AWAIT(condition)                                                                        \
	do {                                                                                    \
		int64_t deadline_ = now_ms() + PATIENCE_MS;                                     \
		while (!(condition)) {                                                          \
			check_children();                                                       \
			if (now_ms() > deadline_)                                               \
				FAIL("%s did not become true", #condition);             \
			sleep_ms(1);                                                            \
		}                                                                               \
	} while (0)

/* No process ends by itself; killed ones are reaped where they are killed. */
static void check_children(void)
{
	siginfo_t info = { 0 };

	if (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid)
		FAIL("process %d has ended unexpectedly: %s %d", info.si_pid,
		     info.si_code == CLD_EXITED ? "status" : "signal", info.si_status);
}

static struct member *start(int (*run)(struct member *me))
{
	struct member *member = &storm->members[storm->nr_members];
	pid_t pid;

	EXPECT(storm->nr_members < MAX_MEMBERS);
	storm->nr_members++;
	fflush(NULL);
	pid = fork();
	EXPECT(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		member->pid = getpid();
		_exit(run(member));
	}
	member->pid = pid;
	return member;
}

static void end(struct member *member)
{
	int status;

	member->condemned = true;
	kill(member->pid, SIGKILL);
	EXPECT(waitpid(member->pid, &status, 0) == member->pid);
	/* It may have failed a check just before. */
	EXPECT(WIFSIGNALED(status));
}

static void rage(struct member **victims)
{
	for (unsigned int i = 0; i < options.kills; i++) {
		uint64_t until = storm->calls + draw(MAX_CALLS_BETWEEN);
		uint32_t index = draw(NR_VICTIMS);

		AWAIT(storm->calls >= until);
		end(victims[index]);
		victims[index] = start(index < NR_SERVICES ? service_main : client_main);
	}
	storm->over = true;
	for (int i = 0; i < NR_VICTIMS; i++)
		end(victims[i]);
}

/* No process has a file of the storm open any more. */
static void expect_files_gone(int pipe_end)
{
	struct pollfd wait = { .fd = pipe_end, .events = POLLIN };

	close(storm->pipe);
	AWAIT(poll(&wait, 1, 0) == 1 && (wait.revents & POLLHUP));
}

static void expect_end(const struct member *member)
{
	int status;

	EXPECT(waitpid(member->pid, &status, 0) == member->pid);
	EXPECT_EQ(status, 0);
}

static int make_pipe(void)
{
	struct stat st;
	int ends[2];

	EXPECT(!pipe2(ends, O_CLOEXEC) && !fstat(ends[1], &st));
	storm->pipe = ends[1];
	storm->pipe_inode = st.st_ino;
	return ends[0];
}

static void run_storm(void)
{
	struct member *survivors[NR_SURVIVORS], *victims[NR_VICTIMS];
	struct population before = audit_population(), now = before;
	int pipe_end = make_pipe();

	for (int i = 0; i < NR_SURVIVORS; i++) {
		survivors[i] = start(i ? client_main : manager_main);
		AWAIT(survivors[i]->ready);
	}
	for (int i = 0; i < NR_VICTIMS; i++)
		victims[i] = start(i < NR_SERVICES ? service_main : client_main);
	rage(victims);
	AWAIT(storm->services == 0 && survivors[1]->idle && survivors[2]->idle);

	/* The manager's node, and the threads: a client has its callers and the one that waits. */
	now.proc += NR_SURVIVORS;
	now.reported_procs += NR_SURVIVORS;
	now.node += 1;
	AWAIT(audit_population().proc == now.proc); /* the last victims are gone, threads first */
	now.thread = audit_population().thread;
	audit_expect(now, "with only the survivors there");
	for (int i = 0; i < NR_SURVIVORS; i++)
		audit_member(survivors[i]);
	storm->may_exit = true;
	for (int i = 0; i < NR_SURVIVORS; i++)
		expect_end(survivors[i]);
	audit_expect(before, "at the end");
	expect_files_gone(pipe_end);
	printf("# seed %llu: %llu calls, %u processes; %llu dead replies, %llu death notices, "
	       "%llu files, %llu times no room\n",
	       (unsigned long long)storm->seed, (unsigned long long)storm->calls,
	       storm->nr_members, (unsigned long long)storm->dead_replies,
	       (unsigned long long)storm->deaths, (unsigned long long)storm->files,
	       (unsigned long long)storm->full_replies);
	/* A storm in which nothing happened proves nothing. */
	EXPECT(storm->dead_replies && storm->deaths && storm->files);
	exit(0);
}

static bool try_seed(uint64_t seed)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	EXPECT(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		test_begin(options.device_dir, "binder", "hwbinder");
		storm = shared_alloc(sizeof(*storm));
		storm->seed = seed;
		storm->is_replaced = options.replace_ms >= 0;
		run_storm();
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

static void parse(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "device-dir", required_argument, NULL, 'd' },
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 'n' },
		{ "kills", required_argument, NULL, 'k' },
		{ "replace-ms", required_argument, NULL, 'r' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == 'd')
			options.device_dir = optarg;
		else if (option == 's')
			options.seed = strtoull(optarg, NULL, 0);
		else if (option == 'n')
			options.seeds = strtoull(optarg, NULL, 0);
		else if (option == 'k')
			options.kills = (unsigned int)strtoul(optarg, NULL, 0);
		else if (option == 'r')
			options.replace_ms = atoi(optarg);
		else
			exit(2);
	}
}

static void begin_replacing(void)
{
	if (options.replace_ms < 0)
		return;
	if (!replace_begin(options.device_dir))
		FAIL("no daemon that this user may have hand over serves %s", options.device_dir);
	replace_steadily((unsigned int)options.replace_ms);
}

/* A case: every hand-over succeeded. */
static void end_replacing(struct tap *tap)
{
	unsigned int count;
	const char *why;

	if (options.replace_ms < 0)
		return;
	why = replace_end(&count);
	printf("# %u hand-overs%s%s\n", count, why ? ": " : "", why ? why : "");
	tap_case(tap, !why, "hand-overs");
}

int main(int argc, char **argv)
{
	static char logs[4096];
	struct tap tap = { 0 };

	version_if_asked(argc, argv);
	parse(argc, argv);
	snprintf(logs, sizeof(logs), "%s/binder_logs", options.device_dir);
	audit_begin(logs);
	begin_replacing();
	for (uint64_t seed = options.seed; seed < options.seed + options.seeds; seed++) {
		char name[64];

		snprintf(name, sizeof(name), "--seed %llu --kills %u", (unsigned long long)seed,
			 options.kills);
		tap_case(&tap, try_seed(seed), name);
	}
	end_replacing(&tap);
	return tap_end(&tap);
}
