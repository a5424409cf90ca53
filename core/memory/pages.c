// SPDX-License-Identifier: GPL-2.0
/*
 * A page is FREE, POPULATING while its memory is allocated for a buffer, USED, AVAILABLE
 * when it is under no buffer any more, and from there either USED again, without a host
 * call, or EVICTING and then FREE.
 *
 * Two buffers may be on one page that is POPULATING. Neither of the two threads waits for
 * the other: both ask the host for the memory, which has the same effect as asking once.
 *
 * A page that is EVICTING may be claimed too and is REFILLING then: its memory must not be
 * asked for before the old memory is gone. The evicting thread holds a mutex for each run
 * of pages that it evicts; a thread that claimed one of them takes and drops that mutex
 * before it populates. An evicting thread of low priority may be preempted, so the mutex
 * has priority inheritance, and the wait is no longer than the rest of the eviction.
 */
#include "memory/pages.h"

#include "common/cover.h"

void binder_pages_init(struct binder_pages *pages)
{
	host_memset(pages, 0, sizeof(*pages));
	pages->oldest = PAGE_NOWHERE;
	pages->newest = PAGE_NOWHERE;
	binder_pi_mutex_init(&pages->evicting, RANK_PAGES);
}

void binder_pages_destroy(struct binder_pages *pages)
{
	binder_pi_mutex_destroy(&pages->evicting);
	host_free(pages->page);
	pages->page = NULL;
}

struct binder_page *binder_pages_alloc(const struct host_proc *owner, size_t nr)
{
	return host_alloc(owner, nr * sizeof(struct binder_page));
}

void binder_pages_attach(struct binder_pages *pages, struct binder_page *page, size_t nr)
{
	pages->page = page;
	pages->nr = (u32)nr;
	pages->count[PAGE_FREE] = (u32)nr;
}

static inline void lru_add(struct binder_pages *pages, u16 at)
{
	struct binder_page *page = &pages->page[at];

	page->prev = pages->newest;
	page->next = PAGE_NOWHERE;
	if (pages->newest == PAGE_NOWHERE)
		pages->oldest = at;
	else
		pages->page[pages->newest].next = at;
	pages->newest = at;
}

static inline void lru_del(struct binder_pages *pages, u16 at)
{
	struct binder_page *page = &pages->page[at];

	if (page->prev == PAGE_NOWHERE)
		pages->oldest = page->next;
	else
		pages->page[page->prev].next = page->next;
	if (page->next == PAGE_NOWHERE)
		pages->newest = page->prev;
	else
		pages->page[page->next].prev = page->prev;
}

/* Changes the state of page @at, which is @from. */
static inline void set_state(struct binder_pages *pages, size_t at, enum binder_page_state from,
			     enum binder_page_state to)
{
	pages->count[from]--;
	pages->count[to]++;
	if (from == PAGE_AVAILABLE)
		lru_del(pages, (u16)at);
	pages->page[at].state = to;
	if (to == PAGE_AVAILABLE)
		lru_add(pages, (u16)at);
}

/* The next state of a page for each event, by its state. */
static const u8 claimed[PAGE_STATE_COUNT] = {
	[PAGE_FREE] = PAGE_POPULATING,	 [PAGE_POPULATING] = PAGE_POPULATING,
	[PAGE_USED] = PAGE_USED,	 [PAGE_AVAILABLE] = PAGE_USED,
	[PAGE_EVICTING] = PAGE_REFILLING,  [PAGE_REFILLING] = PAGE_REFILLING,
};
static const u8 populated[PAGE_STATE_COUNT] = {
	[PAGE_FREE] = PAGE_FREE,	 [PAGE_POPULATING] = PAGE_USED,
	[PAGE_USED] = PAGE_USED,	 [PAGE_AVAILABLE] = PAGE_AVAILABLE,
	[PAGE_EVICTING] = PAGE_EVICTING, [PAGE_REFILLING] = PAGE_USED,
};
/* A page that is POPULATING becomes FREE; the host keeps memory that it may have already. */
static const u8 released[PAGE_STATE_COUNT] = {
	[PAGE_FREE] = PAGE_FREE,	 [PAGE_POPULATING] = PAGE_FREE,
	[PAGE_USED] = PAGE_AVAILABLE,	 [PAGE_AVAILABLE] = PAGE_AVAILABLE,
	[PAGE_EVICTING] = PAGE_EVICTING, [PAGE_REFILLING] = PAGE_EVICTING,
};
static const u8 evicted[PAGE_STATE_COUNT] = {
	[PAGE_FREE] = PAGE_FREE,	 [PAGE_POPULATING] = PAGE_POPULATING,
	[PAGE_USED] = PAGE_USED,	 [PAGE_AVAILABLE] = PAGE_AVAILABLE,
	[PAGE_EVICTING] = PAGE_FREE,	 [PAGE_REFILLING] = PAGE_POPULATING,
};

static void cover_claim(const struct binder_pages *pages, size_t at)
{
	u8 state = pages->page[at].state;

	if (state == PAGE_POPULATING)
		BINDER_COVER(PAGE_SHARED_POPULATING);
	else if (state == PAGE_EVICTING)
		BINDER_COVER(PAGE_CLAIMED_EVICTING);
}

static void pages_move(struct binder_pages *pages, struct range_pages run, const u8 *next)
{
	size_t at;

	for (at = run.first; at < run.first + run.nr; at++) {
		u8 state = pages->page[at].state;

		if (next[state] != state)
			set_state(pages, at, state, next[state]);
	}
}

static u32 nr_with_memory(const struct binder_pages *pages)
{
	return pages->nr - pages->count[PAGE_FREE];
}

/*
 * The common case: a run of one page whose state changes from @from to @to, with nothing to
 * do after unlock. Returns false if it is another case.
 */
static inline bool move_one(struct binder_pages *pages, struct range_pages run,
			    enum binder_page_state from, enum binder_page_state to)
{
	if (run.nr != 1 || pages->page[run.first].state != from)
		return false;
	set_state(pages, run.first, from, to);
	return true;
}

/* Apart from the common case, which then needs few registers. */
static noinline struct binder_pages_todo claim_run(struct binder_pages *pages,
						   struct range_pages run)
{
	struct binder_pages_todo todo = { 0 };
	struct range_pages *populate = &todo.populate;
	size_t at;

	for (at = run.first; at < run.first + run.nr; at++) {
		u8 state = pages->page[at].state, next = claimed[state];

		cover_claim(pages, at);
		if (next != state)
			set_state(pages, at, state, next);
		if (next != PAGE_POPULATING && next != PAGE_REFILLING)
			continue;
		todo.wait |= next == PAGE_REFILLING;
		if (!populate->nr)
			populate->first = at;
		populate->nr = at - populate->first + 1;
	}
	if (populate->nr && nr_with_memory(pages) > pages->high)
		pages->high = nr_with_memory(pages);
	return todo;
}

struct binder_pages_todo binder_pages_claim(struct binder_pages *pages, struct range_pages run)
{
	if (move_one(pages, run, PAGE_AVAILABLE, PAGE_USED))
		return (struct binder_pages_todo){ 0 };
	return claim_run(pages, run);
}

int binder_pages_populate(struct binder_pages *pages, struct host_map *map,
			  const struct binder_pages_todo *todo)
{
	if (!todo->populate.nr)
		return 0;
	if (todo->wait) {
		BINDER_COVER(PAGES_WAITED_FOR_EVICTION);
		binder_pi_mutex_lock(&pages->evicting);
		binder_pi_mutex_unlock(&pages->evicting);
	}
	return host_map_populate(map, todo->populate.first, todo->populate.nr);
}

void binder_pages_populated(struct binder_pages *pages, struct range_pages run)
{
	pages_move(pages, run, populated);
}

void binder_pages_release(struct binder_pages *pages, struct range_pages run)
{
	if (!move_one(pages, run, PAGE_USED, PAGE_AVAILABLE))
		pages_move(pages, run, released);
}

/*
 * The least recently used page and the available pages that follow it in the map, at most
 * @max, so that the host is called once for the run.
 */
static struct range_pages pages_pick(const struct binder_pages *pages, size_t max)
{
	struct range_pages run = { pages->oldest, 0 };

	if (pages->oldest == PAGE_NOWHERE)
		return run;
	while (run.nr < max && run.first + run.nr < pages->nr &&
	       pages->page[run.first + run.nr].state == PAGE_AVAILABLE)
		run.nr++;
	return run;
}

/*
 * Evicts one run of pages and returns its length; 0 if no page is available, or if a thread
 * is waiting for the end of the previous eviction.
 */
static size_t shrink_run(struct binder_pages *pages, struct host_map *map,
			 struct binder_lock *lock, size_t max)
{
	struct range_pages run;

	/* Taken by threads that populate; reclaim does not delay them. */
	if (!binder_pi_mutex_trylock(&pages->evicting))
		return 0;
	binder_lock(lock);
	run = pages_pick(pages, max);
	pages_move(pages, run, (const u8[PAGE_STATE_COUNT]){ [PAGE_AVAILABLE] = PAGE_EVICTING });
	binder_unlock(lock);
	if (run.nr) {
		host_map_evict(map, run.first, run.nr);
		binder_lock(lock);
		pages_move(pages, run, evicted);
		binder_unlock(lock);
	}
	binder_pi_mutex_unlock(&pages->evicting);
	return run.nr;
}

size_t binder_pages_shrink(struct binder_pages *pages, struct host_map *map,
			   struct binder_lock *lock, size_t max)
{
	size_t done = 0, nr;
	bool busy;

	binder_lock(lock);
	busy = pages->shrinking || pages->oldest == PAGE_NOWHERE || !max;
	if (!busy)
		pages->shrinking = true;
	binder_unlock(lock);
	if (busy)
		return 0;
	do {
		nr = shrink_run(pages, map, lock, max - done);
		done += nr;
	} while (nr && done < max);
	binder_lock(lock);
	pages->shrinking = false;
	binder_unlock(lock);
	return done;
}
