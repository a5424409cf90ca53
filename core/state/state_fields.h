/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fields: how the tables of fields are written. tests/engine/state/test_state_members.py reads
 * them, to find the members of a struct that are in none.
 */
#ifndef BINDER_STATE_FIELDS_H
#define BINDER_STATE_FIELDS_H

#include "state/state_stream.h"

#define STATE_SIZE(s, m) sizeof(((struct s *)0)->m)
#define STATE_AT(s, m, type_) \
	.name = #s "." #m, .type = type_, .since = 1, .offset = offsetof(struct s, m)

#define NUMBER(s, m) { STATE_AT(s, m, FIELD_NUMBER), .size = STATE_SIZE(s, m) }
/* A number of which the engine relies on being no larger. */
#define NUMBER_MAX(s, m, max_) \
	{ STATE_AT(s, m, FIELD_NUMBER), .size = STATE_SIZE(s, m), .max = max_ }
#define BOOL(s, m) { STATE_AT(s, m, FIELD_BOOL), .size = STATE_SIZE(s, m) }
#define ATOMIC(s, m) { STATE_AT(s, m, FIELD_ATOMIC), .size = STATE_SIZE(s, m) }
#define LINK(s, m, kind_) { STATE_AT(s, m, FIELD_LINK), .kind = kind_ }
#define LIST(s, m, kind_, of, link_) \
	{ STATE_AT(s, m, FIELD_LIST), .kind = kind_, .element = offsetof(struct of, link_) }
#define WORKS(s, m) { STATE_AT(s, m, FIELD_WORKS) }
#define OWN(s, m, own_) { STATE_AT(s, m, FIELD_OWN), .own = &own_ }

/* What is written by functions. */
extern const struct state_own state_own_context, state_own_world_stats, state_own_proc_stats,
	state_own_proc_host, state_own_resources, state_own_to_parent, state_own_files,
	state_own_pages, state_own_gaps, state_own_owner, state_own_log, state_own_dead;

#endif
