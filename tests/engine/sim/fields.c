// SPDX-License-Identifier: GPL-2.0
/*
 * Whether the simulator would find that a field of the state is lost: for each one, scenarios are
 * handed over while the restoring side takes it as zero, or empty. The restoring must be refused,
 * or the model, the audit, or the comparison with the run without hand-overs must fail. The
 * comparison of what is written before and afterwards does not count: it would find them all, and
 * tells nothing about what a field is good for.
 */
#include "scenario.h"

#include "tests/engine/state/unmissed.h"
#include "tests/lib/tap.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEEDS	     800
#define THREE_SEEDS  100 /* with three hand-overs each; the others have one at each occasion */
#define SEED_TIME_S  20
#define WORKERS_MAX 8
#define FIELDS_MAX   1024

/* A scenario without hand-overs. */
struct plain_run {
	u64 trace, history, points;
};
static struct plain_run plain[SEEDS];
static struct scenario scenario;

struct shared {
	u32 next; /* field */
	u32 listed;
	bool found[FIELDS_MAX];
};

/* How many fields have a name that begins with @name. */
static u32 nr_fields(const char *name)
{
	const struct state_field *field;
	u32 found = 0, nr;

	for (nr = 0; (field = field_at(nr)); nr++)
		found += !strncmp(field->name, name, strlen(name));
	return found;
}

static void plan_of(u64 seed, u64 points, struct hand_overs *plan)
{
	u64 dice = seed * 0xd1342543de82ef95;
	u32 i;

	*plan = (struct hand_overs){ .nr = HAND_OVERS_MAX, .always = seed > THREE_SEEDS };
	for (i = 0; i < plan->nr; i++)
		plan->at[i] = points / plan->nr * i + fiber_next(&dice) % (points / plan->nr + 1);
}

/* Ends with an error that says what was missed. */
static void run_all(const struct state_field *lost)
{
	u32 i;

	binder_state_lost = lost;
	for (i = 0; i < SEEDS; i++) {
		struct hand_overs plan;
		u64 trace;

		alarm(SEED_TIME_S);
		fprintf(stderr, "seed %u: ", i + 1);
		plan_of(i + 1, plain[i].points, &plan);
		trace = scenario_run(i + 1, &scenario, &plan);
		if (trace != plain[i].trace || scenario.history != plain[i].history)
			scenario_fail("it went on in another way");
		fprintf(stderr, "\n");
	}
}

/* Reads what the child says, of which the last line counts. */
static void read_last(int from, char *line, size_t size)
{
	FILE *file = fdopen(from, "r");
	char next[300];

	*line = 0;
	while (fgets(next, sizeof(next), file)) {
		next[strcspn(next, "\n")] = 0;
		if (!strncmp(next, "seed ", 5))
			snprintf(line, size, "%s", next);
	}
	fclose(file);
}

/* Whether a seed finds that @field is lost (NULL: none is); *line: how. */
static bool is_found(const struct state_field *field, char *line, size_t size)
{
	int ends[2], status = 0;
	pid_t pid;

	if (pipe(ends) || (pid = fork()) < 0) {
		perror("fields");
		exit(2);
	}
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		run_all(field);
		_exit(0);
	}
	close(ends[1]);
	read_last(ends[0], line, size);
	waitpid(pid, &status, 0);
	if (status && WIFSIGNALED(status) && WTERMSIG(status) != SIGABRT)
		snprintf(line + strlen(line), size - strlen(line), "%s",
			 strsignal(WTERMSIG(status)));
	return status;
}

static void work(struct shared *shared)
{
	const struct state_field *field;
	u32 nr;

	while ((nr = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED),
		field = field_at(nr))) {
		const char *name = field->name;
		const struct unmissed *unlooked = unmissed_of(name);
		char line[400];
		bool found = !unlooked && is_found(field, line, sizeof(line));

		if (found)
			printf("%s: %s\n", name, line);
		else
			printf("%s: %s\n", name, unlooked ? unlooked->why : "NOT FOUND");
		fflush(stdout);
		shared->found[nr] = found || unlooked;
		__atomic_add_fetch(&shared->listed, unlooked != NULL, __ATOMIC_RELAXED);
	}
}

static void run_plain(void)
{
	u32 i;

	for (i = 0; i < SEEDS; i++) {
		plain[i].trace = scenario_run(i + 1, &scenario, NULL);
		plain[i].history = scenario.history;
		plain[i].points = fiber_points();
	}
}

int fields_main(u32 workers)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	u32 nr = nr_fields(""), i;
	struct tap tap = { 0 };
	char line[400];

	if (shared == MAP_FAILED || nr > FIELDS_MAX) {
		perror("mmap");
		return 2;
	}
	for (i = 0; i < NR_UNMISSED; i++) {
		if (!nr_fields(unmissed[i].field)) {
			printf("it is listed and is no field\n");
			tap_case(&tap, false, unmissed[i].field);
		}
	}
	run_plain();
	/* Nothing is lost, so nothing may be found. */
	if (!tap_case(&tap, !is_found(NULL, line, sizeof(line)), "no loss"))
		printf("# without a loss: %s\n", line);
	for (i = 0; i < workers && i < WORKERS_MAX; i++) {
		if (!fork()) {
			work(shared);
			exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	for (i = 0; i < nr; i++)
		if (!unmissed_of(field_at(i)->name))
			tap_case(&tap, shared->found[i], field_at(i)->name);
	printf("# %u fields; of them %u are listed with a reason\n", nr, shared->listed);
	return tap_end(&tap);
}
