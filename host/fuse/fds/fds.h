/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files in transactions, and what else a client can delay. The rest of the daemon includes only
 * this header of fds/.
 *
 * A file is taken from the sender by a system call (pidfd_getfd), in the helper process, so that
 * the daemon never has a descriptor of a client's file: FUSE asks a file's server at each close(2),
 * also at the exit of a killed process, so a hostile server could keep the daemon from ending. The
 * injector, in the helper too, installs the file in the receiver, which it can do only when the
 * receiver's ioctl returns. So the read that would deliver the transaction ends early, the files
 * are installed, and the receiver is made to execute the same ioctl again. Between the two, the
 * numbers are kept here, one set for each thread.
 *
 * No function may be called with an engine lock held. Those that ask the helper process sleep, for
 * some seconds at most.
 */
#ifndef HOST_FUSE_FDS_H
#define HOST_FUSE_FDS_H

#include "base/list.h"
#include "host_types.h"

/* ---- the helper process: helper_process.c, helper_ask.c, helper_events.c ---- */

/* If @name, argv[0] of main(), is the helper's: is the helper process, and never returns. */
void fds_run_helper(const char *name);

/* Starts the helper process and the thread of its events. False: an error was printed. */
bool fds_init(void);

/* One of the mappings that the process of an open has of its inode. */
struct fds_mapping {
	u64 base;
	u64 size;
	u32 nr; /* how many there are, if the open is bound; else 1 */
	bool is_shared; /* MAP_SHARED */
};

/*
 * Finds number @index of the mappings that the process of @proc has of its inode. Returns 0, or
 * -ESRCH: there is none, or the process delays the answer.
 */
int fds_find_mapping(const struct host_proc *proc, u32 index, struct fds_mapping *mapping);

/* Processes that one search leaves out at most. */
#define FDS_OWNERS_MAX 64u

/*
 * Searches for processes other than the @nr @owners that have the inode @nodeid open. If there is
 * none, another thread ends the open @open_id later (call_end_open()). Does not wait.
 */
void fds_search_holders(u64 open_id, u64 nodeid, const s32 *owners, u32 nr);

/* ---- references to files: file_ref.c ---- */

/* A client's file, which exists in the helper process. */
struct host_file {
	u64 id;				/* never reused */
	u32 saved;			/* by which hand-over (handover/) */
	s32 fd;				/* its number in the helper process */
	u32 generation;			/* of the helper process */
	u32 uid;			/* the user charged for it */
	atomic_int refs;
	u64 closing_ns;			/* when the helper was asked to close it */
	bool overdue;			/* the user is charged for the delay */
	struct bl_list in_closing;	/* in a list of files that are being closed */
};

/* The operations of host.h of the same names. */
int fds_get(struct host_thread *caller, u32 fd, struct host_file **file);
/* The last put has the file closed, without waiting for that. */
void fds_put(struct host_file *file);

/* ---- what is to be done in the process of a thread: pending_fds.c ---- */

enum install_state {
	INSTALL_NONE,
	INSTALL_WANTED,		/* by the engine */
	INSTALL_DONE,		/* finished, or failed with @error */
};

/*
 * Files to install for one transaction, numbers to close, and the result. It belongs to the
 * thread's call, and while @has_job to the job.
 */
struct pending_fds {
	enum install_state state;
	u64 cookie; /* of the transaction */
	u32 nr;
	struct host_file **files; /* a reference to each; NULL: a job has them */
	s32 *numbers; /* of the files in the receiver */
	int error;
	u32 nr_close;
	s32 *closes;
	int result;		/* of the call */
	bool installing;	/* the present job installs files */
	atomic_bool has_job;
};

/* The operations of host.h of the same names. */
int fds_install(struct host_thread *receiver, u64 cookie, struct host_file **files, u32 nr,
		u32 *fds);
void fds_close(struct host_thread *owner, const u32 *fds, u32 nr);

/* Frees what is pending for @thread, which ends. */
void fds_free_pending(struct host_thread *thread);

/* ---- jobs of the injector: file_job.c ---- */

struct file_job {
	struct host_thread *thread; /* the receiver, with a reference */
	u32 uid; /* the user that can delay the job */
	s32 tid;
	s32 tgid;
	u32 nr;
	struct host_file **files; /* to install; array and references belong to the job */
	u32 nr_close;
	const s32 *closes;
	u64 id;
	u64 deadline_ns;
	bool armed; /* the receiver will stop as its ioctl returns */
	bool given_up; /* its thread was told that it has failed */
};

/*
 * The engine returned @result for the call of @thread. If files have to be installed or closed in
 * its process, takes over the call, submits that to the injector and returns true.
 */
bool fds_start(struct host_thread *thread, int result);

/* @thread makes its next call: what the last one has submitted has ended. */
void fds_settle(const struct host_thread *thread);

/* ---- for a process that hands the daemon over, and for the one that takes it over ---- */

/* What a process needs to be the helper's master; the descriptors are the present master's. */
struct helper_state {
	int control;
	int pidfd;
	u32 generation;
};
void fds_save_helper(struct helper_state *state);
/*
 * In place of fds_init(): the helper is that of the predecessor; takes over the descriptors. False:
 * the helper does not answer, or, with errno EPROTO, knows none of the versions of messages that
 * fds_helper_versions() names.
 */
bool fds_take_over(const struct helper_state *state);
void fds_helper_versions(u32 *oldest, u32 *newest);

/* Calls @visit for each file that is being closed, and for each job. All threads rest. */
void fds_visit_closing(void (*visit)(struct host_file *file, void *arg), void *arg);
void fds_visit_jobs(void (*visit)(const struct file_job *job, void *arg), void *arg);

/* Charges a file to its user; @is_closing: the predecessor has asked the helper to close it. */
void fds_restore_file(struct host_file *file, bool is_closing);
/* Takes over the references in @like->files and copies the arrays. False: no memory. */
bool fds_restore_pending(struct host_thread *thread, const struct pending_fds *like);
/* A job without a thread has been given up. False: no memory. */
bool fds_restore_job(const struct file_job *job);

#endif
