// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of the engine. Each block is preceded by its size and its state. In a run of
 * fibers freed blocks are filled with a pattern and kept until its end, so that a read
 * after free returns the pattern and a write after free is detected. With the address
 * sanitizer, which detects both, nothing is kept.
 */
#include "host.h"

#include "base/base_types.h"

#include <stdio.h>
#include <stdlib.h>

#define IN_USE	0x75736564u
#define FREED	0x66726565u
#define PATTERN 0xdb

struct block {
	size_t size;
	struct sim_proc *owner; /* charged for it, or NULL */
	struct block *next; /* on the list of kept blocks, or of those in use */
	struct block **link; /* what points to it there, if it is in use */
	u64 state;
	_Alignas(16) u8 bytes[];
};

static bool keeping;
static struct block *kept, *in_use;
static pthread_mutex_t lists = PTHREAD_MUTEX_INITIALIZER;

static void __attribute__((noreturn)) heap_die(const char *what)
{
	fprintf(stderr, "test host: %s\n", what);
	abort();
}

/* Charges @owner. False: it has a limit, and reached it. */
static bool heap_charge(struct sim_proc *owner, size_t size)
{
	size_t sum;

	if (!owner)
		return true;
	sum = __atomic_add_fetch(&owner->charged, size, __ATOMIC_RELAXED);
	if (!owner->max_charged || sum <= owner->max_charged)
		return true;
	__atomic_sub_fetch(&owner->charged, size, __ATOMIC_RELAXED);
	return false;
}

void *sim_alloc(const struct host_proc *owner, enum sim_op op, size_t size)
{
	struct sim_proc *proc = owner ? owner->sim : NULL;
	struct block *block;

	sim_may_sleep("host_alloc");
	if (sim_fails(op) || !heap_charge(proc, size))
		return NULL;
	block = calloc(1, sizeof(*block) + size);
	if (!block)
		heap_die("out of memory");
	block->size = size;
	block->owner = proc;
	block->state = IN_USE;
	pthread_mutex_lock(&lists);
	block->next = in_use;
	block->link = &in_use;
	if (in_use)
		in_use->link = &block->next;
	in_use = block;
	pthread_mutex_unlock(&lists);
	__atomic_add_fetch(&sim_stats.allocs, 1, __ATOMIC_RELAXED);
	return block->bytes;
}

void sim_free(void *ptr)
{
	struct block *block = ptr ? base_container_of(ptr, struct block, bytes) : NULL;

	sim_may_sleep("host_free");
	if (!block)
		return;
	if (block->state != IN_USE)
		heap_die("memory was freed that is not in use");
	block->state = FREED;
	pthread_mutex_lock(&lists);
	*block->link = block->next;
	if (block->next)
		block->next->link = block->link;
	pthread_mutex_unlock(&lists);
	if (block->owner)
		__atomic_sub_fetch(&block->owner->charged, block->size, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&sim_stats.allocs, 1, __ATOMIC_RELAXED);
	if (!keeping) {
		free(block);
		return;
	}
	memset(block->bytes, PATTERN, block->size);
	block->next = kept;
	kept = block;
}

void sim_heap_drop(void)
{
	while (in_use)
		sim_free(in_use->bytes);
}

void sim_heap_keep(void)
{
#if !defined(__SANITIZE_ADDRESS__)
	keeping = true;
#endif
}

void sim_heap_check(void)
{
	keeping = false;
	while (kept) {
		struct block *block = kept;
		size_t i;

		for (i = 0; i < block->size; i++)
			if (block->bytes[i] != PATTERN)
				heap_die("memory was written to after it was freed");
		kept = block->next;
		free(block);
	}
}
