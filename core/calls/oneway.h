/* SPDX-License-Identifier: GPL-2.0 */
/*
 * oneway: the order of one-way calls. Those to one node are delivered one at a time: while
 * the receiver has one (until it frees the buffer), the others wait in the node's async_todo.
 */
#ifndef BINDER_ONEWAY_H
#define BINDER_ONEWAY_H

#include "common/lock.h"
#include "entities/node.h"

struct binder_transaction;

/*
 * The receiver has freed the buffer of a one-way call to @node: queues the next one. No
 * lock held.
 */
void binder_oneway_next(struct binder_node *node);

/* Removes and returns a waiting call that @t replaces (TF_UPDATE_TXN); NULL if there is none. */
struct binder_transaction *binder_oneway_take_outdated_nlocked(struct binder_node *node,
							       const struct binder_transaction *t)
	REQUIRES(&node->lock);

#endif
