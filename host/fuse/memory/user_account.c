// SPDX-License-Identifier: GPL-2.0
/* The daemon's memory, charged to the users that it is for. */
#include "memory/user_account.h"

#include "base/clock.h"
#include "base/daemon_state.h"
#include "base/libc.h"
#include "clients/users.h"
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* Before each block of account_alloc(). */
struct block {
	struct account *account;
	size_t charged;
	_Alignas(16) char memory[];
};

/* Bytes that malloc() adds to a block: its own header, and rounding. */
#define MALLOC_COST 16

/* Idle pages of one user are searched for at most once in this time, and freed in this number. */
#define RECLAIM_NS 10000000ull
#define RECLAIM_PAGES 256

/*
 * Trimming takes some milliseconds, in which allocations of other threads wait. So it is done once
 * so much was freed since the last time; beside busy workers not more often than in this time.
 */
#define TRIM_IDLE ((long)1 << 20)
#define TRIM_BUSY ((long)8 << 20)
#define TRIM_NS 1000000000ull

struct accounts {
	atomic_bool unlimited;	/* account_set_unlimited() */
	atomic_long freed;	/* since the last trimming */
	u64 trimmed_ns;
};

void account_init(void)
{
	daemon_part(accounts);
}

void account_set_unlimited(bool unlimited)
{
	atomic_store(&daemon_self->accounts->unlimited, unlimited);
}

static bool account_is_of(const struct host_proc *proc, void *account)
{
	return proc->account == account;
}

/* Frees pages of the account's receive buffers that are under no buffer. False: none. */
static bool account_reclaim(struct account *account)
{
	u64 now = clock_now_ns();

	if (now - atomic_load(&account->reclaimed_ns) < RECLAIM_NS)
		return false;
	atomic_store(&account->reclaimed_ns, now);
	return binder_shrink_some(RECLAIM_PAGES, account_is_of, account);
}

static bool account_try_charge(struct account *account, long size)
{
	long used = atomic_fetch_add_explicit(&account->used, size, memory_order_relaxed) + size;

	if (used <= atomic_load_explicit(&account->granted, memory_order_relaxed) ||
	    user_memory_grant(account) || atomic_load(&daemon_self->accounts->unlimited))
		return true;
	atomic_fetch_sub_explicit(&account->used, size, memory_order_relaxed);
	return false;
}

bool account_charge(struct account *account, size_t size)
{
	if (!account || account_try_charge(account, (long)size))
		return true;
	return account_reclaim(account) && account_try_charge(account, (long)size);
}

/* The account may be gone once nothing is charged to it any more. */
void account_discharge(struct account *account, size_t size)
{
	if (account)
		atomic_fetch_sub_explicit(&account->used, (long)size, memory_order_release);
}

/* malloc() uses the C library's cache of the thread, calloc() does not. */
static struct block *new_block(size_t size)
{
	struct block *block;

	if (size >= 128 * 1024)
		return calloc(1, size);
	block = malloc(size);
	if (block)
		memset(block, 0, size);
	return block;
}

void *account_alloc(struct account *account, size_t size)
{
	size_t charged = size + sizeof(struct block) + MALLOC_COST;
	struct block *block;

	if (!account_charge(account, charged))
		return NULL;
	block = new_block(size + sizeof(*block));
	if (!block) {
		account_discharge(account, charged);
		return NULL;
	}
	block->account = account;
	block->charged = charged;
	return block->memory;
}

void account_note_freed(size_t size)
{
	atomic_fetch_add_explicit(&daemon_self->accounts->freed, (long)size, memory_order_relaxed);
}

void account_free(void *memory)
{
	struct block *block;

	if (!memory)
		return;
	block = (struct block *)((char *)memory - offsetof(struct block, memory));
	account_note_freed(block->charged);
	account_discharge(block->account, block->charged);
	free(block);
}

void account_trim(bool idle)
{
	u64 now;

	if (atomic_load_explicit(&daemon_self->accounts->freed, memory_order_relaxed) <
	    (idle ? TRIM_IDLE : TRIM_BUSY))
		return;
	now = clock_now_ns();
	if (!idle && now - daemon_self->accounts->trimmed_ns < TRIM_NS)
		return;
	daemon_self->accounts->trimmed_ns = now;
	atomic_store_explicit(&daemon_self->accounts->freed, 0, memory_order_relaxed);
	trim_memory();
}
