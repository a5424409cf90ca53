// SPDX-License-Identifier: GPL-2.0
/*
 * A fiber is a stack. The scheduler is not a fiber: a fiber that stops running picks the
 * next one and switches to its stack; the stack that fiber_run() was called on runs only
 * when no fiber can, and when all have returned.
 */
#include "fiber.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define STACK_SIZE ((size_t)512 << 10)
#else
#define STACK_SIZE ((size_t)64 << 10)
#endif
#define GUARD_SIZE ((size_t)4096)
#define FIBERS_MAX 512
#define NEVER	   (~0ull)

enum state { READY, WAITING, LOCKED_OUT, ENDED };

struct fiber {
	void *sp;	 /* of its saved registers, while it does not run */
	ucontext_t here; /* the same, on machines without a switch of their own below */
	u8 *stack;
	void *fake_stack; /* of the address sanitizer */
	enum state state;
	u32 ready_at; /* index in ready[] while READY */
	u64 rank;
	bool woken;
	u64 deadline; /* while WAITING */
	struct sim_lock *wanted;
	u32 lock_ranks, spins_held;
	jmp_buf *escape;
	const char *sleeps; /* the operation that it is in */
	bool left_behind;
	const char *name;
	int id;
	void (*run)(void *arg);
	void *arg;
};

struct fiber *fiber_current;
void (*fiber_at_sleep)(void);
void (*fiber_watch)(enum fiber_access what, const void *at, size_t size);

static struct fiber fibers[FIBERS_MAX], scheduler;
static struct fiber *ready[FIBERS_MAX];
static u32 nr_fibers, nr_ready, nr_live;
static struct fiber_plan plan;
static u64 dice, now_ns, next_deadline, points, trace, lowest_rank;
static bool stopped;	/* by choose() */
static bool reconsider; /* a fiber of a higher rank may have become runnable */

static void __attribute__((noreturn)) fiber_die(const char *what)
{
	fprintf(stderr, "fibers: %s\n", what);
	abort();
}

/* ---- random numbers -------------------------------------------------------------- */

u64 fiber_next(u64 *state)
{
	u64 x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

u32 fiber_dice(u64 *state, u32 sides)
{
	return (u32)((fiber_next(state) >> 32) * sides >> 32);
}

/* ---- the switch ------------------------------------------------------------------ */

#if defined(__x86_64__)
/* Saves the callee-saved registers and the stack pointer, and restores those of @to. */
void fiber_switch_stack(void **save, void *to);
__asm__(".text\n"
	".type fiber_switch_stack, @function\n"
	"fiber_switch_stack:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n"
	"	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n"
	"	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n"
	".size fiber_switch_stack, . - fiber_switch_stack\n");

static void fiber_prepare(struct fiber *f, void (*entry)(void))
{
	u64 *top = (u64 *)(f->stack + GUARD_SIZE + STACK_SIZE);

	*--top = 0; /* no return address; aligns the stack as after a call */
	*--top = (u64)(uintptr_t)entry;
	top -= 6;
	memset(top, 0, 6 * sizeof(*top));
	f->sp = top;
}

static void switch_stack(struct fiber *from, struct fiber *to)
{
	fiber_switch_stack(&from->sp, to->sp);
}
#else
static void fiber_prepare(struct fiber *f, void (*entry)(void))
{
	getcontext(&f->here);
	f->here.uc_stack.ss_sp = f->stack + GUARD_SIZE;
	f->here.uc_stack.ss_size = STACK_SIZE;
	makecontext(&f->here, entry, 0);
}

static void switch_stack(struct fiber *from, struct fiber *to)
{
	swapcontext(&from->here, &to->here);
}
#endif

#if defined(__SANITIZE_ADDRESS__)
static const void *main_stack; /* set by the first switch to a fiber */
static size_t main_stack_size;
#endif

static void switch_to(struct fiber *from, struct fiber *to)
{
	fiber_current = to == &scheduler ? NULL : to;
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_start_switch_fiber(from->state == ENDED ? NULL : &from->fake_stack,
				       to->stack ? to->stack + GUARD_SIZE : main_stack,
				       to->stack ? STACK_SIZE : main_stack_size);
#endif
	switch_stack(from, to);
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

/* ---- scheduling -------------------------------------------------------------------- */

static void make_ready(struct fiber *f)
{
	f->state = READY;
	f->ready_at = nr_ready;
	ready[nr_ready++] = f;
	reconsider = true;
}

static void make_unready(struct fiber *f, enum state state)
{
	f->state = state;
	ready[f->ready_at] = ready[--nr_ready];
	ready[f->ready_at]->ready_at = f->ready_at;
}

/* Makes the fibers ready whose deadline has passed, and finds the next deadline. */
static void fiber_expire(void)
{
	u32 i;

	next_deadline = NEVER;
	for (i = 0; i < nr_fibers; i++) {
		struct fiber *f = &fibers[i];

		if (f->state != WAITING)
			continue;
		if (f->deadline <= now_ns)
			make_ready(f);
		else if (f->deadline < next_deadline)
			next_deadline = f->deadline;
	}
}

/* The fibers that can run: not those that are about to take a lock that another one holds. */
static u32 enabled_fibers(void)
{
	u32 mask = 0, i;

	for (i = 0; i < nr_ready; i++)
		if (!ready[i]->wanted || !ready[i]->wanted->owner)
			mask |= 1u << (ready[i] - fibers);
	if (!mask || nr_fibers > 32)
		fiber_die("choose: no fiber can run, or too many");
	return mask;
}

static struct fiber *fiber_chosen(void)
{
	u32 number = plan.choose(enabled_fibers(), fiber_number());

	stopped = number == FIBER_STOP;
	return stopped ? &scheduler : &fibers[number];
}

static struct fiber *fiber_pick(void)
{
	struct fiber *best;
	u32 i;

	if (plan.choose)
		return fiber_chosen();
	if (plan.policy == FIBER_DICE)
		return ready[fiber_dice(&dice, nr_ready)];
	best = ready[0];
	for (i = 1; i < nr_ready; i++)
		if (ready[i]->rank > best->rank)
			best = ready[i];
	reconsider = false;
	return best;
}

/* What @self called does not return. */
static void escape_if_left(struct fiber *self)
{
	jmp_buf *escape = self->escape;

	if (!self->left_behind)
		return;
	self->left_behind = false;
	self->escape = NULL;
	self->sleeps = NULL;
	longjmp(*escape, 1);
}

/* Runs the next fiber. If @self waits, its state says so already. */
static void fiber_schedule(struct fiber *self)
{
	struct fiber *next;

	if (now_ns >= next_deadline)
		fiber_expire();
	if (!nr_ready && next_deadline != NEVER) {
		now_ns = next_deadline;
		fiber_expire();
	}
	next = nr_ready ? fiber_pick() : &scheduler;
	if (next != self)
		switch_to(self, next);
	escape_if_left(self);
}

void fiber_point(void)
{
	struct fiber *self = fiber_current;
	u64 x;

	if (!self)
		return;
	if (++points > plan.max_points)
		fiber_die("the run does not end");
	if (plan.choose) {
		if (!self->spins_held)
			fiber_schedule(self);
		return;
	}
	x = fiber_next(&dice);
	now_ns += x & 127;
	if ((u32)(x >> 32) % plan.switch_one_in) {
		if (plan.policy == FIBER_DICE || !reconsider)
			return;
	} else if (plan.policy == FIBER_RANKS) {
		self->rank = --lowest_rank;
	}
	fiber_schedule(self);
	trace = (trace ^ (u64)(self - fibers) ^ points << 16) * 0x100000001b3;
}

static void note_access(enum fiber_access what, const void *at, size_t size)
{
	if (fiber_watch)
		fiber_watch(what, at, size);
}

static void fiber_block(enum state state)
{
	struct fiber *self = fiber_current;

	make_unready(self, state);
	fiber_schedule(self);
}

bool fiber_wait(u64 ns)
{
	struct fiber *self = fiber_current;
	bool woken;

	note_access(FIBER_READ, &self->woken, sizeof(self->woken));
	if (!self->woken) {
		self->deadline = ns ? now_ns + ns : NEVER;
		if (self->deadline < next_deadline)
			next_deadline = self->deadline;
		fiber_block(WAITING);
	}
	woken = self->woken;
	note_access(FIBER_WRITE, &self->woken, sizeof(self->woken));
	self->woken = false;
	return woken;
}

void fiber_pause(u64 ns)
{
	u64 until = now_ns + ns;

	if (plan.choose) {
		fiber_point();
		return;
	}
	while (now_ns < until)
		fiber_wait(until - now_ns);
}

void fiber_wake(struct fiber *fiber)
{
	if (!fiber || fiber->state == ENDED)
		return;
	note_access(FIBER_WRITE, &fiber->woken, sizeof(fiber->woken));
	fiber->woken = true;
	if (fiber->state == WAITING)
		make_ready(fiber);
}

/* ---- leaving fibers behind ----------------------------------------------------------------- */

void fiber_outside(void (*run)(void *arg), void *arg)
{
	struct fiber *self = fiber_current;

	fiber_current = NULL;
	run(arg);
	fiber_current = self;
}

void fiber_set_escape(jmp_buf *escape)
{
	fiber_current->escape = escape;
}

void fiber_sleep(const char *operation)
{
	struct fiber *self = fiber_current;

	if (!self)
		return;
	self->sleeps = operation;
	if (operation && fiber_at_sleep)
		fiber_at_sleep();
	escape_if_left(self);
}

const char *fiber_sleeps_in(const struct fiber *fiber)
{
	return fiber->escape && !fiber->lock_ranks && !fiber->spins_held ? fiber->sleeps : NULL;
}

void fiber_leave_behind(struct fiber *fiber)
{
	fiber->left_behind = true;
}

/* ---- start and end --------------------------------------------------------------------- */

static void fiber_entry(void)
{
	struct fiber *self = fiber_current;

#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(NULL, main_stack ? NULL : &main_stack,
					main_stack ? NULL : &main_stack_size);
#endif
	self->run(self->arg);
	if (self->lock_ranks || self->spins_held)
		fiber_die("a fiber ends with a lock held");
	nr_live--;
	fiber_block(ENDED);
	fiber_die("a fiber that has ended runs");
}

void fiber_begin(const struct fiber_plan *the_plan)
{
	plan = *the_plan;
	dice = plan.seed;
	now_ns = 1000;
	next_deadline = NEVER;
	points = trace = 0;
	lowest_rank = 1ull << 62;
	reconsider = false;
	nr_fibers = nr_ready = nr_live = 0;
	fiber_current = NULL;
	stopped = false;
}

struct fiber *fiber_new(const char *name, int id, void (*run)(void *arg), void *arg)
{
	struct fiber *f = &fibers[nr_fibers];
	u8 *stack = f->stack;

	if (nr_fibers++ == FIBERS_MAX)
		fiber_die("too many fibers");
	if (!stack) {
		stack = mmap(NULL, GUARD_SIZE + STACK_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (stack == MAP_FAILED || mprotect(stack, GUARD_SIZE, PROT_NONE))
			fiber_die("no memory for a stack");
	}
	*f = (struct fiber){ .stack = stack, .name = name, .id = id, .run = run, .arg = arg };
	f->rank = (1ull << 62) + (fiber_next(&dice) >> 8);
	fiber_prepare(f, fiber_entry);
	nr_live++;
	make_ready(f);
	return f;
}

/* No fiber can run, and none will. */
static void __attribute__((noreturn)) die_of_deadlock(void)
{
	u32 i;

	for (i = 0; i < nr_fibers; i++) {
		struct fiber *f = &fibers[i];

		if (f->state == ENDED)
			continue;
		fprintf(stderr, "fibers: ");
		fprintf(stderr, f->name, f->id);
		if (f->state != LOCKED_OUT) {
			fprintf(stderr, " waits to be woken\n");
			continue;
		}
		fprintf(stderr, " waits for a lock that ");
		fprintf(stderr, f->wanted->owner->name, f->wanted->owner->id);
		fprintf(stderr, " holds\n");
	}
	fiber_die("deadlock");
}

void fiber_run(fiber_idle idle, void *arg)
{
	u32 i;

	while (nr_live) {
		if (!nr_ready && next_deadline != NEVER)
			now_ns = next_deadline;
		fiber_expire();
		if (nr_ready) {
			struct fiber *next = fiber_pick();

			if (!stopped)
				switch_to(&scheduler, next);
			if (stopped)
				return;
			continue;
		}
		for (i = 0; i < nr_fibers; i++)
			if (fibers[i].state == LOCKED_OUT)
				die_of_deadlock();
		if (!idle(arg))
			die_of_deadlock();
	}
}

u64 fiber_now_ns(void)
{
	return now_ns;
}

u32 fiber_number(void)
{
	return fiber_current ? (u32)(fiber_current - fibers) : FIBER_STOP;
}

bool fiber_on_stack(const void *at)
{
	const u8 *stack = fiber_current->stack;

	return (const u8 *)at >= stack && (const u8 *)at < stack + GUARD_SIZE + STACK_SIZE;
}

u64 fiber_points(void)
{
	return points;
}

u64 fiber_trace(void)
{
	return trace;
}

/* ---- locks -------------------------------------------------------------------------------- */

void fiber_lock(struct sim_lock *lock, bool spin)
{
	struct fiber *self = fiber_current;

	if (lock->owner == self)
		fiber_die("a lock was taken twice");
	self->wanted = lock;
	fiber_point();
	while (lock->owner) {
		lock->waiters++;
		fiber_block(LOCKED_OUT);
		lock->waiters--;
	}
	self->wanted = NULL;
	lock->owner = self;
	if (!spin)
		note_access(FIBER_LOCK, lock, sizeof(lock->owner));
	self->spins_held += spin;
	if (!spin) /* for a trylock of another fiber */
		fiber_point();
}

bool fiber_trylock(struct sim_lock *lock, bool spin)
{
	fiber_point();
	note_access(FIBER_WRITE, lock, sizeof(lock->owner));
	if (lock->owner)
		return false;
	lock->owner = fiber_current;
	fiber_current->spins_held += spin;
	return true;
}

void fiber_unlock(struct sim_lock *lock, bool spin)
{
	u32 i;

	if (lock->owner != fiber_current)
		fiber_die("a lock was dropped that was not held");
	if (!spin)
		note_access(FIBER_UNLOCK, lock, sizeof(lock->owner));
	lock->owner = NULL;
	fiber_current->spins_held -= spin;
	for (i = 0; lock->waiters && i < nr_fibers; i++)
		if (fibers[i].state == LOCKED_OUT && fibers[i].wanted == lock)
			make_ready(&fibers[i]);
	fiber_point();
}

u32 *fiber_lock_ranks(void)
{
	return &fiber_current->lock_ranks;
}

u32 fiber_spins_held(void)
{
	return fiber_current->spins_held;
}
