/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixed fields of the daemon's records (record.h, docs/PORTING.md). A later version may append
 * fields, nothing else. Places of descriptors are those of record_put_fd().
 */
#ifndef HOST_FUSE_SAVED_H
#define HOST_FUSE_SAVED_H

#include "base/record.h"
#include "host_types.h"

/* Everything else refers to these. */
struct saved_session {
	u64 start_time;		/* that files show */
	u32 period;		/* of expire.h */
	u32 next_minor;
	u32 stages_on;
	u32 nr_opens;		/* for comparison: records of this kind that are charged, */
	u32 nr_calls;
	u32 nr_files;
};

/* Followed by the name. Entries are numbered from 1 in the order of their records. */
struct saved_entry {
	u64 ino;
	u32 parent;		/* number of its directory; 0: the root's */
	u32 kind;		/* enum entry_kind */
	u32 mode;
	u32 uid;
	u32 gid;
	u32 shares;
	u32 is_unlinked;
	u32 unused;
};

struct saved_inode {
	u64 id;
	u64 lookups;
	u64 looked_ns;
	u32 entry;		/* its number */
	s32 looked_by;
	u32 repeated;
	u32 opened;
	u32 direct;
	u32 bound;
	u32 nr_opens;
	u32 uid;
	u32 charged;		/* to that user */
	u32 unused;
};

/* Followed by nr_id_ranges struct host_id_range, then the security context. */
struct saved_open {
	u64 open_id;
	u64 nodeid;
	u64 handle;		/* 0: the kernel has released it */
	u64 pid_ns;
	u64 poll_handle;
	u64 base;		/* of the mapping, of a bound open */
	u64 retry_ns;
	u64 charged[HOST_MAP_PAGES / 64];
	u64 provided[HOST_MAP_PAGES / 64];
	u32 uid;
	u32 nonblock;
	u32 ended;
	u32 released;		/* there is no binder_proc any more */
	u32 orphan;
	u32 reap_at;
	s32 pid;
	s32 opener;
	u32 euid;
	u32 charged_uid;
	u32 may_raise;
	u32 nr_levels;
	s32 pids[HOST_PID_LEVELS];
	u32 nr_id_ranges;
	u32 bound;
	u32 poll_armed;
	u32 is_shared;
	u32 gone;
	s32 backing_id;
	u32 pidfd;		/* descriptors */
	u32 buffer;
	u32 client_memory;
	u32 unused;
};

enum saved_place { SAVED_PARKED, SAVED_BACKLOG, SAVED_SLOW_LANE, SAVED_JOB };

struct saved_call {
	u64 open_id;
	u64 unique;
	u64 address;
	u64 deadline_ns;
	s32 tid;
	u32 place;		/* enum saved_place */
	u32 cmd;
	u32 out_size;
	u32 euid;
	u32 age;		/* in periods of expire.h */
	u32 interrupted;
	u32 not_begun;
	u32 resume_reason;
	u32 core;
	char arg[HOST_ARG_SIZE];
};

/* Followed by the request's header and body. */
struct saved_request {
	u32 body_size;
	u32 unused;
};

/* A request whose call was left behind. */
struct saved_left {
	u64 unique;
	u32 is_ioctl;		/* which returns how much it has consumed: */
	u32 cmd;
	u32 out_size;
	u32 unused;
	char arg[HOST_ARG_SIZE];
};

struct saved_helper {
	u32 control;		/* descriptors */
	u32 pidfd;
	u32 generation;
	u32 unused;
};

struct saved_file {
	u64 id;
	u64 closing_ns;
	s32 fd;
	u32 generation;
	u32 uid;
	u32 is_closing;
	u32 overdue;
	u32 unused;
};

/*
 * Files that are to be installed or closed in the process of a thread. Followed by nr_files u64
 * numbers of files, then nr_numbers s32 numbers in the process, then nr_close s32.
 */
struct saved_pending {
	u64 open_id;
	u64 cookie;
	s32 tid;
	u32 state;
	u32 nr;
	u32 nr_files;
	u32 nr_numbers;
	u32 nr_close;
	s32 error;
	s32 result;
	u32 installing;
	u32 unused;
};

/* Followed by nr_files u64 numbers of files. */
struct saved_job {
	u64 id;
	u64 open_id;		/* of its thread */
	u64 deadline_ns;
	s32 tid;
	u32 uid;
	s32 tgid;
	u32 nr_files;
	u32 armed;
	u32 given_up;
};

/* Followed by the text. */
struct saved_handle {
	u64 number;
	u64 start;		/* of a report: the offset of the text's first byte */
	u64 event;		/* of the stream of events: the number of the next one */
	u64 lost;
	u64 unique;		/* of the READ that waits */
	u64 idle_ns;
	u64 poll_handle;
	u32 entry;		/* its number */
	u32 uid;
	u32 complete;		/* a report: nothing follows the text */
	u32 mask;
	u32 room;
	u32 told_header;
	u32 poll_armed;
	u32 report_size;	/* of the rest: the text is followed by where the report is */
	u32 is_report;
	u32 is_events;		/* followed by struct event_record each that was not read */
};

#endif
