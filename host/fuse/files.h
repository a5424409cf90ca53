/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files on their way from one client into another.
 *
 * Taking one from the sender is a system call (pidfd_getfd). Putting one into a receiver that
 * knows nothing of it is done by the injector (inject.h), which can only act when the receiver's
 * ioctl returns: so the read that would deliver the transaction ends early, the files go in, and
 * the receiver makes the same ioctl again, unaware. Between the two the numbers wait here, one set
 * for each thread.
 */
#ifndef HOST_FUSE_FILES_H
#define HOST_FUSE_FILES_H

#include "host_types.h"

/*
 * Starts the injector. Must run before any other thread is made. Without it files cannot be
 * passed.
 */
void files_init(void);

/* The operations of host.h of the same names. */
int files_get(struct host_thread *caller, u32 fd, struct host_file **file);
void files_put(struct host_file *file);
int files_install(struct host_thread *receiver, u64 cookie, struct host_file **files, u32 nr,
		  u32 *fds);
void files_close(struct host_thread *owner, const u32 *fds, u32 nr);

/*
 * The call of @thread has come to @result (that of binder_ioctl()). If files are to be put into
 * its process, or closed there, before the call can be answered, starts that, takes over the call,
 * and returns true.
 */
bool files_start(struct host_thread *thread, int result);

/* The thread is no more. */
void files_forget(struct host_thread *thread);

#endif
