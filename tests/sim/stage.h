/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stage is the world of one seed: players (processes with the device open), their
 * actors (threads, a fiber each), and what fate does to them.  Every actor keeps a
 * model of what it is owed, and what the engine tells it is held against that; what
 * the engine keeps is held against all models when nobody has anything left to do
 * (audit.h).
 *
 * stage.c   what kind of world, births, deaths, the director, the end
 * actor.c   what a thread does, and what it makes of the returns that it reads
 * parcel.c  transactions: made, sent, looked into when they come
 * model.c   what is owed: handles, objects, notices, calls
 * fate.c    deaths, signals, holes, scribbling, reclaim, reports
 * audit.c   what must hold of the engine's own books
 * main.c    seeds, workers, the report
 */
#ifndef ANYBINDER_SIM_STAGE_H
#define ANYBINDER_SIM_STAGE_H

#include "core.h"
#include "things/context.h"
#include "things/proc.h"
#include "things/thread.h"
#include "host.h"

#define PLAYERS_MAX  96 /* in the life of a stage */
#define ACTORS_MAX   8	/* of a player, at a time */
#define MESSAGES_MAX 8192
#define OBJECTS	     4 /* of a player's own */
#define HANDLES	     24
#define LATER	     16
#define SENDS	     16
#define TAKINGS	     48
#define DEPTH	     12
#define TEAMS	     400 /* actors in the life of a stage */

/* Where in a player's memory each actor has what. */
#define AREA	 0x8000
#define OUT_SIZE 0x800
#define IN_AT	 0x1000
#define IN_SIZE	 0x200
#define DATA_AT	 0x2000
#define DATA_SIZE 0x400
#define DATAS	 20 /* more than are sent before one is completed */

/* What kind of world. */
struct genre {
	u32 players, loopers, clients, steps;
	size_t map_size;
	u32 faults_one_in; /* host calls; 0: none */
	enum sim_op fault; /* SIM_ANY: all of them */
	bool holes;	   /* memory comes and goes */
	bool scribbles;	   /* senders change what they send */
	bool killings, signals, freezes, reclaim, reports, rude, late_files, realtime, secctx;
	bool pollers;
	bool pressure; /* memory is asked for and taken away all the time */
	bool rivals; /* two would be manager */
	bool calm; /* nothing of the above that makes calls fail: none may */
};

enum message_kind { CALL, ONEWAY, REPLY };

/* A transaction that was sent, by its number (from 1). */
struct message {
	u8 kind;
	bool delivered;
	bool lost;	 /* its sender was told that it failed */
	bool scribbled;	 /* what arrives may be anything */
	u32 parent;	 /* CALL: the call that its sender serves; REPLY: what it answers */
	struct actor *from;
	struct player *to;
	u32 order; /* ONEWAY: rises with each of a sender */
	u32 nr_offsets;
};

/* ASKING, CLEARING: said, maybe not yet heard by the engine. */
enum notice_state { NOT_ASKED, ASKING, ASKED, TOLD, CLEARING, CLEARING_TOLD };

enum { DEATH, FREEZE, NOTICES };

/* A handle that a player knows; entry 0 is handle 0, the manager. */
struct handle {
	u32 desc;
	u32 strong, weak; /* counts that we took and have; both 0: no such entry */
	u32 in_use;	  /* by commands that are on their way */
	enum notice_state notice[NOTICES];
	u64 cookie[NOTICES];
};

struct own_object {
	s32 strong, weak;     /* as the engine told */
	s32 in_flight;	      /* one-way calls delivered and not freed */
	u32 order[TEAMS];     /* of the last one-way call of each actor */
};

struct player {
	struct stage *stage;
	u32 id;
	struct sim_proc *sim;
	struct binder_proc *proc; /* NULL: not open yet, or released */
	bool manager;
	bool eternal; /* the director's own: nobody kills it */
	bool dying;
	bool confused; /* a return was lost: its model is not to be relied on */
	bool frozen;   /* BINDER_FREEZE said so */
	u32 freezes;   /* begun */
	u32 freezing;  /* at this moment */
	struct actor *actors[ACTORS_MAX];
	u32 nr_actors, nr_born;
	u32 guests; /* others who use its open at this moment */
	bool released;
	struct handle handles[HANDLES];
	struct own_object objects[OBJECTS];
	u64 later[LATER]; /* buffers that are freed some time */
	s32 later_object[LATER]; /* whose one-way call it was, or -1 */
	u32 nr_later;
};

struct sent {
	u8 kind;
	u32 message;
};

struct frame {
	char what; /* 'C' a call of ours, 'S' one that we serve */
	bool completed;
	u32 message;
};

enum taking_kind { TAKE_STRONG, TAKE_WEAK, TAKE_NOTICE, TAKE_USE, TAKE_BUFFER };

/* What becomes true when the engine has heard a command. */
struct taking {
	enum taking_kind kind;
	size_t at; /* end of that command in the out buffer */
	u32 desc;
	u32 notice; /* TAKE_NOTICE: which */
	struct handle *handle; /* TAKE_NOTICE, TAKE_USE */
	u64 buffer;	       /* TAKE_BUFFER: may be freed by anybody from then on */
	s32 object;
};

enum role { LOOPER, CLIENT, POLLER };

struct actor {
	struct player *player;
	u32 id; /* in the stage */
	u32 slot;
	s32 tid;
	struct sim_thread sim;
	struct host_priority priority, base;
	enum role role;
	bool registered; /* by BC_REGISTER_LOOPER, not yet said */
	bool entered;
	u32 steps;
	bool interrupted;
	bool inside;	/* a call of the driver */
	bool waiting;	/* which is parked */
	bool writing;	/* its commands have not been heard yet */
	bool polling;
	u32 cmd;
	u64 area;
	u8 out[OUT_SIZE];
	size_t out_len;
	u32 next_data;
	struct taking takings[TAKINGS];
	u32 nr_takings;
	struct sent sent[SENDS]; /* whose completion is still to come, oldest first */
	u32 nr_sent;
	struct frame stack[DEPTH];
	u32 depth;
	u32 order;
};

struct stage {
	u64 seed, dice;
	struct genre genre;
	struct binder_context *context;
	struct player *players[PLAYERS_MAX];
	u32 nr_players;
	struct actor *actors[TEAMS];
	u32 nr_actors;
	struct message messages[MESSAGES_MAX];
	u32 nr_messages;
	u64 last_cookie;
	s32 last_pid;
	struct fiber *director;
	bool director_waits;
	bool manager_ready;
	bool over; /* fate leaves everybody alone */
	bool exact; /* what the players have counted is what there must be */
	u64 calls, failures, audits;
};

extern bool stage_verbose;

/* Plays one seed to the end; whatever is wrong ends the program.  Returns what two
 * plays of the same seed must have in common. */
u64 stage_play(u64 seed, struct stage *stage);

/* The world is not as it should be: says so, and ends the program. */
void stage_wrong(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void stage_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

u32 stage_dice(struct stage *stage, u32 sides);
static inline bool one_in(struct stage *stage, u32 sides)
{
	return !stage_dice(stage, sides);
}

struct player *player_new(struct stage *stage, bool manager);
/* Its memory is gone, its threads are on their way out, and the last of them closes
 * the device. */
void player_kill(struct player *player);
/* The open is used from outside the player's threads; false: too late.  In pairs. */
bool player_enter(struct player *player);
void player_leave(struct player *player);
/* Another thread for @player. */
void actor_new(struct player *player, enum role role, bool registered);
/* What a thread does, from its birth to its end. */
void actor_act(struct actor *a);

/* One ioctl to its end: parks, is woken, goes on.  As binder_ioctl(); -ESHUTDOWN if
 * the player was dead before.  -EAGAIN: @nonblock. */
int actor_ioctl(struct actor *a, u32 cmd, void *arg, bool nonblock);
/* Writes the commands (the rest of them, if the last write did not come to its end)
 * and, if @read, reads and makes something of the returns. */
int actor_write_read(struct actor *a, bool read, bool nonblock);
/* Appends a command; false: no room. */
bool actor_say(struct actor *a, u32 bc, const void *arg);

/* parcel.c */
void parcel_send(struct actor *a, enum message_kind kind, u32 handle);
void parcel_take(struct actor *a, u32 br, const struct binder_transaction_data *tr);
void parcel_free_later(struct actor *a);
void parcel_scribble(struct stage *stage);

/* model.c */
u32 model_message(struct actor *a, enum message_kind kind, bool scribbled);
void model_sent(struct actor *a, enum message_kind kind, u32 message);
void model_completed(struct actor *a, u32 br);
void model_failed(struct actor *a, u32 br);
void model_call_arrived(struct actor *a, u32 message);
void model_reply_arrived(struct actor *a, u32 message);
void model_oneway_arrived(struct actor *a, u32 message, u32 object);
/* The engine told about an own object. */
void model_object(struct actor *a, u32 br, const struct binder_ptr_cookie *name);
/* A handle that the player holds strongly and does not let go of before what is said
 * next was heard; NULL: it has none. */
struct handle *model_use(struct actor *a);
/* Says that it takes a strong count of handle 0. */
void model_take_manager(struct actor *a);
/* Says that it takes a count of a handle that came in a buffer. */
void model_take(struct actor *a, u32 desc, bool strong);
/* A buffer is kept, and freed later: after what was said of its contents. */
void model_keep(struct actor *a, u64 buffer, s32 object);
/* The engine heard the first @consumed bytes of what was said. */
void model_heard(struct actor *a, size_t consumed);
void model_let_go(struct actor *a);
void model_ask_notice(struct actor *a);
void model_notice(struct actor *a, u32 br, const u8 *arg);
void model_forget_thread(struct actor *a);

/* Own objects: number 0 of the manager is the one that handle 0 means. */
static inline u64 object_ptr(u32 object)
{
	return 0x1000 + 0x10 * (u64)object;
}

static inline u64 object_cookie(const struct player *player, u32 object)
{
	return (u64)player->id << 32 | object;
}

/* fate.c: fibers of their own, each for a number of deeds */
void fate_begin(struct stage *stage);
struct player *fate_pick(struct stage *stage, bool killable);

/* audit.c: all that must hold while nobody is inside the engine (but parked). */
void audit(struct stage *stage);

#endif
