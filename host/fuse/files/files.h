/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files in transactions.
 *
 * A file is taken from the sender by a system call (pidfd_getfd). It is installed in the receiver
 * by the injector (inject.h), which can act only when the receiver's ioctl returns. So the read
 * that would deliver the transaction ends early, the files are installed, and the receiver is made
 * to execute the same ioctl again. Between the two, the numbers are kept here, one set for each
 * thread.
 */
#ifndef HOST_FUSE_FILES_H
#define HOST_FUSE_FILES_H

#include "host_types.h"

/*
 * Starts the helper process, in which the files are. @not_held is called on its events thread for
 * an open that no process has any more (helper_search()). False: an error was printed.
 */
bool files_init(void (*not_held)(u64 open_id));

/* In place of it, for a process that takes over: the helper is that of its predecessor. */
struct helper_state;
bool files_take_over(void (*not_held)(u64 open_id), const struct helper_state *helper);

/* The operations of host.h of the same names. */
int files_get(struct host_thread *caller, u32 fd, struct host_file **file);
void files_put(struct host_file *file);
int files_install(struct host_thread *receiver, u64 cookie, struct host_file **files, u32 nr,
		  u32 *fds);
void files_close(struct host_thread *owner, const u32 *fds, u32 nr);

/*
 * The engine returned @result for the call of @thread. If files have to be installed or closed in
 * its process, takes over the call, submits that to the injector and returns true.
 */
bool files_start(struct host_thread *thread, int result);

/* @thread makes its next call: what the last one has submitted has ended. */
void files_settle(const struct host_thread *thread);

/* ---- for a process that hands the daemon over, and for the one that takes it over ---- */

/* What is kept for a thread between two of its calls. The arrays belong to it. */
struct files_state {
	u32 state;
	u64 cookie;
	u32 nr;
	struct host_file **files;	/* NULL: a job has them */
	s32 *numbers;
	int error;
	u32 nr_close;
	s32 *closes;
	int result;
	bool installing;
};
/* False: nothing is. */
bool files_save(const struct host_thread *thread, struct files_state *state);
/* Takes over the references in @state->files and copies the arrays. False: no memory. */
bool files_restore(struct host_thread *thread, const struct files_state *state);
/* The functions of a job that was taken over. */
struct file_job;
void files_restore_job(struct file_job *job);

/* Frees what is kept for @thread, which ends. */
void files_free_pending(struct host_thread *thread);

#endif
