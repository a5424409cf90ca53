/* SPDX-License-Identifier: GPL-2.0 */
/*
 * storm: what all processes of a storm share: the members, which of them are condemned, what each
 * has counted. It is in memory that all of them have mapped (test.h: shared_alloc). A process is a
 * member; the process that replaces it after its death is another member, so that late returns can
 * still be attributed. A process is condemned before it is killed, so that an error can be checked
 * to be due to the death of a condemned process.
 */
#ifndef STORM_H
#define STORM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_MEMBERS 8192
#define NR_NUMBERS 32 /* more than there are commands, or returns */

/* Threads that serve in the manager; a separate call makes each of them exit. */
#define MANAGER_THREADS 3

/* How often a process wrote a command, or read a return, by its number. */
struct tally {
	_Atomic uint32_t commands[NR_NUMBERS], returns[NR_NUMBERS];
	_Atomic uint32_t ids[2][NR_NUMBERS]; /* the full BC_ or BR_ value of that number */
	/* Calls that a hand-over left behind: their last command is written, and counted, again. */
	_Atomic uint32_t interrupted;
};

struct member {
	pid_t pid;
	_Atomic bool condemned;
	_Atomic bool ready; /* serves, or has begun to make calls */
	_Atomic bool idle;  /* a client that survives: all its threads are idle */
	struct tally tally;
};

struct storm {
	uint64_t seed;
	int pipe; /* the writing end of the pipe that is sent */
	uint64_t pipe_inode;
	bool is_replaced; /* the daemon hands over all the time */
	_Atomic bool over;   /* no more calls */
	_Atomic bool may_exit; /* the survivors may exit */
	_Atomic uint32_t services; /* registered with the manager */
	/* What has happened, for the summary and to check that something did. */
	_Atomic uint64_t calls, dead_replies, full_replies, deaths, files;
	uint32_t nr_members;
	struct member members[MAX_MEMBERS];
};

extern struct storm *storm;

/* What a member does, in its own process; the result is its exit status. */
int manager_main(struct member *me);
int service_main(struct member *me);
int client_main(struct member *me);

/* Its index among the members, which identifies it in all that is sent. */
static inline uint32_t member_index(const struct member *member)
{
	return (uint32_t)(member - storm->members);
}

/* What a call requests. */
enum code {
	CODE_REGISTER = 1, /* the manager: register a service */
	CODE_LOOKUP,	   /* the manager: return a service */
	CODE_QUIT,	   /* the manager: this thread may exit */
	CODE_ECHO,	   /* a service: send it back */
	CODE_ONEWAY,	   /* a service: take it */
	CODE_BACK,	   /* a client: the service calls back in the middle of a call */
};

#endif
