/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The connection to the kernel: requests come in by read(2), replies and notices go out by
 * write(2).
 *
 * There is one connection and one descriptor for the whole daemon. Any thread may answer any
 * request. No function here may be called with an engine lock held (each is a system call), none
 * waits for a client.
 */
#ifndef HOST_FUSE_SESSION_H
#define HOST_FUSE_SESSION_H

#include "fuse_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Room for the largest request: an ioctl argument of 16 KiB or a write of SESSION_MAX_WRITE. */
#define SESSION_MAX_WRITE	4096u
#define SESSION_BUFFER_SIZE	(32u * 1024)

/* The most that the answer to an ioctl hands back, in bytes. */
#define SESSION_IOCTL_MAX	320u

struct request {
	const struct fuse_in_header *head;
	const void *body;		/* what follows the header */
	uint32_t body_size;		/* bytes */
};

struct session {
	int fd;
	bool passthrough;	/* the kernel lets a file be backed by one of ours */
	_Atomic uint64_t device;	/* st_dev of the mount; 0 until it is known */
	bool direct_mmap;	/* a shared mapping of a FOPEN_DIRECT_IO file is possible */
};

extern struct session session;

/*
 * Takes over @fd and negotiates: waits for the kernel's INIT, which is already on its way when
 * mount(2) returns. Prints why and returns false if the kernel is too old.
 */
bool session_init(int fd, bool want_passthrough);

/*
 * Waits for the next request and reads it into @buffer of SESSION_BUFFER_SIZE bytes.
 * Returns false when the file system has been unmounted.
 */
bool session_read(struct request *request, void *buffer);

/* Answers with @error (positive errno, 0 for plain success) and no data. */
void session_reply_error(uint64_t unique, int error);

/* Answers with @size bytes at @data. */
void session_reply(uint64_t unique, const void *data, size_t size);

/*
 * Answers an ioctl with at most SESSION_IOCTL_MAX bytes at @data: @result is what ioctl(2) returns
 * (or -errno). Unlike an error in the header, a negative @result still copies @data back to the
 * caller, which is how an interrupted call tells how much it consumed.
 */
void session_reply_ioctl(uint64_t unique, int result, const void *data, size_t size);

/* Wakes whoever polls the file that the kernel calls @poll_handle. */
void session_notify_poll(uint64_t poll_handle);

/*
 * Puts @size bytes into the page cache of @nodeid at @offset. Returns false if the kernel did not
 * take them (the inode is gone).
 */
bool session_notify_store(uint64_t nodeid, uint64_t offset, const void *data, size_t size);

/*
 * Registers @fd as a file that may back an open one.
 * Returns the id for abi_open_out, or -1 with errno set.
 */
int session_backing_open(int fd);

/* Ends the registration; opens that are backed by it stay so. */
void session_backing_close(int backing_id);

#endif
