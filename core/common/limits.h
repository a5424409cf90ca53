/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every bound of the engine, each with its reason.  A client that runs into one
 * gets an error (-ENOMEM, or BR_FAILED_REPLY with -ENOMEM) and keeps what it
 * has; no client can make the engine grow beyond the sum of these.
 */
#ifndef BINDER_LIMITS_H
#define BINDER_LIMITS_H

/* Threads that one process may show to the driver.  A Java process has tens; a
 * thread costs about half a KiB until the process closes the device. */
#define BINDER_MAX_THREADS 4096

/* Objects of its own that a process may have sent out, and handles that it may
 * hold.  Android's framework kills a process long before (6,000 proxies). */
#define BINDER_MAX_NODES 65536
#define BINDER_MAX_REFS	 65536

/* Buffers of one process: 8 bytes is the least that one takes, so its mapping
 * alone would allow hundreds of thousands, each with its bookkeeping. */
#define BINDER_MAX_BUFFERS 32768

/* Completions (BR_TRANSACTION_COMPLETE and its kin) that a thread may leave
 * unread by writing one-way calls without ever reading. */
#define BINDER_MAX_UNREAD 16384

/* Objects in one transaction; each is validated and translated one by one.
 * A 1 MiB buffer of nothing but objects and offsets holds half as many. */
#define BINDER_MAX_OBJECTS 65536

/* Death and freeze registrations of one process, with those that were cleared and
 * whose last notice nobody has read: asking and clearing in turn makes them. */
#define BINDER_MAX_NOTICES (2 * BINDER_MAX_REFS)

/* Files in one transaction: what a process may have open by default. */
#define BINDER_MAX_FILES 1024

/* Entries of each transaction log (stock: 32). */
#define BINDER_LOG_ENTRIES 32

/* 4 MiB: the used part of a longer mapping of a receive buffer (stock behaviour). */
#define BINDER_MAP_MAX_SIZE ((size_t)4 << 20)

/* A device name, without the final NUL (binderfs.h). */
#define BINDER_NAME_MAX 255

#endif
