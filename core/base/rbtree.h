/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bt: a balanced binary search tree, the nodes inside the things sorted.
 *
 * The tree knows no keys. A search is the caller's own loop over left/right, or
 * bt_find() with a comparison; an insertion is bt_insert() with a comparison, or
 * the caller's own descent to an empty slot and bt_link(). Nothing here locks,
 * allocates or sleeps.
 *
 * A node that stands in no tree says so (bt_init, bt_erase): see bt_linked().
 */
#ifndef ANYBINDER_BASE_RBTREE_H
#define ANYBINDER_BASE_RBTREE_H

#include "base_types.h"

struct bt_node {
	struct bt_node *parent;		/* the node itself when in no tree */
	struct bt_node *left;
	struct bt_node *right;
	bool red;
};

struct bt_root {
	struct bt_node *top;
};

#define BT_ROOT { NULL }

/* Orders two nodes: below zero if @a comes before @b, zero if they are equal. */
typedef int (*bt_compare)(const struct bt_node *a, const struct bt_node *b);

/* Orders a key against a node: below zero if the key comes before @node. */
typedef int (*bt_compare_key)(const void *key, const struct bt_node *node);

/* Makes @node one that stands in no tree. */
static inline void bt_init(struct bt_node *node)
{
	node->parent = node;
}

/* Does @node stand in a tree? (@node has been through bt_init once.) */
static inline bool bt_linked(const struct bt_node *node)
{
	return node->parent != node;
}

/* Is there no node in the tree? */
static inline bool bt_empty(const struct bt_root *root)
{
	return !root->top;
}

/* Is @node the only one in the tree?  Nothing needs balancing then. */
static inline bool bt_is_only(const struct bt_root *root, const struct bt_node *node)
{
	return root->top == node && !node->left && !node->right;
}

/* Puts @node into an empty tree. */
static inline void bt_link_only(struct bt_root *root, struct bt_node *node)
{
	node->parent = NULL;
	node->left = NULL;
	node->right = NULL;
	node->red = false;
	root->top = node;
}

/* Puts @node into the empty slot @link of @parent and rebalances. */
void bt_link_below(struct bt_root *root, struct bt_node *node, struct bt_node *parent,
		   struct bt_node **link);

/* The same; @link may also be &root->top, without a parent: where the caller's descent ended. */
static inline void bt_link(struct bt_root *root, struct bt_node *node, struct bt_node *parent,
			   struct bt_node **link)
{
	if (parent)
		bt_link_below(root, node, parent, link);
	else
		bt_link_only(root, node);
}

/*
 * Inserts @node where @compare says. Returns NULL, or the node already there that
 * equals @node; then nothing has changed. (Here and below the descent is inline, so
 * that the comparison is, too.)
 */
static inline struct bt_node *bt_insert(struct bt_root *root, struct bt_node *node,
					bt_compare compare)
{
	struct bt_node **link = &root->top;
	struct bt_node *parent = NULL;

	while (*link) {
		int order = compare(node, *link);

		if (order == 0)
			return *link;
		parent = *link;
		link = order > 0 ? &parent->right : &parent->left;
	}
	bt_link(root, node, parent, link);
	return NULL;
}

/* The node that equals @key, NULL if there is none. */
static inline struct bt_node *bt_find(const struct bt_root *root, const void *key,
				      bt_compare_key compare)
{
	struct bt_node *node = root->top;

	while (node) {
		int order = compare(key, node);

		if (order == 0)
			return node;
		node = order > 0 ? node->right : node->left;
	}
	return NULL;
}

/* The first node not before @key (equal or next above), NULL if there is none. */
static inline struct bt_node *bt_lower_bound(const struct bt_root *root, const void *key,
					     bt_compare_key compare)
{
	struct bt_node *node = root->top;
	struct bt_node *best = NULL;

	while (node) {
		int order = compare(key, node);

		if (order <= 0)
			best = node;
		if (order == 0)
			break;
		node = order > 0 ? node->right : node->left;
	}
	return best;
}

/* Takes @node out, which is not the only one. */
void bt_erase_from_others(struct bt_root *root, struct bt_node *node);

/* Takes @node out; afterwards it stands in no tree. No effect if it already does. */
static inline void bt_erase(struct bt_root *root, struct bt_node *node)
{
	if (bt_is_only(root, node))
		root->top = NULL;
	else if (bt_linked(node))
		bt_erase_from_others(root, node);
	bt_init(node);
}

/* The ends of the tree, NULL if it is empty; the neighbours of a node, NULL at the ends. */
struct bt_node *bt_first(const struct bt_root *root);
struct bt_node *bt_last(const struct bt_root *root);
struct bt_node *bt_next(const struct bt_node *node);
struct bt_node *bt_prev(const struct bt_node *node);

/* The structure that holds @ptr, which is not NULL. */
#define bt_entry(ptr, type, member) base_container_of(ptr, type, member)

/* Each node in order; the tree may not change meanwhile. */
#define bt_for_each(node, root) \
	for (node = bt_first(root); node; node = bt_next(node))

/* As above, but @node itself may be erased or freed in the body. */
#define bt_for_each_safe(node, tmp, root) \
	for (node = bt_first(root), tmp = node ? bt_next(node) : NULL; node; \
	     node = tmp, tmp = node ? bt_next(node) : NULL)

#endif
