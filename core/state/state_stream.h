/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stream: what the writing and the restoring of the engine's state have in common. The stream is a
 * sequence of records, one for each object, of fields that tables name (docs/PORTING.md). An object
 * is referred to by its number among those of its kind, in the order of the records, from 1. The
 * objects know nothing of their numbers: this folder keeps a map from address to number.
 */
#ifndef BINDER_STATE_STREAM_H
#define BINDER_STATE_STREAM_H

#include "calls/transaction.h"
#include "common/translog.h"
#include "core.h"
#include "entities/context.h"
#include "entities/node.h"
#include "entities/notice.h"
#include "entities/proc.h"
#include "entities/ref.h"
#include "entities/thread.h"
#include "entities/world.h"
#include "state/state_wire.h"

/* What a record describes. Numbers of the stream: they never change. */
enum state_kind {
	STATE_END = 0,
	STATE_WORLD = 1,
	STATE_CONTEXT = 2,
	STATE_PROC = 3,
	STATE_THREAD = 4,
	STATE_NODE = 5,
	STATE_REF = 6,
	STATE_NOTICE = 7,
	STATE_BUFFER = 8,
	STATE_TRANSACTION = 9,
	STATE_LOG = 10,
	STATE_KINDS,
};

struct state_reader;
struct state_writer;

/* Nothing else runs while the state is written or restored, so the world needs no lock. */
static inline void state_assert_private_world(void) ASSERTS(&binder_world.lock)
{
}

/* What a record of a transaction log describes. */
struct state_log {
	struct binder_log_entry entry;
	char context[BINDER_NAME_MAX + 1];
	u32 ring;
};

/* A part of an object that passes to the stream, or from it. */
struct state_part {
	struct state_writer *w; /* NULL: it is read */
	struct state_reader *r;
	struct state_cursor *from;
};

/* A part of an object that a function of its own passes, in both directions. */
struct state_own {
	void (*pass)(struct state_part *part, void *object);
	enum {
		READ_BEFORE, /* by the function that makes the object */
		READ_MAKING, /* when the object is made */
		READ_LINKING /* when all objects are made, because it refers to some */
	} read;
};

enum state_type {
	FIELD_NUMBER, /* a number of 1, 2, 4 or 8 bytes */
	FIELD_ATOMIC,
	FIELD_LINK,  /* a pointer to an object of @kind */
	/* The types that follow are parts, whose size in bytes comes first. */
	FIELD_LIST,  /* objects of @kind, in which the list's element is at @element */
	FIELD_WORKS, /* a todo list */
	FIELD_OWN,
	FIELD_TYPES,
};

struct state_field {
	const char *name; /* "binder_thread.tid" */
	u8 type;	  /* enum state_type */
	u8 kind;
	u8 size;
	u32 since; /* the first version of the stream that has it */
	size_t offset;
	size_t element;
	u64 max; /* FIELD_NUMBER */
	const struct state_own *own;
};

static inline bool state_is_part(const struct state_field *field)
{
	return field->type >= FIELD_LIST;
}

struct state_record {
	const char *name; /* "binder_thread" */
	const struct state_field *fields;
	u32 nr;
};

extern const struct state_own state_own_context, state_own_world_stats, state_own_proc_stats,
	state_own_proc_host, state_own_resources, state_own_to_parent, state_own_files,
	state_own_pages, state_own_gaps, state_own_owner, state_own_log;

/* By enum state_kind. */
extern const struct state_record state_records[STATE_KINDS];

/* For tests: the field with number @nr among all, from 0; NULL: there are fewer. */
const struct state_field *binder_state_field(u32 nr);
#ifdef BINDER_DEBUG
/* For tests: the field that is written as zero, or empty, and restored as if it were not there. */
extern const struct state_field *binder_state_lost;
#else
#define binder_state_lost NULL
#endif

/* ---- objects ------------------------------------------------------------------------- */

/* Objects by kind and number, and their numbers by address. */
struct state_objects {
	struct state_bytes of[STATE_KINDS]; /* pointers */
	u32 nr[STATE_KINDS];
	struct state_numbers numbers;
};

/* Gives @object the next number of its kind. False: no memory. */
bool state_objects_add(struct state_objects *objects, enum state_kind kind, void *object);
/* The number of @object; 0: it has none, or is NULL. */
static inline u32 state_number_of(const struct state_objects *objects, const void *object)
{
	return state_number_get(&objects->numbers, object);
}
/* The object with number @at + 1 of its kind. */
static inline void *state_object_at(const struct state_objects *objects, enum state_kind kind,
				    u32 at)
{
	return ((void **)objects->of[kind].bytes)[at];
}
void state_objects_free(struct state_objects *objects);

/* ---- writing ------------------------------------------------------------------------- */

struct state_writer {
	u32 version;
	int err;
	struct state_objects objects;
	struct state_bytes order;	 /* kinds of the objects, a byte each, as written */
	struct state_bytes record, part; /* the present record, and a part of it */
	struct state_bytes stream;
};

/*
 * Two more things that have a number: a process by its pid, for the owner of the memory of a
 * transaction; and, as 1, a transaction on the stack of its receiver, whose to_parent is valid.
 */
static inline const void *state_pid_key(s32 pid)
{
	return (const void *)((size_t)(u32)pid + 1);
}
static inline const void *state_served_key(const struct binder_transaction *t)
{
	return (const char *)t + 1; /* at no object */
}

/* ---- restoring ----------------------------------------------------------------------- */

struct state_reader {
	u32 version;
	bool linking; /* all objects are made */
	int err;      /* the first failure; @why has a sentence */
	struct host_out *why; /* or NULL */
	u32 met[STATE_KINDS]; /* records read in this pass */
	struct state_objects objects;
	struct binder_proc *proc; /* whose records are read; NULL: none yet */
	struct state_bytes procs; /* of each buffer, by its number: the process that has it */
	enum state_kind kind;	  /* the present record's */
	u64 host_id;		  /* the host's number in it */
	struct state_log log;	  /* the present entry */
};

/*
 * The restoring ends with @err, because of the present record or of object @number of @kind, and
 * with a sentence that ends with @what. Keeps the first failure.
 */
void state_fail(struct state_reader *r, int err, const char *what);
void state_fail_at(struct state_reader *r, enum state_kind kind, u32 number, const char *what);

/* The object with a number of the stream; 0: NULL. Refuses others. */
void *state_object(struct state_reader *r, enum state_kind kind, u64 number);
/* Makes the object of a record, which is @from; NULL: failed. */
void *state_make(struct state_reader *r, enum state_kind kind, struct state_cursor from);
/* Enters @object, whose fields are read, where it belongs. */
void state_enter(struct state_reader *r, enum state_kind kind, void *object);
/* Ends the references that only the making of contexts took. */
void state_forget_contexts(struct state_objects *objects);
/* All fields of a record are linked: enters its object where that was not possible before. */
void state_link(struct state_reader *r, enum state_kind kind, void *object);
/* Enters a buffer into the space of @proc, behind those before. False: there is no such place. */
bool state_enter_buffer(struct binder_proc *proc, struct binder_buffer *buffer);

/* ---- after restoring ----------------------------------------------------------------- */

/* What a node holds for calls that were left behind; a process, of transactions. */
struct state_excess {
	struct binder_node *node;
	struct binder_proc *proc;
	u32 internal_strong, local_strong, local_weak, pins, local_pins;
	bool busy;   /* with a one-way call */
	bool unused; /* nothing refers to it, and nothing of it is queued */
	s32 outstanding;
};

/* Is there more to settle of the node than that it is busy? */
static inline bool state_has_excess_counts(const struct state_excess *excess)
{
	return excess->internal_strong || excess->local_strong || excess->local_weak ||
	       excess->pins || excess->unused;
}

/* A transaction that nothing but such a call had, or a buffer that it was freeing. */
struct state_loose {
	struct binder_transaction *t;
	struct binder_buffer *buffer;
	struct binder_proc *proc;     /* the process that has the buffer */
	struct binder_thread *thread; /* the thread that was freeing the buffer */
};

/* Until binder_state_settle(): what it is to release. */
struct state_left {
	struct state_bytes excess; /* struct state_excess */
	struct state_bytes loose;  /* struct state_loose */
	u32 refs, transactions, completions; /* how many there are */
};
extern struct state_left state_left;
void state_left_free(void);

/* Is the call @t among those that @inner was made for, directly or not? At most @most are. */
bool state_is_made_for(const struct binder_transaction *inner, const struct binder_transaction *t,
		       u32 most);

/*
 * Checks everything that the engine relies on, and finds what calls that were left behind held.
 * Refuses what no state of the engine is.
 */
void state_check(struct state_reader *r);

#endif
