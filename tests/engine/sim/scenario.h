/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scenario is what one seed decides: processes that have the device open, their actors (threads,
 * a fiber each), and what disturbs them from outside. Every actor keeps a model of what is due to
 * it, and what the engine returns is compared with the model; what the engine keeps is compared
 * with all models when no fiber can run.
 *
 * scenario.c      traits, start and end of processes, the director, the end
 * actor.c         what a thread does, and how it handles the returns that it reads
 * transactions.c  made, sent, checked when they arrive
 * model.c         what is due: handles, objects, notices, calls
 * accidents.c     deaths, signals, holes in memory, overwriting, reclaim, reports
 * audit.c         what must hold of the engine's own state
 * hand_over.c     the engine is written, destroyed and restored
 * fields.c        whether a lost field of what is written would be found
 * exhaustive/     small worlds with fixed actors, each in every schedule
 * main.c          seeds, workers, the summary
 */
#ifndef ANYBINDER_SIM_SCENARIO_H
#define ANYBINDER_SIM_SCENARIO_H

#include "core.h"
#include "entities/context.h"
#include "entities/proc.h"
#include "entities/thread.h"
#include "entities/world.h"
#include "host.h"

#define PROCESSES_MAX 96 /* in a scenario */
#define ACTORS_MAX 8	 /* of a process, at a time */
#define MESSAGES_MAX 8192
#define MESSAGES_OF_ONE 64 /* actor, without chance */
#define OBJECTS 4 /* of each process */
#define HANDLES 24
#define LATER 16
#define SENDS 16
#define EFFECTS 48
#define DEPTH 12
#define ACTORS_TOTAL 400 /* in a scenario */
#define HAND_OVERS_MAX 3

/* The layout of an actor's area in the memory of its process. */
#define AREA 0x8000
#define OUT_SIZE 0x800
#define IN_AT 0x1000
#define IN_SIZE 0x200
#define DATA_AT 0x2000
#define DATA_SIZE 0x400
#define DATAS 20 /* more than can be sent before one is completed */

/* What can happen in a scenario. */
struct traits {
	u32 processes, loopers, clients, steps;
	size_t map_size;
	u32 faults_one_in; /* host calls; 0: none */
	enum sim_op fault; /* SIM_ANY: all of them */
	bool holes;	   /* memory comes and goes */
	bool scribbles;	   /* senders change what they send */
	bool kills, signals, freezes, reclaim, reports, misbehaves, late_files, realtime, secctx;
	bool pollers;
	bool pressure; /* pages are allocated and reclaimed all the time */
	bool rivals;   /* two processes try to become manager */
	bool calm;     /* nothing that makes calls fail: none may */
};

enum message_kind { CALL, ONEWAY, REPLY };

/* A transaction that was sent; its number is its index, from 1. */
struct message {
	u8 kind;
	bool delivered;
	bool lost;	/* its sender was returned a failure */
	bool scribbled; /* its contents may arrive as anything */
	u32 parent;	/* CALL: the call that its sender serves; REPLY: the call */
	struct actor *from;
	struct process *to;
	u32 order; /* ONEWAY: increases with each one of a sender */
	u32 nr_offsets;
};

/* REQUESTING, CLEARING: queued, maybe not yet consumed by the engine. */
enum notice_state { NOT_REQUESTED, REQUESTING, REQUESTED, DELIVERED, CLEARING, CLEARING_DELIVERED };

enum { DEATH, FREEZE, NOTICES };

/* A handle that a process knows; entry 0 is handle 0, the manager. */
struct handle {
	u32 desc;
	u32 strong, weak; /* counts that the process has; both 0: unused entry */
	u32 in_use;	  /* by commands not yet consumed */
	enum notice_state notice[NOTICES];
	u64 cookie[NOTICES];
};

struct own_object {
	s32 strong, weak;	 /* as the engine has returned them */
	s32 in_flight;		 /* one-way calls delivered and not freed */
	u32 order[ACTORS_TOTAL]; /* of the last one-way call of each actor */
};

struct process {
	struct scenario *scenario;
	u32 id;
	struct sim_proc *sim;
	struct binder_proc *proc; /* NULL: not open yet, or released */
	bool manager;
	bool permanent; /* the director's own: never killed */
	bool dying;
	bool confused; /* a return was lost: its model is unreliable */
	bool frozen;   /* BINDER_FREEZE succeeded */
	u32 freezes;   /* begun */
	u32 freezing;  /* in progress */
	struct actor *actors[ACTORS_MAX];
	u32 nr_actors, nr_born;
	u32 outside_users; /* fibers outside the process that use its open now */
	bool released;
	struct handle handles[HANDLES];
	struct own_object objects[OBJECTS];
	u64 later[LATER];	 /* buffers to be freed at some time */
	s32 later_object[LATER]; /* the object of its one-way call, or -1 */
	u32 nr_later;
};

struct sent {
	u8 kind;
	u32 message;
};

struct frame {
	char what; /* 'C': a call that it made, 'S': one that it serves */
	bool completed;
	u32 message;
};

enum effect_kind { EFFECT_STRONG, EFFECT_WEAK, EFFECT_NOTICE, EFFECT_USE, EFFECT_BUFFER };

/* What takes effect when the engine has consumed a command. */
struct effect {
	enum effect_kind kind;
	size_t at; /* end of that command in the out buffer */
	u32 desc;
	u32 notice;	       /* EFFECT_NOTICE: which */
	struct handle *handle; /* EFFECT_NOTICE, EFFECT_USE */
	u64 buffer;	       /* EFFECT_BUFFER: any thread may free it from then on */
	s32 object;
};

enum role { LOOPER, CLIENT, POLLER };

struct actor {
	struct process *process;
	u32 id; /* in the scenario */
	u32 slot;
	s32 tid;
	struct sim_thread sim;
	struct host_priority priority, base;
	enum role role;
	bool registered; /* by BC_REGISTER_LOOPER, not yet queued */
	bool entered;
	u32 steps;
	bool interrupted;
	bool inside;  /* in a call of the driver */
	bool in_engine; /* and the engine runs it, which it may be left behind in */
	struct binder_thread *thread; /* of that call, or NULL */
	bool waiting; /* the call is parked */
	bool writing; /* its commands are not consumed yet */
	bool polling;
	u32 cmd;
	u64 area;
	u8 out[OUT_SIZE];
	size_t out_len;
	u32 next_data;
	struct effect effects[EFFECTS];
	u32 nr_effects;
	struct sent sent[SENDS]; /* whose completion is due, oldest first */
	u32 nr_sent;
	struct frame stack[DEPTH];
	u32 depth;
	u32 order;
	/* of a scenario without chance */
	const char *script; /* what it does */
	bool at_gate;	    /* it waits until that begins */
	u32 cargo;	    /* the own object that its next call carries; 0: none */
	u32 nr_messages, nr_cookies;
	u64 history; /* a hash of what the engine returned to it */
};

/* When the engine is handed over: at the first occasion after these scheduling points. */
struct hand_overs {
	u32 nr;
	u64 at[HAND_OVERS_MAX];
	bool always;  /* at each occasion, instead */
	bool leaves;  /* leaves calls behind, where that is possible soon */
	bool compare; /* the restored state must be written like the one before */
	u32 done, left; /* hand-overs; calls that were left behind */
	u64 bytes;	/* that were written */
};

struct scenario {
	u64 seed, dice;
	struct traits traits;
	struct binder_context *context;
	struct process *processes[PROCESSES_MAX];
	u32 nr_processes;
	struct actor *actors[ACTORS_TOTAL];
	u32 nr_actors;
	struct message messages[MESSAGES_MAX];
	u32 nr_messages;
	u64 last_cookie;
	s32 last_pid;
	struct fiber *director;
	bool director_waits;
	bool manager_ready;
	bool over;  /* no more disturbances */
	void (*act)(struct actor *a); /* not NULL: what each thread does; nothing is random */
	bool exact; /* the engine's counts must equal those of the models */
	u64 calls, failures, audits;
	u32 inside; /* fibers inside the engine */
	struct hand_overs hand_overs;
	u64 history; /* a hash of all that the engine returned */
};

extern bool scenario_verbose;

/*
 * Runs one seed to the end; an error ends the program. Returns a hash that is the same in every
 * run of the seed, also with hand-overs that leave no call behind. @plan: NULL: there are none.
 */
u64 scenario_run(u64 seed, struct scenario *scenario, const struct hand_overs *plan);

/* Prints an error of the engine and ends the program. */
void scenario_fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void scenario_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

u32 scenario_random(struct scenario *scenario, u32 sides);
static inline bool one_in(struct scenario *scenario, u32 sides)
{
	return !scenario_random(scenario, sides);
}

struct process *process_new(struct scenario *scenario, bool manager);
/* The parts of that: without a thread; the first call; a thread, without a fiber. */
struct process *process_make(struct scenario *scenario, bool manager);
bool process_open(struct process *process);
void become_manager(struct actor *a);
struct actor *actor_make(struct process *process, enum role role, bool registered);
/* A fiber that runs @a until its end. */
void actor_start(struct actor *a);
/* Unmaps its memory and makes its threads exit; the last of them closes the device. */
void process_kill(struct process *process);
/* Begins and ends a use of the open from outside the process; false: it is being released. */
bool process_enter(struct process *process);
void process_leave(struct process *process);
/* Starts another thread of @process. */
void actor_new(struct process *process, enum role role, bool registered);
/* What a thread does, from start to exit. */
void actor_run(struct actor *a);
/* Around all scenarios: the engine begins; it has nothing left. */
void scenario_begin(struct scenario *scenario);
void scenario_check_nothing_left(struct scenario *scenario);
/* Waits until no other fiber can run. */
void director_wait_idle(struct scenario *scenario);
/* The parts of what a thread does. */
char actor_innermost(const struct actor *a);
void actor_send_call(struct actor *a);
void actor_send_oneway(struct actor *a);
void actor_exit_thread(struct actor *a);
/* Writes the queued commands; an unread error return stops that. */
void actor_flush(struct actor *a);

/*
 * One complete ioctl with its parking and waking. Returns what binder_ioctl() does; -ESHUTDOWN if
 * the process was dead before, -EAGAIN with @nonblock.
 */
int actor_ioctl(struct actor *a, u32 cmd, void *arg, bool nonblock);
/*
 * Writes the queued commands (after a partial write: the rest of them) and, if @read, reads and
 * handles returns.
 */
int actor_write_read(struct actor *a, bool read, bool nonblock);
/* Queues a command. */
bool actor_put(struct actor *a, u32 bc, const void *arg);

/* transactions.c */
void parcel_send(struct actor *a, enum message_kind kind, u32 handle);
void parcel_receive(struct actor *a, u32 br, const struct binder_transaction_data *tr);
void parcel_free_later(struct actor *a);
void parcel_scribble(struct scenario *scenario);

/* model.c */
/* No message has a higher number. */
u32 model_last_message(const struct scenario *scenario);
u32 model_message(struct actor *a, enum message_kind kind, bool scribbled);
void model_sent(struct actor *a, enum message_kind kind, u32 message);
void model_completed(struct actor *a, u32 br);
/* A read that does not wait, or whose wait was interrupted, returned nothing. */
void model_not_read(struct actor *a);
void model_failed(struct actor *a, u32 br);
void model_call_arrived(struct actor *a, u32 message);
void model_reply_arrived(struct actor *a, u32 message);
void model_oneway_arrived(struct actor *a, u32 message, u32 object);
/* A return about an own object. */
void model_object(struct actor *a, u32 br, const struct binder_ptr_cookie *name);
/*
 * A handle with a strong count, which the process keeps until the command that is queued next is
 * consumed; NULL: it has none.
 */
struct handle *model_use(struct actor *a);
/* Queues a command that takes a strong count of handle 0. */
void model_acquire_manager(struct actor *a);
/* Queues a command that takes a count of a handle from a received buffer. */
void model_acquire(struct actor *a, u32 desc, bool strong);
/* Keeps a buffer until the commands about its contents are consumed, then frees it some time. */
void model_keep(struct actor *a, u64 buffer, s32 object);
/* The engine consumed the first @consumed bytes of the queued commands. */
void model_consumed(struct actor *a, size_t consumed);
void model_release(struct actor *a);
void model_release_handle(struct actor *a, struct handle *h);
/* Requests a notice about a handle, or clears it. */
void model_request_notice(struct actor *a);
void model_toggle_notice(struct actor *a, u32 notice);
void model_notice(struct actor *a, u32 br, const u8 *arg);
void model_forget_thread(struct actor *a);

/* Own objects: handle 0 refers to number 0 of the manager. */
static inline u64 object_ptr(u32 object)
{
	return 0x1000 + 0x10 * (u64)object;
}

static inline u64 object_cookie(const struct process *process, u32 object)
{
	return (u64)process->id << 32 | object;
}

/* accidents.c */
void accidents_begin(struct scenario *scenario);
struct process *pick_process(struct scenario *scenario, bool killable);
/* Freezes or thaws @target, and asks for its state. */
void actor_freeze(struct actor *a, struct process *target, bool enable, u32 timeout_ms);

/*
 * audit.c: checks the engine while every thread is outside it or parked. @idle: no fiber can run,
 * so that all that the engine returned was handled.
 */
void audit(struct scenario *scenario, bool idle);

/* hand_over.c: around each use of the engine. @a may be left behind in it; NULL: it may not. */
void engine_enter(struct scenario *scenario, struct actor *a);
void engine_leave(struct scenario *scenario, struct actor *a);
void hand_over_begin(struct scenario *scenario, const struct hand_overs *plan);
void hand_over_if_due(struct scenario *scenario);

/* fields.c: the program with --fields. */
int fields_main(u32 workers);

/* Adds to the hash of what the engine returned. */
void scenario_note(struct scenario *scenario, const void *bytes, size_t size);
/* The same, to that of @a where nothing is random. */
void actor_note(struct actor *a, const void *bytes, size_t size);

#endif
