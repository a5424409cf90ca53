// SPDX-License-Identifier: GPL-2.0
/*
 * The functions that the compiler calls for each access to memory with -fsanitize=thread, in place
 * of the library of the race detector. An atomic access outside spinlocks is a scheduling point.
 *
 * The addresses of what a thread allocates must not depend on what others did before, since they
 * identify the accesses of a step that has yet to be run: each thread has memory of its own.
 */
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define IGNORED_MAX 16
#define RECENT	    256 /* a power of two */
#define ARENAS	    9	/* of each fiber, and of none */
#define ARENA_SIZE  ((size_t)16 << 20)
#define LARGE	    ((size_t)64 << 10) /* of a process: not read before it is written */

bool access_wanted;

static struct {
	struct accesses list;
	struct access access[STEP_ACCESSES];
} step;
static struct {
	uintptr_t at;
	size_t size;
} ignored[IGNORED_MAX];
static u32 nr_ignored;
static u32 recent[RECENT]; /* 1 + index in the list, if that has the same word */

/* ---- what a step accesses --------------------------------------------------------------- */

const struct accesses *access_list(void)
{
	return &step.list;
}

void access_clear(void)
{
	step.list.nr = 0;
}

void access_ignore(const void *at, size_t size)
{
	if (!at)
		nr_ignored = 0;
	else
		ignored[nr_ignored].at = (uintptr_t)at;
	if (at)
		ignored[nr_ignored++].size = size;
}

static bool is_ignored(const void *at)
{
	u32 i;

	for (i = 0; i < nr_ignored; i++)
		if ((uintptr_t)at - ignored[i].at < ignored[i].size)
			return true;
	return false;
}

static void access_add(uintptr_t word, u8 bytes, u8 kind)
{
	struct access *list = step.access;
	u32 *slot = &recent[(word ^ word >> 8 ^ kind * 85) % RECENT], i = *slot - 1;

	if (i < step.list.nr && list[i].word == word && list[i].kind == kind) {
		list[i].bytes |= bytes;
		return;
	}
	if (step.list.nr == STEP_ACCESSES) {
		fprintf(stderr, "a step accesses too much memory\n");
		abort();
	}
	*slot = step.list.nr + 1;
	list[step.list.nr++] = (struct access){ .word = word, .bytes = bytes, .kind = kind };
}

static void access_note(enum fiber_access kind, const void *at, size_t size)
{
	uintptr_t from = (uintptr_t)at, end = from + size, word;

	if (!access_wanted || !fiber_current || fiber_on_stack(at) || is_ignored(at))
		return;
	if (kind == FIBER_LOCK || kind == FIBER_UNLOCK) {
		access_add(from / 8 | LOCK_WORD, 1, kind);
		kind = FIBER_READ; /* for a trylock */
	}
	for (word = from / 8; word * 8 < end; word++) {
		u32 first = word * 8 < from ? (u32)(from - word * 8) : 0;
		u32 last = word * 8 + 8 > end ? (u32)(end - word * 8) : 8;

		access_add(word, (u8)((1u << last) - (1u << first)), kind);
	}
}

static void access_atomic(enum fiber_access kind, const void *at, size_t size)
{
	if (!access_wanted || !fiber_current || is_ignored(at))
		return;
	if (!fiber_spins_held())
		fiber_point();
	access_note(kind, at, size);
}

/* ---- called by the instrumented code ---------------------------------------------------- */

#define PLAIN(size)                                                                                \
	void __tsan_read##size(void *at);                                                          \
	void __tsan_write##size(void *at);                                                         \
	void __tsan_unaligned_read##size(void *at);                                                \
	void __tsan_unaligned_write##size(void *at);                                               \
	void __tsan_read##size(void *at)                                                           \
	{                                                                                          \
		access_note(FIBER_READ, at, size);                                                 \
	}                                                                                          \
	void __tsan_write##size(void *at)                                                          \
	{                                                                                          \
		access_note(FIBER_WRITE, at, size);                                                \
	}                                                                                          \
	void __tsan_unaligned_read##size(void *at)                                                 \
	{                                                                                          \
		access_note(FIBER_READ, at, size);                                                 \
	}                                                                                          \
	void __tsan_unaligned_write##size(void *at)                                                \
	{                                                                                          \
		access_note(FIBER_WRITE, at, size);                                                \
	}

#define ATOMIC(bits)                                                                               \
	u##bits __tsan_atomic##bits##_load(const u##bits *at, int order);                          \
	void __tsan_atomic##bits##_store(u##bits *at, u##bits value, int order);                   \
	u##bits __tsan_atomic##bits##_exchange(u##bits *at, u##bits value, int order);             \
	u##bits __tsan_atomic##bits##_fetch_add(u##bits *at, u##bits value, int order);            \
	u##bits __tsan_atomic##bits##_fetch_sub(u##bits *at, u##bits value, int order);            \
	u##bits __tsan_atomic##bits##_load(const u##bits *at, int order)                           \
	{                                                                                          \
		access_atomic(FIBER_READ, at, bits / 8);                                           \
		return *at;                                                                        \
	}                                                                                          \
	void __tsan_atomic##bits##_store(u##bits *at, u##bits value, int order)                    \
	{                                                                                          \
		access_atomic(FIBER_WRITE, at, bits / 8);                                          \
		*at = value;                                                                       \
	}                                                                                          \
	u##bits __tsan_atomic##bits##_exchange(u##bits *at, u##bits value, int order)              \
	{                                                                                          \
		u##bits old;                                                                       \
                                                                                                   \
		access_atomic(FIBER_WRITE, at, bits / 8);                                          \
		old = *at;                                                                         \
		*at = value;                                                                       \
		return old;                                                                        \
	}                                                                                          \
	/* Relaxed: host_atomic_add(), whose result is not used, so that two of them commute. */   \
	u##bits __tsan_atomic##bits##_fetch_add(u##bits *at, u##bits value, int order)             \
	{                                                                                          \
		access_atomic(order == __ATOMIC_RELAXED ? FIBER_ADD : FIBER_WRITE, at, bits / 8);  \
		*at = (u##bits)(*at + value);                                                      \
		return (u##bits)(*at - value);                                                     \
	}                                                                                          \
	u##bits __tsan_atomic##bits##_fetch_sub(u##bits *at, u##bits value, int order)             \
	{                                                                                          \
		return __tsan_atomic##bits##_fetch_add(at, (u##bits)-value, order);                \
	}

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_read_range(void *at, size_t size);
void __tsan_write_range(void *at, size_t size);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_init(void);

void __tsan_read_range(void *at, size_t size)
{
	access_note(FIBER_READ, at, size);
}

void __tsan_write_range(void *at, size_t size)
{
	access_note(FIBER_WRITE, at, size);
}

void __tsan_func_entry(void *caller)
{
}

void __tsan_func_exit(void)
{
}

void __tsan_init(void)
{
	fiber_watch = access_note;
}

/* ---- memory ----------------------------------------------------------------------------- */

/* The linker gives these to all objects in place of calloc() and free() (--wrap). */
void *__real_calloc(size_t nr, size_t size);
void __real_free(void *ptr);
void *__wrap_calloc(size_t nr, size_t size);
void __wrap_free(void *ptr);

static u8 *arenas;
static size_t arena_used[ARENAS];

void memory_begin(void)
{
	if (!arenas)
		arenas = mmap(NULL, ARENAS * ARENA_SIZE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	memset(arena_used, 0, sizeof(arena_used));
}

void *__wrap_calloc(size_t nr, size_t size)
{
	size_t bytes = (nr * size + 15) & ~(size_t)15, *used;
	u32 arena = fiber_number() + 1; /* 0: no fiber */
	u8 *at;

	if (!arenas || arenas == MAP_FAILED)
		return __real_calloc(nr, size);
	used = &arena_used[arena];
	if (arena >= ARENAS || *used + bytes > ARENA_SIZE) {
		fprintf(stderr, "the threads of a world need too much memory\n");
		abort();
	}
	at = arenas + arena * ARENA_SIZE + *used;
	*used += bytes;
	return bytes >= LARGE ? at : memset(at, 0, bytes);
}

void __wrap_free(void *ptr)
{
	if (!arenas || (u8 *)ptr - arenas >= (ptrdiff_t)(ARENAS * ARENA_SIZE) ||
	    (u8 *)ptr < arenas)
		__real_free(ptr);
}

void *own_alloc(size_t size)
{
	void *ptr = malloc(size);

	if (!ptr)
		abort();
	return ptr;
}

void own_free(void *ptr)
{
	__real_free(ptr);
}
