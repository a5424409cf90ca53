// SPDX-License-Identifier: GPL-2.0
/*
 * Two rules keep the tree balanced: a red node has no red child, and every path from a
 * node down to an empty slot has the same number of black nodes. So no path is more than
 * twice as long as another.
 *
 * A new node is red, which can break the first rule only; fix_red() restores it, going
 * up. Removing a black node breaks the second one; fix_short() restores that, going up as
 * well. Both work for either side: @side is 0 for left and 1 for right.
 */
#include "rbtree.h"

static struct bt_node **bt_child(struct bt_node *node, int side)
{
	return side ? &node->right : &node->left;
}

static bool is_red(const struct bt_node *node)
{
	return node && node->red;
}

/* The side of @node below its parent. */
static int side_of(const struct bt_node *node)
{
	return node->parent->right == node;
}

/* Lets the slot that points at @old, below @parent or at the top, point at @new_node. */
static void replace_child(struct bt_root *root, struct bt_node *parent, struct bt_node *old,
			  struct bt_node *new_node)
{
	if (!parent)
		root->top = new_node;
	else if (parent->left == old)
		parent->left = new_node;
	else
		parent->right = new_node;
	if (new_node)
		new_node->parent = parent;
}

/* Rotates @node down to @side; its child on the other side takes its place and is returned. */
static struct bt_node *bt_rotate(struct bt_root *root, struct bt_node *node, int side)
{
	struct bt_node *up = *bt_child(node, !side);
	struct bt_node *middle = *bt_child(up, side);

	replace_child(root, node->parent, node, up);
	*bt_child(node, !side) = middle;
	if (middle)
		middle->parent = node;
	*bt_child(up, side) = node;
	node->parent = up;
	return up;
}

/* @node is red and so may its parent be, which is the only rule broken. */
static void fix_red(struct bt_root *root, struct bt_node *node)
{
	while (is_red(node->parent)) {
		struct bt_node *parent = node->parent;
		struct bt_node *grand = parent->parent;	/* not NULL: the top is black */
		int side = side_of(parent);
		struct bt_node *uncle = *bt_child(grand, !side);

		if (is_red(uncle)) {
			parent->red = false;
			uncle->red = false;
			grand->red = true;
			node = grand;
			continue;
		}
		if (side_of(node) != side)
			parent = bt_rotate(root, parent, side);
		bt_rotate(root, grand, !side);
		parent->red = false;
		grand->red = true;
		break;
	}
	root->top->red = false;
}

void bt_link_below(struct bt_root *root, struct bt_node *node, struct bt_node *parent,
		   struct bt_node **link)
{
	node->parent = parent;
	node->left = NULL;
	node->right = NULL;
	node->red = true;
	*link = node;
	fix_red(root, node);
}

/*
 * The paths through the child of @parent on @side, which may be empty, have one black
 * node too few. Either a rotation moves one over from the sibling's side, or the
 * sibling's side loses one too and the loop goes on one level up.
 */
static void fix_short(struct bt_root *root, struct bt_node *parent, int side)
{
	while (parent) {
		struct bt_node *sibling = *bt_child(parent, !side);
		struct bt_node *near, *far;

		if (sibling->red) {
			bt_rotate(root, parent, side);
			sibling->red = false;
			parent->red = true;
			sibling = *bt_child(parent, !side);
		}
		near = *bt_child(sibling, side);
		far = *bt_child(sibling, !side);
		if (is_red(near) || is_red(far)) {
			if (!is_red(far)) {
				near->red = false;
				sibling->red = true;
				sibling = bt_rotate(root, sibling, !side);
				far = *bt_child(sibling, !side);
			}
			bt_rotate(root, parent, side);
			sibling->red = parent->red;
			parent->red = false;
			far->red = false;
			return;
		}
		sibling->red = true;
		if (parent->red) {
			parent->red = false;
			return;
		}
		if (parent->parent)
			side = side_of(parent);
		parent = parent->parent;
	}
}

/* Puts @other, which is in no slot, in the place of @node, with its colour and children. */
static void bt_substitute(struct bt_root *root, struct bt_node *node, struct bt_node *other)
{
	replace_child(root, node->parent, node, other);
	other->red = node->red;
	other->left = node->left;
	other->right = node->right;
	if (other->left)
		other->left->parent = other;
	if (other->right)
		other->right->parent = other;
}

/* Removes @node, which has at most one child. */
static void erase_simple(struct bt_root *root, struct bt_node *node)
{
	struct bt_node *parent = node->parent;
	struct bt_node *below = node->left ? node->left : node->right;
	int side = parent ? side_of(node) : 0;

	replace_child(root, parent, node, below);
	if (node->red)
		return;
	/* An only child is red, or one side would be shorter; making it black is enough. */
	if (below)
		below->red = false;
	else
		fix_short(root, parent, side);
}

void bt_erase_from_others(struct bt_root *root, struct bt_node *node)
{
	if (node->left && node->right) {
		struct bt_node *next = bt_next(node);

		erase_simple(root, next);
		bt_substitute(root, node, next);
	} else {
		erase_simple(root, node);
	}
}

static struct bt_node *end_of(struct bt_node *node, int side)
{
	while (node && *bt_child(node, side))
		node = *bt_child(node, side);
	return node;
}

static struct bt_node *bt_neighbour(const struct bt_node *node, int side)
{
	struct bt_node *below = side ? node->right : node->left;

	if (below)
		return end_of(below, !side);
	while (node->parent && side_of(node) == side)
		node = node->parent;
	return node->parent;
}

struct bt_node *bt_first(const struct bt_root *root)
{
	return end_of(root->top, 0);
}

struct bt_node *bt_next(const struct bt_node *node)
{
	return bt_neighbour(node, 1);
}

struct bt_node *bt_prev(const struct bt_node *node)
{
	return bt_neighbour(node, 0);
}
