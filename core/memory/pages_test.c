// SPDX-License-Identifier: GPL-2.0
/* The states of pages, one step at a time. */
#include "memory/pages.h"
#include "check.h"

#define NR 16

struct pages_world {
	struct binder_lock lock;
	struct binder_pages pages;
	struct host_map map;
};

static void begin(struct pages_world *w)
{
	binder_lock_init(&w->lock, RANK_ALLOC);
	binder_pages_init(&w->pages);
	binder_pages_attach(&w->pages, binder_pages_alloc(NULL, NR), NR);
	w->map.sim = sim_proc_new(1, 0, NR * HOST_PAGE_SIZE);
}

static void end(struct pages_world *w)
{
	sim_proc_free(w->map.sim);
	binder_pages_destroy(&w->pages);
	binder_lock_destroy(&w->lock);
}

#define PAGES_TEST(name) TEST_WITH(name, struct pages_world, w, begin, end)

/* Claims and populates pages as a new buffer does; returns how many the host populated. */
static size_t use(struct pages_world *w, size_t first, size_t nr)
{
	struct binder_pages_todo todo;

	todo = binder_pages_claim(&w->pages, (struct range_pages){ first, nr });
	if (todo.populate.nr) {
		CHECK(!binder_pages_populate(&w->pages, &w->map, &todo));
		binder_pages_populated(&w->pages, todo.populate);
	}
	return todo.populate.nr;
}

static void drop(struct pages_world *w, size_t first, size_t nr)
{
	binder_pages_release(&w->pages, (struct range_pages){ first, nr });
}

static void check_counts(struct pages_world *w, u32 free, u32 used, u32 available)
{
	CHECK(w->pages.count[PAGE_FREE] == free);
	CHECK(w->pages.count[PAGE_USED] == used);
	CHECK(w->pages.count[PAGE_AVAILABLE] == available);
}

PAGES_TEST(pages_keep_their_memory)
{
	CHECK(use(w, 2, 3) == 3);
	check_counts(w, NR - 3, 3, 0);
	drop(w, 2, 3);
	check_counts(w, NR - 3, 0, 3);
	CHECK(use(w, 2, 3) == 0);
	CHECK(use(w, 1, 5) == 5); /* the run that covers 1 and 5 */
	check_counts(w, NR - 5, 5, 0);
	CHECK(w->pages.high == 5);
	CHECK(sim_stats.populates == 2);
}

PAGES_TEST(pages_shrink_oldest_first)
{
	use(w, 0, NR);
	drop(w, 8, 2);
	drop(w, 4, 1);
	drop(w, 6, 1);
	CHECK(binder_pages_shrink(&w->pages, &w->map, &w->lock, 3) == 3);
	CHECK(w->pages.page[8].state == PAGE_FREE && w->pages.page[9].state == PAGE_FREE);
	CHECK(w->pages.page[4].state == PAGE_FREE && w->pages.page[6].state == PAGE_AVAILABLE);
	CHECK(sim_stats.evicts == 2); /* 8 and 9 in one */
	CHECK(binder_pages_shrink(&w->pages, &w->map, &w->lock, 100) == 1);
	CHECK(binder_pages_shrink(&w->pages, &w->map, &w->lock, 100) == 0);
	check_counts(w, 4, NR - 4, 0);
	CHECK(use(w, 4, 1) == 1);
	CHECK(w->pages.high == NR);
}

PAGES_TEST(pages_shrink_gives_up_when_busy)
{
	use(w, 0, 4);
	drop(w, 0, 4);
	w->pages.shrinking = true;
	CHECK(binder_pages_shrink(&w->pages, &w->map, &w->lock, 4) == 0);
	w->pages.shrinking = false;
	CHECK(binder_pages_shrink(&w->pages, &w->map, &w->lock, 0) == 0);
	CHECK(binder_pages_shrink(&w->pages, &w->map, &w->lock, 4) == 4);
}

PAGES_TEST(pages_shared_while_populating)
{
	struct range_pages one = { 3, 1 };
	struct binder_pages_todo first, second;

	first = binder_pages_claim(&w->pages, one);
	second = binder_pages_claim(&w->pages, one);
	CHECK(first.populate.nr == 1 && second.populate.nr == 1);
	CHECK(!binder_pages_populate(&w->pages, &w->map, &second));
	binder_pages_populated(&w->pages, one);
	CHECK(w->pages.page[3].state == PAGE_USED);
	binder_pages_populated(&w->pages, one);
	CHECK(w->pages.page[3].state == PAGE_USED);
}

PAGES_TEST(pages_are_free_after_a_failed_populate)
{
	struct binder_pages_todo todo;

	sim_arm(SIM_MAP_POPULATE, 1);
	todo = binder_pages_claim(&w->pages, (struct range_pages){ 0, 2 });
	CHECK(binder_pages_populate(&w->pages, &w->map, &todo) == -ENOMEM);
	drop(w, 0, 2);
	check_counts(w, NR, 0, 0);
}

PAGES_TEST(pages_claimed_during_eviction)
{
	struct binder_pages_todo todo;

	use(w, 0, 1);
	drop(w, 0, 1);
	/* The state during host_map_evict(). */
	w->pages.shrinking = true;
	w->pages.page[0].state = PAGE_EVICTING;
	w->pages.oldest = w->pages.newest = PAGE_NOWHERE;
	w->pages.count[PAGE_AVAILABLE]--;
	w->pages.count[PAGE_EVICTING]++;
	todo = binder_pages_claim(&w->pages, (struct range_pages){ 0, 1 });
	CHECK(todo.wait && todo.populate.nr == 1);
	CHECK(w->pages.page[0].state == PAGE_REFILLING);
	CHECK(w->pages.count[PAGE_EVICTING] == 0);
}
