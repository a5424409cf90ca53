/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The limits of the engine, each with its reason. A client that reaches one gets an error
 * (-ENOMEM, or BR_FAILED_REPLY with -ENOMEM) and keeps what it has; no client can make the
 * engine grow beyond the sum of them. How many devices there may be, and what a user may take, are
 * limits of the hosts.
 */
#ifndef BINDER_LIMITS_H
#define BINDER_LIMITS_H

/*
 * Threads of one process that call the driver. A Java process has tens of them; a thread
 * takes about half a KiB until it exits or the process closes the device.
 */
#define BINDER_MAX_THREADS 4096

/*
 * Nodes and handles of one process. Android's framework kills a process that has far fewer
 * (6,000 proxies).
 */
#define BINDER_MAX_NODES 65536
#define BINDER_MAX_REFS	 65536

/*
 * Buffers of one process. A buffer takes at least 8 bytes of the mapping, which alone would
 * allow hundreds of thousands of them, each with a struct binder_buffer.
 */
#define BINDER_MAX_BUFFERS 32768

/*
 * Unread completions (BR_TRANSACTION_COMPLETE and its variants) of one thread, which grow
 * when it writes one-way calls and never reads.
 */
#define BINDER_MAX_UNREAD 16384

/*
 * Objects in one transaction; they are validated and translated one by one. A buffer of
 * 1 MiB that contains only objects and their offsets has half as many.
 */
#define BINDER_MAX_OBJECTS 65536

/*
 * What one call executes of its command stream before it is put back behind other calls, in
 * units of a cheap command: a stream may be of any length, and a slice of it should take no
 * longer than a few ordinary calls. A stream of eight transactions is not cut.
 */
#define BINDER_SLICE_COST 512
#define BINDER_CALL_COST  64 /* a transaction or reply */
#define BINDER_FREE_COST  16 /* BC_FREE_BUFFER, which may release objects and files */

/*
 * Bytes of returns that one read delivers at most, however large its buffer is: each return takes
 * half a microsecond, and a read is not cut. Further returns are left to the next read.
 */
#define BINDER_READ_MAX 16384

/*
 * Objects of a transaction above which the command that sends it, or frees its buffer, is a slice
 * of its own: each object takes a microsecond or two, and the command is not cut.
 */
#define BINDER_LONG_OBJECTS 512

/*
 * Death and freeze notices of one process, those included that were cleared but whose last
 * return is unread: requesting and clearing in turn accumulates them.
 */
#define BINDER_MAX_NOTICES (2 * BINDER_MAX_REFS)

/* Files in one transaction: the default limit of open files of a process. */
#define BINDER_MAX_FILES 1024

/* Entries of each transaction log, as in the C driver. */
#define BINDER_LOG_ENTRIES 32

/* Bytes of a mapping that are used, if it is longer, as in the C driver. */
#define BINDER_MAP_MAX_SIZE ((size_t)4 << 20)

/* Characters of a device name, without the final NUL (BINDERFS_MAX_NAME). */
#define BINDER_NAME_MAX 255

#endif
