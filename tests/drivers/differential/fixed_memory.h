/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fixed_memory: the clients of a run, what each has received so far, and the transcript. All of it
 * is memory that every process shares at one fixed address, so that what a client sends is the same
 * in every run. One actor runs at a time: no locks.
 */
#ifndef DIFFERENTIAL_FIXED_MEMORY_H
#define DIFFERENTIAL_FIXED_MEMORY_H

#include "actor.h"
#include "script.h"

#define MAX_HANDLES 32
#define MAX_FRESH 64
#define MAX_LIVE 128
#define MAX_FREED 16
#define MAX_NOTICES 256
#define MAX_LIVE_FDS 16
#define NR_FILES 4
#define FIRST_FILE 100 /* number of file 0 in every process */

/* A buffer received and not yet freed, and the files of its arrays, which are closed with it. */
struct live_buffer {
	uint64_t at;
	int fds[MAX_LIVE_FDS];
	unsigned int nr_fds;
};

/* A return that must be acknowledged. */
struct notice {
	uint32_t answer; /* BC_..._DONE */
	uint64_t ptr, cookie;
};

/* One open of the device. */
struct client {
	bool open;
	unsigned int proc; /* index of its process */
	int fd;
	uint8_t *map;
	size_t map_size;

	uint32_t handles[MAX_HANDLES]; /* seen, the first is 0 */
	size_t nr_handles;
	struct {
		uint32_t handle;
		bool weak;
	} fresh[MAX_FRESH]; /* received, and no count taken yet (COMMAND_KEEP) */
	size_t nr_fresh;
	struct live_buffer live[MAX_LIVE];
	size_t nr_live;
	uint64_t freed[MAX_FREED]; /* addresses, the last first */
	size_t nr_freed;
	struct notice notices[MAX_NOTICES];
	size_t nr_notices;
	unsigned int serving[MAX_THREADS]; /* sync calls received and not replied to */
	bool waiting[MAX_THREADS];	   /* for the end of a sync call */
	unsigned int calls[MAX_THREADS];   /* sync calls sent whose reply was not read */
	bool told[MAX_THREADS];		   /* of an own object that it sent, and has not read it */
	bool entered[MAX_THREADS];	   /* the loop, where the target asks for it */
};

struct process {
	struct actor *actors[MAX_THREADS];
	unsigned int generation; /* how many there have been; the last one is Pn.generation */
};

struct world {
	struct client clients[MAX_CLIENTS];
	struct process processes[MAX_CLIENTS];
	struct step step; /* the one under way */
	size_t text_used;
	size_t payload_used;
};

/* Sets up the shared memory at its fixed address, and the files to send. Once per run. */
struct world *world_new(void);

/* Append to the transcript. */
void say(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The transcript so far. */
const char *world_text(const struct world *world);

/* Memory for what a step sends; it is all free again at the next step. Never NULL. */
void *payload_alloc(struct world *world, size_t size);
/* Memory for a read, and for a copy of what arrived; of PAYLOAD_ROOM bytes each. */
#define PAYLOAD_ROOM ((size_t)8 << 20)
uint8_t *world_read_room(struct world *world);
uint8_t *world_copy_room(struct world *world);

/* The client's process exists from now on, thread `thread` of it too. */
struct actor *world_actor(struct world *world, unsigned int proc, unsigned int thread);
/* End a process; its clients are closed. */
void world_kill(struct world *world, unsigned int proc);
/* Drops the record of what this open has received. */
void client_forget(struct client *client);

/* "P2.1" for the pid of a process of this run, "0", or "?" (valid until the next call). */
const char *world_pid_name(pid_t pid);
/* The current pid of a client's process, or 0. */
pid_t world_pid(const struct world *world, unsigned int client);

/* What client sends as ptr and cookie of its n-th node; other cookies are wrong ones. */
uint64_t node_ptr(unsigned int client, int64_t node);
uint64_t node_cookie(unsigned int client, int64_t node, int64_t cookie);

#endif
