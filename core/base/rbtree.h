/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bt: a red-black tree; the nodes are members of the sorted structures.
 *
 * Keys are known to the caller only. A search is a loop of the caller over left and right,
 * or bt_find() with a comparison; an insertion is bt_insert() with a comparison, or a
 * descent of the caller to an empty slot and bt_link(). Nothing here locks, allocates or
 * sleeps; the caller serialises all access to a tree.
 *
 * A node that is in no tree points at itself (bt_init(), bt_erase()); see bt_linked().
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

/* Initialises @node, which is in no tree. */
static inline void bt_init(struct bt_node *node)
{
	node->parent = node;
}

/* Returns whether @node, once initialised by bt_init(), is in a tree. */
static inline bool bt_linked(const struct bt_node *node)
{
	return node->parent != node;
}

/* Returns whether @node is the only one in the tree, so that nothing needs balancing. */
static inline bool bt_is_only(const struct bt_root *root, const struct bt_node *node)
{
	return root->top == node && !node->left && !node->right;
}

/* Inserts @node into an empty tree. */
static inline void bt_link_only(struct bt_root *root, struct bt_node *node)
{
	node->parent = NULL;
	node->left = NULL;
	node->right = NULL;
	node->red = false;
	root->top = node;
}

/* Inserts @node into the empty slot @link of @parent and rebalances the tree. */
void bt_link_below(struct bt_root *root, struct bt_node *node, struct bt_node *parent,
		   struct bt_node **link);

/* The same, for a descent that may have ended at &root->top: @parent is NULL then. */
static inline void bt_link(struct bt_root *root, struct bt_node *node, struct bt_node *parent,
			   struct bt_node **link)
{
	if (parent)
		bt_link_below(root, node, parent, link);
	else
		bt_link_only(root, node);
}

/*
 * Inserts @node in the order of @compare. Returns NULL, or a node of the tree that equals
 * @node; the tree has not changed then. Inline, as the searches below, so that the compiler
 * can inline the comparison.
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

/* The node that equals @key; NULL if there is none. */
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

/* The first node that does not come before @key; NULL if there is none. */
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

/* Removes @node, which is not the only one in the tree. */
void bt_erase_from_others(struct bt_root *root, struct bt_node *node);

/* Removes @node from the tree; does nothing if it is in none. */
static inline void bt_erase(struct bt_root *root, struct bt_node *node)
{
	if (bt_is_only(root, node))
		root->top = NULL;
	else if (bt_linked(node))
		bt_erase_from_others(root, node);
	bt_init(node);
}

/* The first node (NULL if the tree is empty) and the neighbours of a node (NULL at the ends). */
struct bt_node *bt_first(const struct bt_root *root);
struct bt_node *bt_next(const struct bt_node *node);
struct bt_node *bt_prev(const struct bt_node *node);

/* The structure that contains the node @ptr, which is not NULL. */
#define bt_entry(ptr, type, member) base_container_of(ptr, type, member)

/* Each node, in order. The body may not change the tree. */
#define bt_for_each(node, root) \
	for (node = bt_first(root); node; node = bt_next(node))

#endif
