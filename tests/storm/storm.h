/* SPDX-License-Identifier: GPL-2.0 */
/*
 * storm: what all processes of a storm share: who there is, who has been condemned, what each has
 * counted. Lives in memory that all of them see (test.h: shared_alloc).
 *
 * A process is a member; the one that replaces it after its death is another, so that what came
 * late can still be told apart. Who is to be killed is marked before it is, hence an error that
 * is somebody's death can be checked to be the death of one condemned.
 */
#ifndef STORM_H
#define STORM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_MEMBERS 8192
#define NR_NUMBERS 32 /* more than there are commands, or returns */

/* Threads that serve in the manager; each of them is sent home by a call of its own. */
#define MANAGER_THREADS 3

/* How often a process wrote a command, or was returned one, by its number. */
struct tally {
	_Atomic uint32_t commands[NR_NUMBERS], returns[NR_NUMBERS];
	_Atomic uint32_t ids[2][NR_NUMBERS]; /* the whole BC_, BR_ of that number */
};

struct member {
	pid_t pid;
	_Atomic bool condemned;
	_Atomic bool ready; /* serves, or has begun to call */
	_Atomic bool idle;  /* a client that is to survive: all its threads have come to rest */
	struct tally tally;
};

struct storm {
	uint64_t seed;
	int pipe; /* the writing end of the pipe that is sent around */
	uint64_t pipe_inode;
	_Atomic bool over;   /* no more calls */
	_Atomic bool go_home; /* those who survived may leave */
	_Atomic uint32_t services; /* whom the manager knows */
	/* What was seen, for the closing line and to see that something happens. */
	_Atomic uint64_t calls, dead_replies, full_replies, deaths, files;
	uint32_t nr_members;
	struct member members[MAX_MEMBERS];
};

extern struct storm *storm;

/* What a member does, in a process of its own; the result is its exit status. */
int manager_main(struct member *me);
int service_main(struct member *me);
int client_main(struct member *me);

/* Its place among the members, which is its name in all that is sent. */
static inline uint32_t member_index(const struct member *member)
{
	return (uint32_t)(member - storm->members);
}

/* What a call may ask for. */
enum code {
	CODE_REGISTER = 1, /* the manager: here is a service */
	CODE_LOOKUP,	   /* the manager: give me one of them */
	CODE_QUIT,	   /* the manager: this thread may go home */
	CODE_ECHO,	   /* a service: send it back */
	CODE_ONEWAY,	   /* a service: take it */
	CODE_BACK,	   /* a client: the service calls back in the middle of a call */
};

#endif
