/* SPDX-License-Identifier: GPL-2.0 */
/*
 * script: what a run does, step by step. A script is text, one step a line, so that it can be kept,
 * reduced and read:
 *
 *     0.1 wr room=256 ; txn h=@1 code=5 flags=17 size=12 obj=b:1:0:0 obj=f:2 ; free b=@0
 *
 * is thread 1 of client 0 writing two commands in one BINDER_WRITE_READ and reading up to 256
 * bytes. Values that only a run knows are given by position: h=@1 is the second handle that the
 * client has seen, b=@0 its oldest buffer not yet freed, b=!0 the one freed last, cookie=@0 the one
 * that belongs to the handle. Fields that are 0 are omitted.
 */
#ifndef DIFFERENTIAL_SCRIPT_H
#define DIFFERENTIAL_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MAX_CLIENTS 6
#define MAX_THREADS 3
#define MAX_COMMANDS 6
#define MAX_SPECS 4
#define MAX_FIELDS 7

/* Values that a run resolves: the k-th known one, the k-th last freed one. */
#define PICK(k) (-(int64_t)(k) - 1)
#define PICKED(value) ((size_t)(-(value) - 1))
#define FREED_BASE ((int64_t)1 << 56)
#define FREED(k) (FREED_BASE + (k))

enum step_op {
	STEP_SPAWN,	   /* open and map; field `in`: 1 + the client whose process to join */
	STEP_CLOSE,	   /* unmap and close */
	STEP_KILL,	   /* SIGKILL the process of the client */
	STEP_WR,	   /* one BINDER_WRITE_READ */
	STEP_DRAIN,	   /* read until there is nothing */
	STEP_PUMP,	   /* all clients read and answer what was read, `rounds` times */
	STEP_EXIT,	   /* BINDER_THREAD_EXIT; drains before, unless `unread` (enum unread) */
	STEP_MANAGER,	   /* BINDER_SET_CONTEXT_MGR */
	STEP_MANAGER_EXT,  /* BINDER_SET_CONTEXT_MGR_EXT */
	STEP_MAX_THREADS,
	STEP_VERSION,
	STEP_FREEZE,
	STEP_FROZEN_INFO,
	STEP_SPAM,	   /* BINDER_ENABLE_ONEWAY_SPAM_DETECTION */
	STEP_ERROR,	   /* BINDER_GET_EXTENDED_ERROR */
	STEP_NODE_INFO,	   /* BINDER_GET_NODE_DEBUG_INFO */
	STEP_REF_INFO,	   /* BINDER_GET_NODE_INFO_FOR_REF */
	STEP_POLL,
	STEP_IOCTL,	   /* any other command, with 64 bytes of zeros */
	STEP_OPS,
};

enum command_op {
	COMMAND_TXN,
	COMMAND_REPLY,
	COMMAND_FREE,
	COMMAND_INCREFS,
	COMMAND_ACQUIRE,
	COMMAND_RELEASE,
	COMMAND_DECREFS,
	COMMAND_INCREFS_DONE,
	COMMAND_ACQUIRE_DONE,
	COMMAND_DEATH,
	COMMAND_CLEAR_DEATH,
	COMMAND_DEAD_DONE,
	COMMAND_FREEZE_NOTICE,
	COMMAND_CLEAR_FREEZE,
	COMMAND_FREEZE_DONE,
	COMMAND_ENTER,
	COMMAND_REGISTER,
	COMMAND_LEAVE,
	COMMAND_RAW,	   /* these 4 bytes and 16 zeros */
	COMMAND_NOTICES,   /* acknowledge every notice (BR_INCREFS, BR_DEAD_BINDER ...) */
	COMMAND_SERVE,	   /* reply to the call that the thread serves */
	COMMAND_KEEP,	   /* take a count of every handle received since the last time */
	COMMAND_FREE_ALL,  /* free every buffer received */
	COMMAND_OPS,
};

/* Fields of steps and commands, by place in .field[]. */
enum { SPAWN_PAGES, SPAWN_IN, SPAWN_UNMAPPED };
enum { WR_ROOM, WR_CUT, WR_OLD_READ, WR_OLD_WRITE,
       WR_BAD,	    /* commands at an unmapped address */
       WR_BAD_READ, /* returns to an unmapped address, if there are any */
};
enum { EXIT_UNREAD };
enum unread { UNREAD_NONE, UNREAD_OTHERS, UNREAD_CALLS /* a call or reply, too */ };
enum { FREEZE_CLIENT, FREEZE_ENABLE, FREEZE_MS };
/*
 * TXN_POLITE: omitted where it is certain to be refused: a call by a thread that waits for a
 * reply, a reply by one that serves no call.
 */
enum { TXN_HANDLE, TXN_CODE, TXN_FLAGS, TXN_SIZE, TXN_SG, TXN_TWIST, TXN_POLITE };
enum { PAIR_NODE, PAIR_COOKIE };
enum { NOTICE_HANDLE, NOTICE_COOKIE };

/* What is wrong with a transaction (field TXN_TWIST). */
enum twist {
	TWIST_NONE,
	TWIST_OFFSET_ODD,	/* the first offset is not aligned */
	TWIST_OFFSET_BEYOND,	/* the last offset is the end of the data */
	TWIST_OFFSETS_SIZE_ODD,
	TWIST_OFFSETS_SIZE_HUGE,
	TWIST_OFFSET_TWICE,
	TWIST_OFFSETS_REVERSED,
	TWIST_OFFSETS_OVERLAP,
	TWIST_DATA_BAD,		/* unmapped address */
	TWIST_OFFSETS_BAD,
	TWIST_DATA_HUGE,
	TWIST_DATA_SHORT,	/* ends within the last object */
	TWIST_ROOM_ODD,		/* buffers_size */
	TWIST_ROOM_SHORT,
	TWIST_ROOM_HUGE,
	TWIST_ROOM_TO_SPARE,
	TWIST_POINTER_BAD,	/* of every pointer object */
	TWIST_FDA_BAD,		/* the last file of the arrays is not open */
	TWISTS,
};

/* An object of a transaction: kind (a letter, see script.c) and its fields. */
struct object_spec {
	char kind;
	int64_t field[5];
};

enum { OBJ_NODE, OBJ_COOKIE, OBJ_FLAGS };
enum { OBJ_LENGTH, OBJ_HAS_PARENT, OBJ_PARENT, OBJ_PARENT_OFFSET };
enum { OBJ_COUNT, OBJ_FDA_PARENT, OBJ_FDA_OFFSET };

struct command {
	enum command_op op;
	int64_t field[MAX_FIELDS];
	unsigned int nr_objects;
	struct object_spec objects[MAX_SPECS];
};

struct step {
	enum step_op op;
	unsigned int client, thread;
	int64_t field[MAX_FIELDS];
	unsigned int nr_commands;
	struct command commands[MAX_COMMANDS];
};

struct script {
	size_t nr;
	struct step *steps;
};

/* Room for nr steps; the program ends if there is no memory. */
struct script *script_new(size_t nr);
void script_free(struct script *script);

/* One step as text, without a newline, in at most size bytes. */
void step_print(const struct step *step, char *text, size_t size);
/* The script, a step a line. */
void script_print(const struct script *script, FILE *to);
/*
 * Read a script (# begins a comment line). If it is malformed, prints where on stderr and returns
 * NULL.
 */
struct script *script_read(FILE *from, const char *name);

#endif
