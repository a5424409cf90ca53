/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stream: what the writing and the restoring of the engine's state have in common. The stream is a
 * sequence of records, one for each object, of fields that tables name (docs/PORTING.md). An object
 * is referred to by its number among those of its kind, in the order of the records, from 1.
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

/* How a stream begins. */
#define STATE_MAGIC	 "anybindr"
#define STATE_MAGIC_SIZE (sizeof(STATE_MAGIC) - 1)

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

/*
 * What else the writer numbers, as kinds that have no objects: transactions on the stack of their
 * receiver, whose to_parent is valid; and processes by their pids, of which the last one counts.
 */
#define STATE_SERVED STATE_END
#define STATE_PIDS   STATE_WORLD

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

/* Where a field, or a part of several bytes, passes to or from. */
struct state_part {
	struct state_writer *w; /* NULL: it is read */
	struct state_reader *r;
	struct state_cursor *from;
};

struct state_field {
	const char *name; /* "binder_thread.tid" */
	/* How it passes, both ways: by its type, @at in the object; as none does; as a number. */
	void (*pass)(struct state_part *part, const struct state_field *field, void *at);
	void (*own)(struct state_part *part, void *object);
	enum {
		READ_BEFORE, /* by the function that makes the object */
		READ_MAKING, /* when the object is made */
		READ_LINKING /* when all objects are made, because it refers to some */
	} read;
	bool is_part; /* its size in bytes comes first; else it is one number */
	u8 kind; /* of the objects that it refers to */
	u8 size; /* of a number: 1, 2, 4 or 8 bytes; nothing else runs, so an atomic is one, too */
	u32 since; /* the first version of the stream that has it */
	size_t offset;
	size_t element; /* of a list: where it is in these objects */
	u64 max; /* of a number */
};

struct state_record {
	const char *name; /* "binder_thread" */
	const struct state_field *fields;
	u32 nr;
};

/* A pointer to an object; a list of objects; a todo list. */
void state_pass_link(struct state_part *part, const struct state_field *field, void *at);
void state_pass_list(struct state_part *part, const struct state_field *field, void *at);
void state_pass_works(struct state_part *part, const struct state_field *field, void *at);

typedef void state_pass_own(struct state_part *part, void *object);
state_pass_own state_pass_context, state_pass_world_stats, state_pass_proc_stats,
	state_pass_proc_host, state_pass_resources, state_pass_to_parent, state_pass_files,
	state_pass_pages, state_pass_gaps, state_pass_owner, state_pass_log_context;

/* Where the work of each type is in an object; STATE_END: in none. By enum binder_work_type. */
struct state_work {
	enum state_kind kind;
	size_t offset;
};
extern const struct state_work state_works[WORK_TYPES];

static inline void *state_object_of_work(const struct binder_work *work)
{
	return (char *)work - state_works[work->type].offset;
}

/* By enum state_kind. */
extern const struct state_record state_records[STATE_KINDS];

#ifdef BINDER_DEBUG
/* For tests: the field that is written as zero, or empty, and restored as if it were not there. */
extern const struct state_field *binder_state_lost;
#else
#define binder_state_lost NULL
#endif

/* ---- objects ------------------------------------------------------------------------- */

/* The objects of a kind by their numbers, and their numbers by address. */
struct state_objects {
	struct {
		struct state_bytes objects; /* pointers, that with the number 1 first */
		u32 nr;
		u32 *numbers; /* an open table: 0, or the number of an object of such a hash */
		u32 room;     /* places of the table, a power of two */
	} of[STATE_KINDS];
};

/* Gives @object the next number of its kind. False: no memory. */
bool state_objects_add(struct state_objects *objects, enum state_kind kind, void *object);
/* The object with number @at + 1 of its kind. */
static inline void *state_object_at(const struct state_objects *objects, enum state_kind kind,
				    u32 at)
{
	return ((void **)objects->of[kind].objects.bytes)[at];
}
/* Where the table has the number of @object, or room for it. There is a table. */
u32 *state_number_place(const struct state_objects *objects, enum state_kind kind,
			const void *object);
/* The number of @object; 0: it has none, or is NULL. */
static inline u32 state_number_of(const struct state_objects *objects, enum state_kind kind,
				  const void *object)
{
	return object && objects->of[kind].room ? *state_number_place(objects, kind, object) : 0;
}
void state_objects_free(struct state_objects *objects);

/* ---- writing ------------------------------------------------------------------------- */

struct state_writer {
	u32 version;
	int err;
	struct state_objects objects;
	struct state_bytes order; /* kinds of the objects, a byte each, as written */
	struct state_bytes stream;
};

/* The key of a process by its pid. Keys are places of a page apart (state_number_place()). */
static inline void *state_pid_key(s32 pid)
{
	return (void *)(((size_t)(u32)pid + 1) * 16);
}

/* ---- restoring ----------------------------------------------------------------------- */

struct state_reader {
	u32 version;
	bool linking; /* all objects are made */
	int err;      /* the first failure; @why has a sentence */
	struct host_out *why; /* or NULL */
	u32 met[STATE_KINDS]; /* records read in this pass */
	struct state_bytes linked; /* of each record, a byte: has it anything to link? */
	u32 record;		   /* of these, the present one in the second pass */
	bool links;		   /* the present one has something to link */
	struct state_objects objects;
	struct binder_proc *proc; /* whose records are read; NULL: none yet */
	struct state_bytes procs; /* of each buffer, by its number: the process that has it */
	enum state_kind kind;	  /* the present record's */
	u64 host_id;		  /* the host's number in it */
	struct state_log log;	  /* the present entry */
};

/* The process that has the buffer @number. */
static inline struct binder_proc *state_proc_of(const struct state_reader *r, u32 number)
{
	return ((struct binder_proc **)r->procs.bytes)[number - 1];
}

/*
 * The restoring ends with @err, because of the present record or of object @number of @kind, and
 * with a sentence that ends with @what. Keeps the first failure.
 */
void state_fail(struct state_reader *r, int err, const char *what);
void state_fail_at(struct state_reader *r, int err, enum state_kind kind, u32 number,
		   const char *what);

/* The object with a number of the stream; 0: NULL. Refuses others. */
void *state_object(struct state_reader *r, enum state_kind kind, u64 number);
/* Makes the object of a record, which is @from; NULL: failed. */
void *state_make(struct state_reader *r, enum state_kind kind, struct state_cursor from);
/* Enters @object, whose fields are read, where it belongs. */
void state_enter(struct state_reader *r, enum state_kind kind, void *object);
/* All fields of a record are linked: enters its object where that was not possible before. */
void state_link(struct state_reader *r, enum state_kind kind, void *object);

/* ---- both ways ----------------------------------------------------------------------- */

/* Writes @value, or returns the number that is read instead. */
static inline u64 state_pass_number(struct state_part *part, u64 value)
{
	if (!part->w)
		return state_take_number(part->from);
	state_add_number(&part->w->stream, value);
	return value;
}

static inline void state_pass_field(struct state_part *part, const struct state_field *field,
				    void *object)
{
	void *at = (char *)object + field->offset;
	u64 value = 0;

	if (!field->size && field->own) {
		field->own(part, object);
	} else if (!field->size) {
		field->pass(part, field, at);
	} else if (part->w) {
		host_memcpy(&value, at, field->size); /* its low bytes come first on all machines */
		state_pass_number(part, value);
	} else {
		value = state_pass_number(part, 0);
		if (value > field->max)
			state_fail(part->r, -EINVAL, field->name);
		else
			host_memcpy(at, &value, field->size);
	}
}

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
