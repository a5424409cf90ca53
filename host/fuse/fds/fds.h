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
#ifndef HOST_FUSE_FDS_H
#define HOST_FUSE_FDS_H

#include "host_types.h"

/*
 * Starts the helper process, in which the files are. @not_held is called on its events thread for
 * an open that no process has any more (helper_search()). False: an error was printed.
 */
bool fds_init(void (*not_held)(u64 open_id));

/* In place of it, for a process that takes over: the helper is that of its predecessor. */
struct helper_state;
bool fds_take_over(void (*not_held)(u64 open_id), const struct helper_state *helper);

/* The operations of host.h of the same names. */
int fds_get(struct host_thread *caller, u32 fd, struct host_file **file);
void fds_put(struct host_file *file);
int fds_install(struct host_thread *receiver, u64 cookie, struct host_file **files, u32 nr,
		u32 *fds);
void fds_close(struct host_thread *owner, const u32 *fds, u32 nr);

/*
 * The engine returned @result for the call of @thread. If files have to be installed or closed in
 * its process, takes over the call, submits that to the injector and returns true.
 */
bool fds_start(struct host_thread *thread, int result);

/* @thread makes its next call: what the last one has submitted has ended. */
void fds_settle(const struct host_thread *thread);

/* ---- for a process that hands the daemon over, and for the one that takes it over ---- */

/* What is kept for a thread between two of its calls. The arrays belong to it. */
struct fds_state {
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
bool fds_save(const struct host_thread *thread, struct fds_state *state);
/* Takes over the references in @state->files and copies the arrays. False: no memory. */
bool fds_restore(struct host_thread *thread, const struct fds_state *state);
/* The functions of a job that was taken over. */
struct file_job;
void fds_restore_job(struct file_job *job);

/* Frees what is kept for @thread, which ends. */
void fds_free_pending(struct host_thread *thread);

#endif
