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
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/lib/binder.h"

#define MAX_MEMBERS 8192
#define NR_NUMBERS 32 /* more than there are commands, or returns */

/* Threads that serve in the manager; a separate call makes each of them exit. */
#define MANAGER_THREADS 3

/* How often a process wrote a command, or read a return, by its number. */
struct tally {
	_Atomic uint32_t commands[NR_NUMBERS], returns[NR_NUMBERS];
	_Atomic uint32_t ids[2][NR_NUMBERS]; /* the full BC_ or BR_ value of that number */
	/* Commands of calls that a hand-over left behind, which are written, and counted, again. */
	_Atomic uint32_t rewritten;
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

/*
 * ---- checked_parcel.c: a heading, bytes that follow from it, and up to three objects. So a
 * receiver can check that every byte is the sender's.
 */

#define MAX_BYTES 8192
#define NO_HANDLE UINT32_MAX
#define NO_FILE (-1)

struct heading {
	uint32_t from, seq; /* of its call: the sender, and the number of the call there */
	uint32_t nr_bytes;
	uint32_t about; /* a member that it is about */
};

struct parcel {
	struct heading heading;
	uint64_t object;  /* an object of the sender, or 0 */
	uint32_t handle;  /* as received (for an object), or to be sent; or NO_HANDLE */
	int file;	  /* or NO_FILE */
};

/* A parcel as bytes for the driver. */
struct packed {
	_Alignas(8) uint8_t data[sizeof(struct heading) + MAX_BYTES + 128];
	binder_size_t offsets[3];
	struct binder_transaction_data txn; /* with data and offsets filled in */
};

void parcel_pack(const struct parcel *parcel, struct packed *packed);
/*
 * Unpack what was received; the test fails unless it is what parcel_pack() made. The receiver
 * closes a file in it, which has been checked to be the storm's.
 */
void parcel_unpack(const struct returned *got, struct parcel *parcel);

/* ---- audit.c: the driver's counts (binder_logs, or the C driver's debugfs) against ours ---- */

/* The directory of state and stats. */
void audit_begin(const char *logs_dir);

/* How many things of each kind there are, by the names in the driver's report. */
struct population {
	long proc, thread, node, ref, death, transaction, complete;
	long reported_procs, dead_nodes; /* lines of state */
};

struct population audit_population(void);

/*
 * Waits until the population is this (a dead process is cleaned up asynchronously); if it does not
 * become so, the test fails and prints what is left.
 */
void audit_expect(struct population want, const char *when);

/*
 * An idle process: it has no handle, buffer or page, and the driver has counted each of its
 * commands and returns as often as the process itself.
 */
void audit_member(const struct member *member);

#endif
