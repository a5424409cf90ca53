/* SPDX-License-Identifier: GPL-2.0 */
/*
 * replace: has the daemon that serves the devices hand over to a successor, as `anybinder upgrade`
 * does, while a test uses them. Clients must not notice.
 */
#ifndef CONFORMANCE_REPLACE_H
#define CONFORMANCE_REPLACE_H

#include <stdbool.h>

/*
 * The devices of this directory are meant. False: no daemon that can hand over serves it, or this
 * process may not ask it.
 */
bool replace_begin(const char *device_dir);

/* Have it hand over once. NULL when a successor serves, else why none does. */
const char *replace_once(void);

/* Before every nth step of actors, beginning with step number first from now on, from 0. */
void replace_between_steps(unsigned int nth, unsigned int first);
/* For the actors: a step is about to begin. The test fails if a hand-over does. */
void replace_at_step(void);

/* A thread that has it hand over again and again, with this pause in between. */
void replace_steadily(unsigned int pause_ms);

/*
 * The thread ends. Sets *count to how many hand-overs there were since replace_begin(). NULL when
 * all succeeded and there was one, else what went wrong.
 */
const char *replace_end(unsigned int *count);

#endif
