/* SPDX-License-Identifier: GPL-2.0 */
/*
 * exit: the end of a thread and of a process.
 */
#ifndef BINDER_EXIT_H
#define BINDER_EXIT_H

struct binder_proc;
struct binder_thread;

/* The thread ends: its calls fail, its work is dropped. May sleep; no lock held. */
void binder_thread_release(struct binder_thread *thread);

/*
 * The process ends: everything that it owned is released, every party that waits for it gets
 * an error. No call of its own is under way. May sleep; no lock held.
 */
void binder_proc_release(struct binder_proc *proc);

#endif
