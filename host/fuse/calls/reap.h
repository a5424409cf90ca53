/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Removing threads that exited without BINDER_THREAD_EXIT.
 */
#ifndef HOST_FUSE_REAP_H
#define HOST_FUSE_REAP_H

#include "host_types.h"

struct binder_proc;

/*
 * Removes the exited threads of @proc, if @proc has at least *@reap_at threads; sets that number
 * for the next time. Called during a call of the process, with no lock held.
 */
void reap_ended_threads(struct binder_proc *proc, atomic_uint *reap_at);

#endif
