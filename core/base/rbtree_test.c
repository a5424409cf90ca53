// SPDX-License-Identifier: GPL-2.0
/* The tree against a table of the keys that are in it; its balance against the two rules. */
#include "base/rbtree.h"
#include "check.h"

#define NR_KEYS 200
#define NR_STEPS 40000

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
	for (int step = 0; step < NR_STEPS; step++) {
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
