/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The format of binder_logs/events, the daemon's stream of events: for programs that read it.
 *
 * The file is a sequence of records of 64 bytes, in the byte order of the machine. The first one
 * that each open(2) reads is an EVENT_HEADER; what follows are events from that open on, in the
 * order in which they began. A kind has the name and the fields of the C driver's tracepoint
 * "binder:binder_NAME", from which the comments below give it; EVENT_FAILED and those after it have
 * no such tracepoint or one with other fields.
 *
 * read(2) returns whole records and needs room for two at least (EINVAL). It waits until there is
 * an event; after half a second without one it returns an EVENT_IDLE. With O_NONBLOCK at open(2) it
 * returns EAGAIN instead; poll(2) works. write(2) of a number as text, 0x... for a hexadecimal one,
 * selects the kinds that this open gets: bit K for kind K. At first it gets all but EVENT_DATA and
 * EVENT_DATA_TO_CLEAR.
 *
 * For these two root needs CAP_SYS_PTRACE, if the daemon has it; the latter is for root alone
 * (EACCES).
 *
 * The ring behind the file holds EVENTS_SLOTS events. Who reads too slowly misses some, which an
 * EVENT_LOST counts in their place. Only root and the owner of the mount may open the file,
 * whatever its mode is.
 */
#ifndef HOST_FUSE_EVENTS_ABI_H
#define HOST_FUSE_EVENTS_ABI_H

#include <stdint.h>

#define EVENTS_MAGIC	0x56454241u	/* "ABEV" on a little-endian machine */
/* Grows when a record changes its meaning; new kinds alone do not change it. */
#define EVENTS_VERSION	1u
#define EVENTS_SLOTS	131072u
/* Bytes of a transaction's data that are told at most. */
#define EVENTS_DATA_MAX	1024u

enum event_kind {
	EVENT_HEADER,		/* event_header */
	EVENT_IDLE,		/* nothing happened for half a second; no fields */
	EVENT_LOST,		/* event_lost */
	EVENT_IOCTL,		/* ioctl: event_ioctl */
	EVENT_IOCTL_DONE,	/* ioctl_done: event_done, as the next two */
	EVENT_WRITE_DONE,	/* write_done */
	EVENT_READ_DONE,	/* read_done */
	EVENT_WAIT,		/* wait_for_work: event_wait */
	EVENT_COMMAND,		/* command: event_word */
	EVENT_RETURN,		/* return: event_word */
	EVENT_TXN,		/* transaction: event_txn */
	EVENT_TXN_RECEIVED,	/* transaction_received: event_txn, only its id */
	EVENT_TXN_FREED,	/* txn_latency_free: event_txn, its node 0 */
	EVENT_BUFFER_ALLOCATED,	/* transaction_alloc_buf: event_buffer, as the next three */
	EVENT_BUFFER_FREED,	/* transaction_buffer_release */
	EVENT_BUFFER_FAILED,	/* transaction_failed_buffer_release */
	EVENT_BUFFER_OUTDATED,	/* transaction_update_buffer_release */
	EVENT_NODE_TO_REF,	/* transaction_node_to_ref: event_object, as the next two */
	EVENT_REF_TO_NODE,	/* transaction_ref_to_node */
	EVENT_REF_TO_REF,	/* transaction_ref_to_ref */
	EVENT_FILE_SENT,	/* transaction_fd_send: event_file */
	EVENT_FILE_RECEIVED,	/* transaction_fd_recv: event_file */
	EVENT_FAILED,		/* a transaction failed, or comes with a warning: event_failed */
	EVENT_STAGE,		/* a stage of a round trip is reached: event_stage */
	EVENT_ERROR,		/* return of BR_..._REPLY other than BR_REPLY: event_word */
	EVENT_DATA,		/* a part of the data of a transaction: event_data */
	EVENT_DATA_TO_CLEAR,	/* the same of one with TF_CLEAR_BUF: event_data */
	EVENT_TARGET,		/* whom a failing call is for, before EVENT_FAILED: event_target */
	EVENT_PRIORITIES,	/* of a call, after its EVENT_TXN_RECEIVED: event_priorities */
	EVENT_OPENED,		/* a process opens a device: event_opened */
	EVENT_KINDS,
};

struct event_header {
	uint32_t magic;
	uint32_t version;
	uint32_t record_size;	/* bytes */
	uint32_t slots;		/* of the ring */
	uint32_t clock;		/* of the times: a clockid_t; 1: CLOCK_MONOTONIC */
	uint32_t kinds;		/* that this daemon knows: kinds below */
};

struct event_lost {
	uint64_t count;		/* events missing here, of whatever kind */
};

struct event_ioctl {
	uint64_t arg;
	uint32_t cmd;
};

struct event_done {
	int32_t ret;		/* 0 or -errno */
};

struct event_wait {
	uint8_t proc_work, transaction_stack, thread_todo;
};

struct event_word {
	uint32_t cmd;		/* BC_... or BR_... */
};

/* Processes and threads are numbered as in the daemon's pid namespace. */
struct event_txn {
	uint32_t id;
	uint32_t node;		/* 0: none, a reply */
	int32_t from_proc, from_thread;
	int32_t to_proc, to_thread;	/* thread 0: any */
	uint32_t code, flags;
	uint32_t reply;
};

struct event_buffer {
	uint64_t data_size, offsets_size, extra_size;	/* bytes */
	uint32_t id;		/* of the transaction */
};

struct event_object {
	uint64_t ptr;
	uint32_t id, node;
	uint32_t from_ref, from_desc;	/* the sender's handle; 0: none */
	uint32_t to_ref, to_desc;	/* the receiver's */
};

struct event_file {
	uint64_t offset;	/* of the file's number in the buffer, in bytes */
	uint32_t id;
	int32_t fd;
};

struct event_failed {
	uint32_t id;
	uint32_t error;		/* BR_..._REPLY, or a warning */
	int32_t reason;		/* the errno of the extended error, negative; 0: none */
	int32_t from_proc, from_thread;
	int32_t to_proc, to_thread;	/* 0: not known */
	uint32_t code, flags;
	uint32_t data_size;	/* bytes; the largest number for more */
};

/* The object may be dead, so that nothing else tells which one it was. */
struct event_target {
	uint32_t id;
	uint32_t node;
};

/*
 * The priority of the caller, and the one with which the thread serves the call: the fields of the
 * module's tracepoint anybinder:binder_priorities. Policies are those of sched_setscheduler(2).
 */
struct event_priorities {
	uint32_t id;
	uint8_t has_caller;	/* 0: a one-way call carries no priority */
	uint8_t caller_policy;
	int8_t caller_prio;	/* 1 to 99 for SCHED_FIFO and SCHED_RR, or a nice value */
	uint8_t policy;
	int8_t prio;
};

/* The name is told now, because the process may have ended when the event is read. */
struct event_opened {
	int32_t pid;
	char comm[16];		/* ends with 0 */
};

/* The fields of the module's tracepoint anybinder:binder_stage. */
struct event_stage {
	uint32_t stage;		/* 0 K_IOC, 1 K_WR_IN, 2 K_ENQ, 3 K_DEQ, 4 K_COPY */
	uint32_t id;
	uint32_t reply_to;	/* the call that reply @id answers, or 0 */
	int32_t proc, thread;
};

/*
 * The first bytes of the data of a transaction, in the order of their offsets, after its
 * EVENT_BUFFER_ALLOCATED and before its EVENT_TXN_RECEIVED. It is what the receiver gets: handles
 * are the receiver's. Files have the sender's numbers. There is none for data that cannot be read,
 * and what is in buffers of its own (BINDER_TYPE_PTR) is left out.
 */
struct event_data {
	uint32_t id;		/* of the transaction */
	uint16_t offset;	/* in the data, a multiple of 32 */
	uint8_t size;		/* bytes here; 32 unless they are the last ones */
	uint8_t objects;	/* bit K: an object begins at byte 4 * K of these */
	uint8_t bytes[32];
};

struct event_record {
	uint64_t number;	/* of the event since the daemon started */
	uint64_t time_ns;	/* when it happened */
	uint16_t kind;		/* enum event_kind; skip one that you do not know */
	uint16_t reply;		/* event_failed: the transaction is a reply */
	int32_t thread;		/* in whose call it happened; 0: in none, as at an exit */
	union {
		struct event_header header;
		struct event_lost lost;
		struct event_ioctl ioctl;
		struct event_done done;
		struct event_wait wait;
		struct event_word word;
		struct event_txn txn;
		struct event_buffer buffer;
		struct event_object object;
		struct event_file file;
		struct event_failed failed;
		struct event_stage stage;
		struct event_target target;
		struct event_priorities priorities;
		struct event_opened opened;
		struct event_data data;
		uint64_t words[5];
	};
};

_Static_assert(sizeof(struct event_record) == 64, "the size of a record is fixed");

#endif
