/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a host provides so that the engine's state can be written and restored (core.h); the module
 * does without. The objects of a host are named by numbers of its own, which mean something to it
 * in the process that restores: it has written and read its own records before.
 *
 * Ordinary functions, called with no lock held while nothing else is under way. All may sleep.
 */
#ifndef BINDER_HOST_STATE_H
#define BINDER_HOST_STATE_H

#include "host_types.h"

struct binder_context;

/*
 * When the state is written: the number of a device (0: it was removed, and only its opens are
 * left), of an open, of a file in transit (not 0).
 */
u64 host_state_context_id(const struct binder_context *context);
u64 host_state_proc_id(const struct host_proc *proc);
u64 host_state_file_id(const struct host_file *file);

/*
 * When it is restored. The context of the device with number @id, not 0, which the host has made
 * and goes on to hold; @name: what it was made with. NULL: there is none, which ends the restoring.
 * For a device that was removed the engine makes a context of its own.
 */
struct binder_context *host_state_context_restore(u64 id, const char *name);
/*
 * In place of host_proc_init(): initialises @proc, which is that of the struct binder_proc of this
 * open (binder_proc_of_host()), and @map, whose pages are moved as they are. @size: bytes of the
 * mapping, which the host's map must have; 0: none is known. Undone by host_proc_destroy(). errno.
 */
int host_state_proc_restore(struct host_proc *proc, struct host_map *map, u64 id, size_t size);
/*
 * In place of host_thread_init(), for thread @tid of @proc. Undone by host_thread_destroy(). The
 * engine has one reference to the struct binder_thread; a call that waits takes one of its own.
 * errno.
 */
int host_state_thread_restore(struct host_thread *thread, struct host_proc *proc, s32 tid);
/* The file, with the reference that its transaction has. NULL: there is none. */
struct host_file *host_state_file_restore(u64 id);

#endif
