/* SPDX-License-Identifier: GPL-2.0 */
/* tally: what is counted while a restored state is checked. */
#ifndef BINDER_STATE_TALLY_H
#define BINDER_STATE_TALLY_H

#include "calls/transaction.h"
#include "state/state_stream.h"
#include "entities/node.h"

/* Who has a transaction. */
enum {
	MARK_QUEUED = 0x01, /* it is in a todo list */
	MARK_BEHIND = 0x02, /* ... behind another one-way call of the node */
	MARK_SENT = 0x04,   /* it is on the stack of its sender */
	MARK_SERVED = 0x08, /* it is on the stack of its receiver */
	MARK_KEPT = 0x10,   /* by a call that was made for it, whose sender died */
	MARK_TOP = 0x20,    /* it is the innermost one of a stack */
};

/* What explains the counts of a node. */
struct node_tally {
	u32 refs, strong_refs;
	u32 local_strong, local_weak;
	u32 pins, held_pins;
	bool busy;
};

struct state_tally {
	struct state_reader *r;
	/* by number */
	u8 *marks;
	u8 *notice_marks;
	struct node_tally *nodes;
	s32 *outstanding;
	u32 unread; /* completions of the present list */
	u32 most;   /* transactions */
	u64 serial, last_serial;
};

static inline struct node_tally *tally_of(struct state_tally *c, const struct binder_node *node)
{
	return &c->nodes[state_number_of(&c->r->objects, node)];
}

static inline struct binder_proc *tally_owner(const struct binder_node *node)
{
	binder_assert_private(&node->lock);
	return node->proc;
}

static inline struct binder_thread *tally_sender(const struct binder_transaction *t)
{
	binder_assert_private(&t->lock);
	return t->from;
}

void state_refuse(struct state_tally *c, enum state_kind kind, const void *object,
		  const char *what);
/* Compares the counts of all nodes and processes with what explains them. */
void state_check_counts(struct state_tally *c);

#endif
