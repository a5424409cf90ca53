// SPDX-License-Identifier: GPL-2.0
/* Containers against models of them, and arithmetic at its limits. */
#include "base/bitmap.h"
#include "base/checked.h"
#include "base/list.h"
#include "base/rbtree.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* ---- bitmap.c: the bitmap against an array of bools, while it grows -------------------------- */

#define BITMAP_STEPS 60000
#define MAX_BITS 1024

static bool grow(struct bm_bitmap *map)
{
	u32 nbits = bm_next_size(map);
	u64 *words = malloc(bm_words(nbits) * sizeof(*words));

	for (size_t i = 0; i < bm_words(nbits); i++)
		words[i] = ~0ull;	/* need not be clear */
	free(bm_grow(map, words, nbits));
	return map->nbits == nbits;
}

static u32 model_lowest(const bool *taken, u32 nbits, u32 from)
{
	for (u32 bit = from; bit < nbits; bit++) {
		if (!taken[bit])
			return bit;
	}
	return BM_NONE;
}

static bool random_step(struct bm_bitmap *map, bool *taken, u64 *seed, bool growing)
{
	u32 bit = unit_random(seed) % (map->nbits + 10);
	u32 expect;

	switch (unit_random(seed) % (growing ? 4 : 8)) {
	case 0:
	case 1:
		bit = unit_random(seed) % 3 ? unit_random(seed) % 2 : bit;
		expect = model_lowest(taken, map->nbits, bit);
		REQUIRE(bm_take(map, bit) == expect, false);
		if (expect != BM_NONE)
			taken[expect] = true;
		else if (bit < 2 && map->nbits < MAX_BITS)
			REQUIRE(grow(map), false);
		break;
	default:
		REQUIRE(bm_release(map, bit) == (bit < map->nbits && taken[bit]), false);
		if (bit < map->nbits)
			taken[bit] = false;
		break;
	}
	return true;
}

TEST(bitmap_random_steps)
{
	struct bm_bitmap map;
	bool taken[MAX_BITS + 16] = { false };
	u64 seed = 3;

	bm_init(&map);
	REQUIRE(bm_take(&map, 0) == BM_NONE);
	REQUIRE(grow(&map));
	for (int step = 0; step < BITMAP_STEPS; step++) {
		u32 used = 0;

		REQUIRE(random_step(&map, taken, &seed, step / 5000 % 2 == 0));
		for (u32 bit = 0; bit < map.nbits + 10; bit++) {
			REQUIRE(bm_test(&map, bit) == (bit < map.nbits && taken[bit]));
			used += taken[bit];
		}
		REQUIRE(map.used == used);
	}
	REQUIRE(map.nbits == MAX_BITS);
	free(map.words);
}

TEST(bitmap_allocates_the_lowest_first)
{
	struct bm_bitmap map;

	bm_init(&map);
	REQUIRE(grow(&map) && grow(&map));
	for (u32 bit = 0; bit < map.nbits; bit++)
		REQUIRE(bm_take(&map, 0) == bit);
	REQUIRE(bm_take(&map, 0) == BM_NONE);
	REQUIRE(bm_release(&map, 100) && bm_release(&map, 5) && bm_release(&map, 70));
	REQUIRE(!bm_release(&map, 5));
	REQUIRE(bm_take(&map, 6) == 70);
	REQUIRE(bm_take(&map, 0) == 5);
	REQUIRE(bm_take(&map, 0) == 100);
	REQUIRE(bm_take(&map, 0) == BM_NONE);
	free(map.words);
}

TEST(bitmap_grown_by_another_thread)
{
	struct bm_bitmap map;
	u64 first[1], second[1], third[2];

	bm_init(&map);
	REQUIRE(bm_grow(&map, first, 64) == NULL);
	REQUIRE(bm_take(&map, 0) == 0);
	/* Another thread was faster: the new words are returned, to be freed. */
	REQUIRE(bm_grow(&map, second, 64) == second);
	REQUIRE(bm_grow(&map, third, 128) == first);
	REQUIRE(bm_test(&map, 0) && !bm_test(&map, 64) && map.used == 1);
	map.nbits = 0x80000000u;
	REQUIRE(bm_next_size(&map) == 0);
}

/* ---- checked.h: the limits of each type; ck_within() for every small range ------------------- */

TEST(checked_limits)
{
	u64 wide;
	u32 narrow;
	s64 swide;
	s32 snarrow;
	size_t size;

	REQUIRE(ck_add_u64(~0ull, 0, &wide) && wide == ~0ull);
	REQUIRE(!ck_add_u64(~0ull, 1, &wide));
	REQUIRE(!ck_sub_u64(0, 1, &wide));
	REQUIRE(ck_mul_u64(1ull << 32, (1ull << 32) - 1, &wide) && wide == ~0ull - 0xffffffffull);
	REQUIRE(!ck_mul_u64(1ull << 32, 1ull << 32, &wide));
	REQUIRE(ck_add_u32(0xfffffffeu, 1, &narrow) && narrow == 0xffffffffu);
	REQUIRE(!ck_add_u32(0xffffffffu, 1, &narrow));
	REQUIRE(!ck_mul_u32(0x10000, 0x10000, &narrow));
	REQUIRE(ck_sub_s64(-INT64_MAX, 1, &swide) && swide == INT64_MIN);
	REQUIRE(!ck_sub_s64(INT64_MIN, 1, &swide));
	REQUIRE(!ck_add_s32(INT32_MAX, 1, &snarrow));
	REQUIRE(ck_mul_s32(-1, INT32_MAX, &snarrow) && snarrow == -INT32_MAX);
	REQUIRE(!ck_mul_s32(-1, INT32_MIN, &snarrow));
	REQUIRE(ck_add_size_t(1, 2, &size) && size == 3);
	REQUIRE(!ck_add_size_t(SIZE_MAX, 1, &size));
}

TEST(checked_within)
{
	for (u64 offset = 0; offset < 8; offset++) {
		for (u64 size = 0; size < 8; size++) {
			for (u64 limit = 0; limit < 8; limit++)
				REQUIRE(ck_within(offset, size, limit) == (offset + size <= limit));
		}
	}
	REQUIRE(!ck_within(~0ull, 2, 100));
	REQUIRE(!ck_within(2, ~0ull, 100));
	REQUIRE(ck_within(~0ull, 0, ~0ull));
}

/* ---- list.h: the list against an array with the same elements -------------------------------- */

#define NR_ITEMS 24
#define LIST_STEPS 20000

struct item {
	int id;
	struct bl_list link;
};

struct model {
	int ids[NR_ITEMS];
	int len;
};

static int model_find(const struct model *model, int id)
{
	for (int i = 0; i < model->len; i++) {
		if (model->ids[i] == id)
			return i;
	}
	return -1;
}

static void model_insert(struct model *model, int at, int id)
{
	memmove(model->ids + at + 1, model->ids + at, (size_t)(model->len - at) * sizeof(int));
	model->ids[at] = id;
	model->len++;
}

static void model_remove(struct model *model, int id)
{
	int at = model_find(model, id);

	if (at < 0)
		return;
	model->len--;
	memmove(model->ids + at, model->ids + at + 1, (size_t)(model->len - at) * sizeof(int));
}

/* Same elements in the same order, in both directions. */
static bool same(struct bl_list *head, const struct model *model)
{
	struct item *item;
	struct bl_list *back = head;
	int i = 0;

	bl_for_each(item, head, link)
		REQUIRE(i < model->len && item->id == model->ids[i++], false);
	REQUIRE(i == model->len && bl_empty(head) == (i == 0), false);
	REQUIRE(bl_empty_racy(head) == (i == 0), false);
	while (i > 0) {
		back = back->prev;
		REQUIRE(bl_entry(back, struct item, link)->id == model->ids[--i], false);
	}
	REQUIRE(back->prev == head, false);
	return true;
}

TEST(list_random_steps)
{
	struct item items[NR_ITEMS];
	struct bl_list head = BL_INIT(head);
	struct model model = { .len = 0 };
	u64 seed = 42;

	for (int i = 0; i < NR_ITEMS; i++) {
		items[i].id = i;
		bl_init(&items[i].link);
	}
	for (int step = 0; step < LIST_STEPS; step++) {
		int id = (int)(unit_random(&seed) % NR_ITEMS);
		struct bl_list *link = &items[id].link;
		bool in = model_find(&model, id) >= 0;

		REQUIRE(bl_linked(link) == in);
		switch (unit_random(&seed) % 4) {
		case 0:
			if (in)
				break;
			bl_add_head(&head, link);
			model_insert(&model, 0, id);
			break;
		case 1:
			bl_del(link);
			bl_add_tail(&head, link);
			model_remove(&model, id);
			model_insert(&model, model.len, id);
			break;
		case 2:
			bl_del(link);
			model_remove(&model, id);
			break;
		case 3:
			link = bl_pop(&head);
			REQUIRE(!link == (model.len == 0));
			REQUIRE(!link || bl_entry(link, struct item, link)->id == model.ids[0]);
			if (link)
				model_remove(&model, model.ids[0]);
			break;
		}
		REQUIRE(same(&head, &model));
	}
}

TEST(list_splice_keeps_order)
{
	for (int split = 0; split <= 6; split++) {
		struct item items[6];
		struct bl_list first = BL_INIT(first), second = BL_INIT(second);
		struct model model = { .len = 0 };

		for (int i = 0; i < 6; i++) {
			items[i].id = i;
			bl_add_tail(i < split ? &first : &second, &items[i].link);
			model_insert(&model, i, i);
		}
		bl_splice_tail(&first, &second);
		REQUIRE(bl_empty(&second));
		REQUIRE(same(&first, &model));
	}
}

TEST(list_ends)
{
	struct bl_list head = BL_INIT(head);
	struct item a = { .id = 1 }, b = { .id = 2 };

	REQUIRE(!bl_first(&head) && !bl_pop(&head));
	REQUIRE(!bl_first_entry(&head, struct item, link));
	bl_add_tail(&head, &b.link);
	bl_add_head(&head, &a.link);
	REQUIRE(bl_first(&head) == &a.link);
	REQUIRE(bl_first_entry(&head, struct item, link)->id == 1);
}

/* ---- rbtree.c: the tree against a table of its keys; its balance ----------------------------- */

#define NR_KEYS 200
#define RBTREE_STEPS 40000

struct thing {
	u32 key;
	struct bt_node node;
};

static u32 key_of(const struct bt_node *node)
{
	return bt_entry(node, const struct thing, node)->key;
}

static int compare(const struct bt_node *a, const struct bt_node *b)
{
	return (key_of(a) > key_of(b)) - (key_of(a) < key_of(b));
}

static int compare_key(const void *key, const struct bt_node *node)
{
	u32 wanted = *(const u32 *)key;

	return (wanted > key_of(node)) - (wanted < key_of(node));
}

/* The number of black nodes on every path down from @node; -1 if a rule is broken below it. */
static int black_height(const struct bt_node *node)
{
	int left, right;

	if (!node)
		return 0;
	if ((node->left && node->left->parent != node) ||
	    (node->right && node->right->parent != node))
		return -1;
	if (node->red && ((node->left && node->left->red) || (node->right && node->right->red)))
		return -1;
	left = black_height(node->left);
	right = black_height(node->right);
	return left < 0 || left != right ? -1 : left + !node->red;
}

static bool in_order(const struct bt_root *root, const struct thing *things)
{
	const struct bt_node *node = bt_first(root);
	const struct bt_node *before = NULL;

	REQUIRE(black_height(root->top) >= 0, false);
	REQUIRE(!root->top || (!root->top->red && !root->top->parent), false);
	for (u32 key = 0; key < NR_KEYS; key++) {
		if (!bt_linked(&things[key].node))
			continue;
		REQUIRE(node == &things[key].node && bt_prev(node) == before, false);
		before = node;
		node = bt_next(node);
	}
	REQUIRE(!node && !root->top == !before, false);
	return true;
}

static void init_things(struct thing *things)
{
	for (u32 key = 0; key < NR_KEYS; key++) {
		things[key].key = key;
		bt_init(&things[key].node);
	}
}

TEST(rbtree_random_steps)
{
	struct thing things[NR_KEYS];
	struct bt_root root = BT_ROOT;
	bool in[NR_KEYS] = { false };
	u64 seed = 7;

	init_things(things);
	for (int step = 0; step < RBTREE_STEPS; step++) {
		/* Phases of growing and of shrinking, so that all sizes occur. */
		bool grow = unit_random(&seed) % 8 < (step / 2000 % 2 ? 3u : 5u);
		u32 key = unit_random(&seed) % NR_KEYS;
		struct bt_node *node = &things[key].node;

		if (grow) {
			struct thing twin = { .key = key };

			REQUIRE(bt_insert(&root, in[key] ? &twin.node : node, compare) ==
			      (in[key] ? node : NULL));
		} else {
			bt_erase(&root, node);
		}
		in[key] = grow;
		REQUIRE(bt_linked(node) == grow);
		REQUIRE(bt_find(&root, &key, compare_key) == (grow ? node : NULL));
		REQUIRE(in_order(&root, things));
	}
}

TEST(rbtree_lower_bound)
{
	struct thing things[NR_KEYS];
	struct bt_root root = BT_ROOT;

	init_things(things);
	for (u32 key = 1; key < NR_KEYS; key += 3)
		REQUIRE(!bt_insert(&root, &things[key].node, compare));
	for (u32 key = 0; key < NR_KEYS; key++) {
		u32 above;
		struct bt_node *node = bt_lower_bound(&root, &key, compare_key);

		if (key % 3 == 1)
			above = key;
		else if (key % 3 == 0)
			above = key + 1;
		else
			above = key + 2;
		REQUIRE(node == (above < NR_KEYS ? &things[above].node : NULL));
	}
}

TEST(rbtree_descent_of_the_caller)
{
	struct thing things[NR_KEYS];
	struct bt_root root = BT_ROOT;
	u64 seed = 99;

	init_things(things);
	for (int step = 0; step < 2000; step++) {
		u32 key = unit_random(&seed) % NR_KEYS;
		struct bt_node **link = &root.top;
		struct bt_node *parent = NULL;

		if (bt_linked(&things[key].node)) {
			bt_erase(&root, &things[key].node);
			continue;
		}
		while (*link) {
			parent = *link;
			link = key < key_of(parent) ? &parent->left : &parent->right;
		}
		bt_link(&root, &things[key].node, parent, link);
		REQUIRE(in_order(&root, things));
	}
}

TEST(rbtree_walk_and_removal)
{
	struct thing things[NR_KEYS];
	struct bt_root root = BT_ROOT;
	struct bt_node *node;
	u32 seen = 0;

	init_things(things);
	for (u32 key = 0; key < NR_KEYS; key++)
		REQUIRE(!bt_insert(&root, &things[key].node, compare));
	bt_for_each(node, &root)
		REQUIRE(key_of(node) == seen++);
	seen = 0;
	while ((node = bt_first(&root))) {
		REQUIRE(key_of(node) == seen++);
		bt_erase(&root, node);
		bt_erase(&root, node);
	}
	REQUIRE(seen == NR_KEYS && !root.top);
}
