// SPDX-License-Identifier: GPL-2.0
/*
 * Receive buffers: allocating and freeing them, their pages, and one-way space; and oneway_spam.c:
 * when a sender is a suspect, and that it is notified.
 */
#include "memory/buffer_alloc.h"
#include "memory/oneway_spam.h"
#include "common/limits.h"
#include "pair.h"
#include "check.h"

#include <stdlib.h>

#define SIZE (64 * HOST_PAGE_SIZE)

struct alloc_world {
	struct binder_alloc alloc;
	struct host_proc proc;
};

static void begin_sized(struct alloc_world *w, size_t map_size)
{
	binder_alloc_init(&w->alloc);
	w->proc.sim = sim_proc_new(1, 0, map_size);
	w->alloc.map.sim = w->proc.sim;
}

static void begin(struct alloc_world *w)
{
	begin_sized(w, SIZE);
}

static void end(struct alloc_world *w)
{
	struct buffer_range *range;

	while ((range = range_first(&w->alloc.space)))
		binder_alloc_free_buffer(&w->alloc,
				   base_container_of(range, struct binder_buffer, range));
	binder_alloc_destroy(&w->alloc);
	sim_proc_free(w->proc.sim);
}

#define ALLOC_TEST(name) TEST_WITH(name, struct alloc_world, w, begin, end)

static struct binder_buffer *get(struct alloc_world *w, size_t size, bool async, s32 pid, int *err)
{
	const struct binder_buffer_request request = {
		.data_size = size, .async = async, .pid = pid
	};
	struct binder_buffer *b = binder_alloc_new_buffer(&w->alloc, &w->proc, &request, err);

	if (b && async)
		binder_oneway_spam_check(&w->alloc, b);
	return b;
}

TEST(buffer_finds_the_mapping)
{
	struct alloc_world w;
	int err;

	begin_sized(&w, 0);
	CHECK(!get(&w, 0, false, 1, &err) && err == -ESRCH);
	CHECK(!binder_alloc_is_attached(&w.alloc));
	end(&w);

	begin_sized(&w, SIZE);
	CHECK(get(&w, 0, false, 1, &err) && !err);
	CHECK(binder_alloc_attach(&w.alloc, NULL, 1, SIZE) == -EBUSY);
	w.proc.sim->unmapped = true;
	CHECK(!get(&w, 0, false, 1, &err) && err == -ESRCH);
	end(&w);
}

ALLOC_TEST(buffer_map_size_is_limited)
{
	struct binder_alloc_stats stats;

	CHECK(binder_alloc_attach(&w->alloc, NULL, 0x1000, 4095) == -EINVAL);
	CHECK(!binder_alloc_attach(&w->alloc, NULL, 0x1000, BINDER_MAP_MAX_SIZE * 2));
	binder_alloc_get_stats(&w->alloc, &stats);
	CHECK(stats.free_async == BINDER_MAP_MAX_SIZE / 2);
	CHECK(stats.pages_free == BINDER_MAP_MAX_SIZE / HOST_PAGE_SIZE);
}

ALLOC_TEST(buffer_sections)
{
	const struct binder_buffer_request request = {
		.data_size = 13, .offsets_size = 8, .extra_size = 24, .pid = 1
	};
	struct binder_buffer *a, *b;
	int err;

	a = binder_alloc_new_buffer(&w->alloc, &w->proc, &request, &err);
	REQUIRE(a);
	CHECK(a->range.size == 16 + 8 + 24);
	CHECK(binder_buffer_offsets_off(a) == 16 && binder_buffer_extra_off(a) == 24);
	CHECK(binder_buffer_address(&w->alloc, a) == SIM_MAP_BASE);
	b = get(w, 0, false, 1, &err);
	CHECK(b && b->range.size == 8 && b->range.off == 48);
}

ALLOC_TEST(buffer_refuses_sizes_that_overflow)
{
	const size_t big[] = { SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2 + 1, SIZE + 1,
			       (size_t)1 << 63, BINDER_MAP_MAX_SIZE + 1 };
	size_t i, j;
	int err;

	for (i = 0; i < sizeof(big) / sizeof(big[0]); i++) {
		for (j = 0; j < 27; j++) {
			size_t sizes[3] = { big[i], j % 3 == 1 ? big[i] : 0, j % 9 / 3 ? 8 : 0 };
			size_t turn = j / 9;
			const struct binder_buffer_request request = {
				.data_size = sizes[turn],
				.offsets_size = sizes[(turn + 1) % 3],
				.extra_size = sizes[(turn + 2) % 3],
				.pid = 1,
			};

			err = 0;
			CHECK(!binder_alloc_new_buffer(&w->alloc, &w->proc, &request, &err));
			CHECK(err == -ENOSPC);
		}
	}
	CHECK(get(w, SIZE, false, 1, &err));
}

ALLOC_TEST(buffer_async_budget)
{
	struct binder_buffer *a, *b;
	int err;

	a = get(w, SIZE / 2, true, 1, &err);
	CHECK(a && !get(w, 0, true, 1, &err) && err == -ENOSPC);
	b = get(w, SIZE / 2, false, 1, &err);
	CHECK(b);
	binder_alloc_free_buffer(&w->alloc, a);
	CHECK(get(w, SIZE / 4, true, 1, &err));
}

ALLOC_TEST(buffer_claim)
{
	struct binder_buffer *a;
	u64 address;
	int err;

	CHECK(!binder_alloc_claim_buffer(&w->alloc, 0, ~0u, &err) && err == -ENOENT);
	a = get(w, 100, false, 1, &err);
	address = binder_buffer_address(&w->alloc, a);
	CHECK(!binder_alloc_claim_buffer(&w->alloc, address, ~0u, &err) && err == -EPERM);
	binder_buffer_allow_user_free(a);
	CHECK(!binder_alloc_claim_buffer(&w->alloc, address + 8, ~0u, &err) && err == -ENOENT);
	CHECK(!binder_alloc_claim_buffer(&w->alloc, address - 8, ~0u, &err) && err == -ENOENT);
	CHECK(!binder_alloc_claim_buffer(&w->alloc, 0, ~0u, &err) && err == -ENOENT);
	CHECK(!binder_alloc_claim_buffer(&w->alloc, (u64)-1, ~0u, &err) && err == -ENOENT);
	CHECK(binder_alloc_claim_buffer(&w->alloc, address, ~0u, &err) == a && !err);
	CHECK(!w->alloc.nr_buffers); /* the space is free */
	CHECK(!binder_alloc_claim_buffer(&w->alloc, address, ~0u, &err) && err == -ENOENT);
	binder_alloc_free_buffer(&w->alloc, a);
	CHECK(!binder_alloc_claim_buffer(&w->alloc, address, ~0u, &err) && err == -ENOENT);
	a = get(w, 0, false, 1, &err);
	/* nothing left of the last use */
	CHECK(!a->claimed && !a->released && !a->user_free && !a->transaction);
}

ALLOC_TEST(buffer_claim_before_zeroing)
{
	struct binder_buffer *a;
	u64 address;
	int err;

	a = get(w, 100, false, 1, &err);
	address = binder_buffer_address(&w->alloc, a);
	a->clear_on_free = true;
	binder_buffer_allow_user_free(a);
	CHECK(binder_alloc_claim_buffer(&w->alloc, address, ~0u, &err) == a && !err);
	CHECK(w->alloc.nr_buffers == 1); /* no other buffer gets the space before it is zeroed */
	CHECK(!binder_alloc_claim_buffer(&w->alloc, address, ~0u, &err) && err == -EPERM);
	binder_alloc_free_buffer(&w->alloc, a);
	CHECK(!w->alloc.nr_buffers);
}

ALLOC_TEST(buffer_clears_on_free)
{
	struct binder_buffer *a;
	int err;

	a = get(w, 64, false, 1, &err);
	host_map_write(&w->alloc.map, 0, "secret", 6);
	a->clear_on_free = true;
	binder_alloc_free_buffer(&w->alloc, a);
	CHECK(w->proc.sim->present[0] && !memcmp(w->proc.sim->map, "\0\0\0\0\0\0", 6));
}

ALLOC_TEST(buffer_spam_suspect_once_until_recovered)
{
	struct binder_buffer *buffers[200];
	int err, nr = 0, suspects = 0;

	/* Leave little more than a tenth, so that only the number of buffers matters. */
	CHECK(get(w, SIZE / 2 - SIZE / 10 - 64, true, 7, &err));
	for (nr = 0; nr < 100; nr++) {
		buffers[nr] = get(w, 0, true, 9, &err);
		suspects += buffers[nr]->oneway_spam_suspect;
		if (buffers[nr]->oneway_spam_suspect) /* the 52nd buffer */
			CHECK(nr == 51);
	}
	CHECK(suspects == 1);
	while (nr)
		binder_alloc_free_buffer(&w->alloc, buffers[--nr]);
	buffers[0] = get(w, 0, true, 9, &err); /* enough is left: recovered */
	CHECK(!buffers[0]->oneway_spam_suspect);
	buffers[1] = get(w, SIZE / 20, true, 7, &err); /* more than a quarter of the space */
	CHECK(buffers[1]->oneway_spam_suspect);
	CHECK(!get(w, 0, true, 7, &err)->oneway_spam_suspect);
}

ALLOC_TEST(buffer_no_host_call_in_the_steady_state)
{
	u64 calls;
	int err, i;

	binder_alloc_free_buffer(&w->alloc, get(w, 0, false, 1, &err));
	calls = sim_stats.calls;
	for (i = 0; i < 100; i++)
		binder_alloc_free_buffer(&w->alloc, get(w, 0, i % 2, 1, &err));
	CHECK(sim_stats.calls == calls);
}

TEST(buffer_failures_leak_nothing)
{
	struct binder_alloc_stats stats;
	struct alloc_world w;
	struct binder_buffer *a;
	u64 nth;
	int err;

	for (nth = 1;; nth++) {
		begin_sized(&w, SIZE);
		sim_arm(SIM_ANY, nth);
		a = get(&w, 5 * HOST_PAGE_SIZE, true, 1, &err);
		if (!sim_stats.failed) {
			end(&w);
			break;
		}
		CHECK(!a && err < 0);
		binder_alloc_get_stats(&w.alloc, &stats);
		CHECK(!stats.buffers && !stats.pages_active);
		a = get(&w, SIZE / 2, true, 1, &err); /* the whole one-way space is free again */
		CHECK(a && !err);
		end(&w);
	}
	CHECK(nth == 5); /* find, page states, struct, populate */
}

ALLOC_TEST(buffer_of_a_dead_process_if_delivered)
{
	struct binder_buffer *a, *b;
	int err;

	a = get(w, 8, false, 1, &err);
	b = get(w, 8, false, 1, &err);
	CHECK(a && !binder_alloc_first_delivered(&w->alloc));
	binder_buffer_allow_user_free(b);
	CHECK(binder_alloc_first_delivered(&w->alloc) == b);
}

ALLOC_TEST(buffer_list_is_in_order)
{
	struct binder_buffer_info info[4];
	struct binder_buffer *a, *b;
	int err;

	a = get(w, 8, false, 1, &err);
	b = get(w, 16, false, 1, &err);
	a->debug_id = 5;
	b->debug_id = 6;
	b->transaction = (struct binder_transaction *)b;
	CHECK(binder_alloc_list(&w->alloc, 0, info, 1) == 1);
	CHECK(binder_alloc_list(&w->alloc, info[0].off + 1, info, 4) == 1);
	CHECK(binder_alloc_list(&w->alloc, 0, info, 4) == 2);
	CHECK(info[0].debug_id == 5 && info[0].off == 0 && info[0].delivered);
	CHECK(info[1].debug_id == 6 && info[1].off == 8 && !info[1].delivered);
	b->transaction = NULL;
}

TEST(buffer_number_is_limited)
{
	struct alloc_world w;
	int err, nr = 0;

	begin_sized(&w, BINDER_MAP_MAX_SIZE);
	while (get(&w, 0, false, 1, &err))
		nr++;
	CHECK(nr == BINDER_MAX_BUFFERS && err == -ENOSPC);
	end(&w);
}

struct stress {
	struct alloc_world *w;
	uint64_t seed;
	u32 wrong;
};

/* Allocates and frees buffers of random sizes; each must keep its content. */
static void *stress_main(void *arg)
{
	struct stress *stress = arg;
	struct alloc_world *w = stress->w;
	struct binder_buffer *kept[8] = { 0 };
	u8 sign[8];
	int i, err;

	memset(sign, (int)(stress->seed & 0xff), sizeof(sign));
	for (i = 0; i < 20000; i++) {
		u32 k = unit_random(&stress->seed) % 8;
		size_t end;

		if (!kept[k]) {
			kept[k] = get(w, unit_random(&stress->seed) % 9000, false, 1, &err);
			if (!kept[k])
				continue;
			end = kept[k]->range.off + kept[k]->range.size - 8;
			host_map_write(&w->alloc.map, kept[k]->range.off, sign, 8);
			host_map_write(&w->alloc.map, end, sign, 8);
		} else {
			end = kept[k]->range.off + kept[k]->range.size - 8;
			stress->wrong += !!memcmp(w->proc.sim->map + kept[k]->range.off, sign, 8);
			stress->wrong += !!memcmp(w->proc.sim->map + end, sign, 8);
			binder_alloc_free_buffer(&w->alloc, kept[k]);
			kept[k] = NULL;
		}
		if (unit_random(&stress->seed) % 16 == 0)
			binder_alloc_shrink(&w->alloc, unit_random(&stress->seed) % 10);
	}
	return NULL;
}

ALLOC_TEST(buffer_threads_share_pages_and_shrink)
{
	struct stress stress[4];
	pthread_t threads[4];
	int i;

	for (i = 0; i < 4; i++) {
		stress[i] = (struct stress){ w, (uint64_t)(i + 1) * 0x1234567, 0 };
		pthread_create(&threads[i], NULL, stress_main, &stress[i]);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		CHECK(stress[i].wrong == 0);
	}
}

TEST(oneway_spam_suspect_if_enabled)
{
	static const char big[WORLD_MAP_SIZE * 15 / 32] = { 0 };
	struct world_call call = { .flags = TF_ONE_WAY, .data = big, .size = sizeof(big) };
	u32 on = 1;
	struct pair p;

	pair_begin(&p);
	CHECK(world_ioctl(p.c, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &on) == 0);
	world_call(p.c, &call);
	CHECK(world_write_read(p.c, true) == 0);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL)); /* the first buffer of the client */
	call.size = 1;
	world_call(p.c, &call);
	CHECK(world_write_read(p.c, true) == 0);
	CHECK(pair_expect(p.c, BR_ONEWAY_SPAM_SUSPECT, NULL));
	CHECK(pair_end(&p));
}

static void send_big(struct pair *p, u32 br)
{
	static const char big[WORLD_MAP_SIZE * 15 / 32] = { 0 };
	struct world_call call = { .flags = TF_ONE_WAY, .data = big, .size = sizeof(big) };

	world_call(p->c, &call);
	CHECK(world_write_read(p->c, true) == 0);
	CHECK(pair_expect(p->c, br, NULL));
}

/* Space that was the same sender's before counts at once. */
PAIR_TEST(oneway_spam_suspect_in_the_space_of_before)
{
	struct binder_transaction_data tr;
	u32 on = 1;

	CHECK(world_ioctl(p->c, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &on) == 0);
	/* A buffer that is kept, behind which the gap is. */
	CHECK(pair_call(p, 0, 1, 0, "x") == BINDER_WOULD_BLOCK);
	world_run(&p->w);
	REQUIRE(pair_expect(p->s, BR_TRANSACTION, NULL));
	pair_reply(p, "");
	CHECK(pair_expect(p->s, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p->c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p->c, BR_REPLY, NULL));
	send_big(p, BR_TRANSACTION_COMPLETE);
	pair_serve(p);
	REQUIRE(pair_expect(p->s, BR_TRANSACTION, &tr));
	world_free_buffer(p->s, &tr);
	world_write_read(p->s, false);
	send_big(p, BR_ONEWAY_SPAM_SUSPECT);
}
