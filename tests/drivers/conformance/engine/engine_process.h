/* SPDX-License-Identifier: GPL-2.0 */
/*
 * engine_process: a process of the test host: threads of this program that the engine takes for
 * one, and what they have open.
 */
#ifndef CONFORMANCE_ENGINE_PROCESS_H
#define CONFORMANCE_ENGINE_PROCESS_H

#include "host.h"

struct engine_open;

struct engine_process {
	s32 pid;
	bool is_ending; /* its threads leave the engine, and do not come back */
	bool is_reaped;
	u32 nr_inside; /* of its threads, are in the engine */
	struct engine_open *opens;
	struct engine_process *next;
};

/* A thread of such a process: the one that calls. */
struct engine_thread {
	struct engine_process *process;
	s32 tid;
	struct host_priority priority;
};
extern _Thread_local struct engine_thread *engine_self;

/*
 * Around all that a thread does in the engine. A thread of a process that is ending does not return
 * from either.
 */
void engine_enter(void);
void engine_leave(void);

/* Closes all that the process has open. None of its threads is in the engine. (engine_port.c) */
void engine_close_all(struct engine_process *process);
/* Drops the devices. False: the engine has objects or memory left. (engine_port.c) */
bool engine_is_empty(void);
/* The open with this number (port->fd), as the test host has it. (engine_port.c) */
struct sim_proc *engine_sim(int fd);

#endif
