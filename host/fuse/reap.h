/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that ended without saying so.
 */
#ifndef HOST_FUSE_REAP_H
#define HOST_FUSE_REAP_H

#include "host_types.h"

struct binder_proc;

/*
 * Lets go of the threads of @proc that exist no more, if @proc has at least *@reap_at threads;
 * sets the number for the next time. No lock held, from a call of the process (so that it stays).
 */
void reap_ended_threads(struct binder_proc *proc, atomic_uint *reap_at);

#endif
