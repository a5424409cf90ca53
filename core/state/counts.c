// SPDX-License-Identifier: GPL-2.0
/*
 * Counts are made anew from what there is, and compared with those of the stream. A count may be
 * greater: a call that was left behind had the rest. It is never smaller in a sound stream.
 *
 * Tested in: core/state/state_test.c
 */
#include "state/tally.h"

#include "entities/proc.h"
#include "entities/ref.h"

static void add_excess(struct state_tally *c, const struct state_excess *excess)
{
	state_add(&state_left.excess, excess, sizeof(*excess));
	if (state_left.excess.failed)
		state_fail(c->r, -ENOMEM, "no memory");
}

static void count_refs(struct state_tally *c, const struct binder_node *node)
{
	struct node_tally *tally = tally_of(c, node);
	const struct binder_ref *ref;

	binder_assert_private(&node->lock);
	bl_for_each(ref, &node->refs, node_link) {
		if (ref->node != node)
			state_refuse(c, STATE_NODE, node, "a handle of another node");
		tally->refs++;
		tally->strong_refs += ref->strong > 0;
	}
}

/* @count less what explains it; refuses the node if that is more. */
static u32 excess_of(struct state_tally *c, const struct binder_node *node, u32 count,
		     u32 explained)
{
	if (count < explained)
		state_refuse(c, STATE_NODE, node, "a count is too small");
	return count - explained;
}

static void check_node(struct state_tally *c, struct binder_node *node)
{
	struct node_tally *tally = tally_of(c, node);
	s32 pins = host_atomic_read(&node->pins);
	struct state_excess excess = { .node = node };

	binder_assert_private(&node->lock);
	count_refs(c, node);
	tally->local_strong += node->pending_strong;
	tally->local_weak += node->pending_weak;
	if (node->proc) {
		tally->local_strong += node->is_manager;
		tally->local_weak += node->is_manager;
	} else {
		/* Its counts ended with its owner. */
		tally->local_strong = 0;
		tally->local_weak = 0;
	}
	if (pins < 0 || node->local_pins < 0)
		state_refuse(c, STATE_NODE, node, "a count is wrong");
	excess.internal_strong = excess_of(c, node, node->internal_strong, tally->strong_refs);
	excess.local_strong = excess_of(c, node, node->local_strong, tally->local_strong);
	excess.local_weak = excess_of(c, node, node->local_weak, tally->local_weak);
	excess.pins = excess_of(c, node, (u32)pins, tally->pins);
	excess.local_pins = excess_of(c, node, (u32)node->local_pins, tally->held_pins);
	excess.busy = node->proc && node->async_busy && !tally->busy;
	if (excess.local_pins > excess.pins)
		state_refuse(c, STATE_NODE, node, "a count is wrong");
	/* Settling ends its last weak reference: the node is freed, or its owner is notified. */
	excess.unused = !tally->refs && !pins && !node->local_strong && !node->local_weak &&
			!bl_linked(&node->work.link);
	if (excess.busy || state_has_excess_counts(&excess))
		add_excess(c, &excess);
}

static void check_outstanding(struct state_tally *c, struct binder_proc *proc)
{
	struct state_excess excess = { .proc = proc };
	s32 explained = c->outstanding[state_number_of(&c->r->objects, proc)];

	binder_assert_private(&proc->inner_lock);
	if (proc->outstanding_txns < explained) {
		state_refuse(c, STATE_PROC, proc, "more calls are outstanding than it counts");
		return;
	}
	excess.outstanding = proc->outstanding_txns - explained;
	if (excess.outstanding)
		add_excess(c, &excess);
}

void state_check_counts(struct state_tally *c)
{
	const struct state_objects *objects = &c->r->objects;
	u32 refs = 0, i;

	for (i = 0; i < objects->nr[STATE_NODE]; i++) {
		check_node(c, state_object_at(objects, STATE_NODE, i));
		refs += c->nodes[i + 1].refs;
	}
	/* Each is in one list at most, so all are in that of their node. */
	if (refs != objects->nr[STATE_REF])
		state_fail_at(c->r, STATE_REF, refs, "a handle is in no list");
	for (i = 0; i < objects->nr[STATE_PROC]; i++)
		check_outstanding(c, state_object_at(objects, STATE_PROC, i));
}
