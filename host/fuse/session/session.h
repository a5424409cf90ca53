/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The FUSE connection: requests are read(2) from it, replies and notifications are written to it.
 *
 * There is one connection, of which the supervisor keeps a descriptor and each server has another.
 * Requests that were read and not answered belong to the descriptor: any thread may reply to any
 * request that was read from it. Each function makes a system call, so no engine lock may be held;
 * none waits for a client.
 */
#ifndef HOST_FUSE_SESSION_H
#define HOST_FUSE_SESSION_H

#include "base/daemon_state.h"
#include "base/fuse_abi.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Size of the largest request: an ioctl argument of 16 KiB or a write of SESSION_MAX_WRITE. */
#define SESSION_MAX_WRITE	4096u
#define SESSION_BUFFER_SIZE	(32u * 1024)

/* Largest argument that the reply to an ioctl copies back, in bytes. */
#define SESSION_IOCTL_MAX	320u

struct request {
	const struct fuse_in_header *head;
	const void *body;		/* follows the header */
	uint32_t body_size;		/* bytes */
};

/* What was negotiated when the connection began. The supervisor tells it to each server. */
struct session_values {
	uint32_t passthrough;		/* opens can be backed by files of the daemon */
	uint32_t timeout_s;		/* the kernel's limit on the age of requests; 0: none */
	uint32_t resends;		/* session_resend() works */
	uint32_t spare;
};

struct session {
	int fd;
	bool passthrough;		/* see struct session_values */
	unsigned int timeout_s;
	atomic_bool ended;		/* by the kernel; see session_read() */
	_Atomic uint64_t device;	/* st_dev of the mount; 0 until it is known */
	atomic_bool closing;		/* session_close() was called */
	atomic_uint nr_stores;		/* notifications of new data under way */
};

/*
 * Takes ownership of @fd and replies to FUSE_INIT, which the kernel has queued when mount(2)
 * returns. Prints an error message and returns false if the kernel is too old.
 */
bool session_begin(int fd, bool want_passthrough, struct session_values *values);

/*
 * Another descriptor of the connection, with a list of unanswered requests of its own; -1: errno.
 */
int session_clone(int fd);

/* In a server: takes ownership of @fd, a descriptor of a connection that has begun. */
void session_adopt(int fd, const struct session_values *values);

/*
 * Queues every request again that was read and not answered, by whichever server. Before
 * session_read() is called.
 */
void session_resend(void);

/* Has the kernel ended the connection of @fd? */
bool session_is_over(int fd);

/*
 * Before the daemon exits: gives the connection up, so that a thread that a client keeps in the
 * kernel does not keep it. Other threads may still use it in vain.
 */
void session_close(void);

/*
 * The connection belongs to another process now: this one must not keep it, although a thread may
 * stay in the kernel.
 */
void session_forsake(void);

/*
 * Waits for the next request and reads it into @buffer of SESSION_BUFFER_SIZE bytes.
 * Returns false, and sets @ended, when the file system has been unmounted or the kernel has
 * aborted the connection; also after session_close().
 */
bool session_read(struct request *request, void *buffer);

/* Would session_read() return at once, unless another thread takes the request? */
bool session_has_request(void);

/* Replies with @error, 0 or -errno, and no data. */
void session_reply_status(uint64_t unique, int error);

/* Replies with @size bytes at @data. */
void session_reply(uint64_t unique, const void *data, size_t size);

/* Replies with @size bytes at @data, or, unless it is 0, with @error. */
void session_reply_result(uint64_t unique, int error, const void *data, size_t size);

/*
 * Replies to an ioctl with at most SESSION_IOCTL_MAX bytes at @data: @result is what ioctl(2)
 * returns (or -errno). Unlike with an error in the header, the kernel copies @data back to the
 * caller even if @result is negative: an interrupted call returns how much it consumed.
 */
void session_reply_ioctl(uint64_t unique, int result, const void *data, size_t size);

/* Wakes the pollers of the file that the kernel identifies by @poll_handle. */
void session_notify_poll(uint64_t poll_handle);

/* Drops @size bytes at @offset of @nodeid from the page cache and from mappings. */
void session_notify_inval(uint64_t nodeid, uint64_t offset, size_t size);

/*
 * Stores @size bytes in the page cache of @nodeid at @offset. Errors are ignored: the inode may be
 * gone.
 */
void session_notify_store(uint64_t nodeid, uint64_t offset, const void *data, size_t size);

/*
 * Registers @fd as a backing file for passthrough.
 * Returns the id for struct abi_open_out, or -1 with errno set.
 */
int session_backing_open(int fd);

/* Ends the registration; existing opens keep the backing file. */
void session_backing_close(int backing_id);

#endif
