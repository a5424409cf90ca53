// SPDX-License-Identifier: GPL-2.0
/*
 * Depth-first search over the schedules, each run from the beginning (stateless), with dynamic
 * partial-order reduction: source sets and sleep sets (Abdulla, Aronis, Jonsson, Sagonas: Optimal
 * dynamic partial order reduction, POPL 2014). Two steps race if they are dependent and no step
 * between them orders them; then a schedule in which the later one comes first has to be run, too,
 * and a thread that begins it is added to those to try at the earlier one.
 */
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIBERS	   8
#define STEPS_MAX  4096
#define WORDS	   16384 /* of the table, a power of two */
#define NR_KINDS   3	 /* FIBER_READ, FIBER_ADD, FIBER_WRITE */

/* A state on the way, and the step that is run from it. */
struct node {
	u32 enabled;  /* fibers that can run, as a mask */
	u32 try;      /* those that have to be tried */
	u32 tried;    /* and were */
	u32 asleep;   /* those whose next step was tried before, and depends on nothing since */
	u32 chosen;
	struct accesses *set[FIBERS]; /* of the next step of those that were tried or are asleep */
	u32 after[FIBERS]; /* by fiber: 1 + the last of its steps that the chosen one comes after */
};

/* Who accessed a word last. */
struct word {
	uintptr_t word;
	u32 run; /* valid in this run only */
	u32 last[NR_KINDS][FIBERS]; /* 1 + the step */
	u8 bytes[NR_KINDS][FIBERS];
};

static struct node nodes[STEPS_MAX];
static u32 nr_nodes, depth;
static u32 first_new; /* the steps before it are those of the last run */
static enum reduction reduction;
static bool exploring, step_open, pruned;
static u32 order[FIBERS][FIBERS]; /* of the last step of each fiber: node.after */
static struct word words[WORDS];
static u32 run;
static struct explored result;

/* What the open step races with: the last step of each fiber, and those that took locks. */
static u32 racing[FIBERS], locking[FIBERS], nr_locking;

static void __attribute__((noreturn)) explore_die(const char *what)
{
	fprintf(stderr, "exhaustive: %s\n", what);
	abort();
}

static bool conflict(u8 a, u8 b)
{
	static const bool table[5][5] = {
		[FIBER_READ] = { [FIBER_ADD] = true, [FIBER_WRITE] = true },
		[FIBER_ADD] = { [FIBER_READ] = true, [FIBER_WRITE] = true },
		[FIBER_WRITE] = { [FIBER_READ] = true, [FIBER_ADD] = true, [FIBER_WRITE] = true },
		[FIBER_LOCK] = { [FIBER_LOCK] = true, [FIBER_UNLOCK] = true },
		[FIBER_UNLOCK] = { [FIBER_LOCK] = true },
	};

	return table[a][b];
}

static bool is_independent(const struct accesses *a, const struct accesses *b)
{
	u32 i, j;

	for (i = 0; i < a->nr; i++)
		for (j = 0; j < b->nr; j++)
			if (a->access[i].word == b->access[j].word &&
			    a->access[i].bytes & b->access[j].bytes &&
			    conflict(a->access[i].kind, b->access[j].kind))
				return false;
	return true;
}

static struct word *word_of(uintptr_t word)
{
	u32 at = (u32)((word * 0x9e3779b97f4a7c15) >> 50);

	while (words[at].run == run && words[at].word != word)
		at = (at + 1) % WORDS;
	if (words[at].run != run)
		words[at] = (struct word){ .word = word, .run = run };
	return &words[at];
}

/* ---- races ------------------------------------------------------------------------------ */

/* The fibers that can begin what does not depend on step @earlier, up to the open step. */
static u32 initials(u32 earlier, u32 *self_first)
{
	u32 seen = 0, first = 0, of = nodes[earlier].chosen, begins[FIBERS], k, h;

	for (k = earlier + 1; k <= depth; k++) {
		const struct node *n = &nodes[k];
		u32 g = n->chosen;
		bool leads = true;

		if (seen >> g & 1 || (k != depth && n->after[of] > earlier))
			continue;
		for (h = 0; h < FIBERS; h++)
			leads &= !(seen >> h & 1) || n->after[h] <= begins[h];
		seen |= 1u << g;
		begins[g] = k;
		first |= (u32)leads << g;
	}
	*self_first = begins[nodes[depth].chosen] == depth;
	return first;
}

static void reverse(u32 earlier)
{
	struct node *n = &nodes[earlier];
	u32 self = nodes[depth].chosen, at_once, first = initials(earlier, &at_once);

	/* It waited for what the earlier step did, or a lock that was taken before that one. */
	if (at_once && !(n->enabled >> self & 1))
		return;
	first &= n->enabled;
	if (!first)
		n->try |= n->enabled;
	else if (!(first & n->try))
		n->try |= first >> self & 1 ? 1u << self : first & -first;
}

static void find_races(void)
{
	u32 q, r;

	for (q = 0; q < FIBERS; q++) {
		u32 earlier = racing[q] - 1;
		bool direct = racing[q];

		for (r = 0; r < FIBERS && direct; r++)
			if (r != q && racing[r])
				direct = nodes[racing[r] - 1].after[q] <= earlier;
		if (direct)
			reverse(earlier);
	}
	for (q = 0; q < nr_locking; q++)
		reverse(locking[q] - 1);
}

static void meet(const struct word *w, u8 bytes, u32 kind, u32 self, u32 *after)
{
	u32 q, h;

	for (q = 0; q < FIBERS; q++) {
		u32 step = w->last[kind][q];

		if (q == self || !step || !(w->bytes[kind][q] & bytes))
			continue;
		if (step > order[self][q] && step > racing[q])
			racing[q] = step;
		for (h = 0; h < FIBERS; h++)
			if (nodes[step - 1].after[h] > after[h])
				after[h] = nodes[step - 1].after[h];
	}
}

/* In the entry of a lock, WRITE stands for the last time it was taken, READ for its release. */
static void meet_lock(const struct word *w, u32 self, u32 *after)
{
	u32 saved[FIBERS], q;

	memcpy(saved, racing, sizeof(saved));
	meet(w, 1, FIBER_READ, self, after);
	memcpy(racing, saved, sizeof(saved));
	for (q = 0; q < FIBERS; q++)
		if (q != self && w->last[FIBER_WRITE][q] > order[self][q] && nr_locking < FIBERS)
			locking[nr_locking++] = w->last[FIBER_WRITE][q];
}

static void close_step(void)
{
	const struct accesses *list = access_list();
	struct node *n = &nodes[depth];
	u32 self = n->chosen, i, kind;
	size_t size = sizeof(*list) + list->nr * sizeof(list->access[0]);

	memcpy(n->after, order[self], sizeof(n->after));
	memset(racing, 0, sizeof(racing));
	nr_locking = 0;
	for (i = 0; i < list->nr; i++) {
		const struct access *a = &list->access[i];
		struct word *w = word_of(a->word);

		if (a->kind == FIBER_LOCK)
			meet_lock(w, self, n->after);
		for (kind = 0; kind < NR_KINDS && a->kind < FIBER_LOCK; kind++)
			if (conflict(a->kind, (u8)kind))
				meet(w, a->bytes, kind, self, n->after);
	}
	for (i = 0; i < list->nr; i++) {
		const struct access *a = &list->access[i];
		struct word *w = word_of(a->word);

		kind = a->kind == FIBER_LOCK ? FIBER_WRITE
		       : a->kind == FIBER_UNLOCK ? FIBER_READ : a->kind;
		w->last[kind][self] = depth + 1;
		w->bytes[kind][self] |= a->bytes;
	}
	n->after[self] = depth + 1;
	memcpy(order[self], n->after, sizeof(n->after));
	if (depth >= first_new) {
		n->set[self] = own_alloc(size);
		memcpy(n->set[self], list, size);
		if (reduction == REDUCE_ALL)
			find_races();
	}
	result.steps++;
	depth++;
	step_open = false;
	access_clear();
}

/* ---- the schedule ----------------------------------------------------------------------- */

/* False: all that could be run next is asleep. */
static bool open_node(u32 enabled, u32 self)
{
	const struct node *up = depth ? &nodes[depth - 1] : NULL;
	struct node *n = &nodes[depth];
	u32 awake, q;

	if (depth == STEPS_MAX)
		explore_die("a schedule is too long");
	*n = (struct node){ .enabled = enabled };
	for (q = 0; q < FIBERS && up && reduction; q++) {
		if (!((up->asleep | up->tried) >> q & 1) || q == up->chosen ||
		    !is_independent(up->set[q], up->set[up->chosen]))
			continue;
		n->asleep |= 1u << q;
		n->set[q] = up->set[q];
	}
	awake = enabled & ~n->asleep;
	if (!awake)
		return false;
	nr_nodes++;
	result.states++;
	if (self < FIBERS && awake >> self & 1)
		n->chosen = self;
	else
		n->chosen = (u32)__builtin_ctz(awake);
	n->try = reduction == REDUCE_ALL ? 1u << n->chosen : enabled;
	return true;
}

u32 explore_choose(u32 enabled, u32 self)
{
	bool goes_on = self < FIBERS && enabled >> self & 1;

	if (!exploring)
		return goes_on ? self : (u32)__builtin_ctz(enabled);
	if (enabled >> FIBERS)
		explore_die("too many threads");
	if (step_open && goes_on && !access_list()->nr)
		return self;
	if (step_open)
		close_step();
	if (depth < nr_nodes && nodes[depth].enabled != enabled)
		explore_die("the world did not do the same in the same schedule");
	if (depth == nr_nodes && !open_node(enabled, self)) {
		pruned = true;
		exploring = access_wanted = false;
		return FIBER_STOP;
	}
	step_open = true;
	access_clear();
	return nodes[depth].chosen;
}

void explore_start(void)
{
	exploring = access_wanted = true;
	step_open = pruned = false;
	depth = 0;
	run++;
	memset(order, 0, sizeof(order));
	access_clear();
}

void explore_end(void)
{
	if (step_open)
		close_step();
	exploring = access_wanted = false;
	if (depth != nr_nodes)
		explore_die("the world ended earlier in the same schedule");
}

static void forget(struct node *n)
{
	u32 q;

	for (q = 0; q < FIBERS; q++)
		if (n->tried >> q & 1)
			own_free(n->set[q]);
}

bool explore_next(void)
{
	exploring = access_wanted = false;
	result.pruned += pruned;
	result.schedules += !pruned;
	if (depth > result.longest)
		result.longest = depth;
	while (nr_nodes) {
		struct node *n = &nodes[nr_nodes - 1];
		u32 left;

		n->tried |= 1u << n->chosen;
		left = n->try & ~n->tried & ~n->asleep;
		if (left) {
			n->chosen = (u32)__builtin_ctz(left);
			first_new = nr_nodes - 1;
			return true;
		}
		forget(n);
		nr_nodes--;
	}
	return false;
}

void explore_world(enum reduction how)
{
	reduction = how;
	nr_nodes = first_new = 0;
	memset(&result, 0, sizeof(result));
}

bool explore_was_pruned(void)
{
	return pruned;
}

const struct explored *explore_result(void)
{
	return &result;
}
