/* SPDX-License-Identifier: GPL-2.0 */
/*
 * client: one open of a binder device by one actor: open, map, write commands, read returns. A
 * client reads without blocking (O_NONBLOCK) unless it is opened otherwise; expect.h waits for
 * what is due. Commands are queued with put_*() and written by flush(); all functions that return
 * int return 0 or -errno.
 */
#ifndef CONFORMANCE_CLIENT_H
#define CONFORMANCE_CLIENT_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actor.h"
#include "tests/lib/binder.h"

#define MAP_SIZE PORT_MAP_BYTES
#define READ_SIZE 4096
#define QUEUE_LENGTH 256

struct client {
	struct actor *by;
	struct port *port; /* shared by the clients of one open */
	bool show_refs; /* false: expect.h answers and drops BR_INCREFS to BR_DECREFS */

	struct commands out; /* queued */
	struct returns in; /* what the last read returned, READ_SIZE bytes of room */
	struct binder_write_read last; /* as the last BINDER_WRITE_READ left it */

	struct returned *queue; /* parsed returns that no test has taken, [head, tail); copies */
	size_t head, tail;
	void *pending; /* the read begun by read_begin() */
};

/* How to open a client; zero means the default. */
struct client_options {
	const char *device;    /* test_device() */
	struct actor *by;      /* a new process */
	bool blocking;	       /* without O_NONBLOCK */
	bool no_map;	       /* do not map */
	size_t map_size;       /* MAP_SIZE */
};

/* Open and map like this; the test fails if that fails. */
struct client *client_open(struct client_options options);
/* The default client: new process, mapped, reads without blocking. */
struct client *client_new(void);
/* The same, and it has become the context manager (handle 0) and entered the loop. */
struct client *manager_new(void);
struct client *manager_open(struct client_options options);
/*
 * The same open file used by a new thread of the client's process. Both block, or both do not:
 * that is a property of the file.
 */
struct client *client_thread(struct client *of);
/* A second open in the same process and thread. */
struct client *client_again(struct client *of);
/* The effective user id of its process changes. */
void client_set_euid(struct client *client, uid_t uid);
/*
 * Ask to become context manager, again while the manager of an earlier test is still being
 * released; what the last BINDER_SET_CONTEXT_MGR or ..._EXT returned. become_manager(): the test
 * fails if it is refused.
 */
int ask_to_manage(struct client *client, unsigned long cmd, void *arg);
void become_manager(struct client *client);

/* Close the file and drop the mapping. */
void client_close(struct client *client);
/* End the client's thread by pthread_exit(3); wait a little. Its process goes on. */
void client_end_thread(struct client *client);
/* SIGKILL the process; and also wait until the driver has cleaned up after it. */
void client_kill(struct client *client);
void client_kill_and_wait(struct client *client);

/* ioctl with an argument of _IOC_SIZE(cmd) bytes, copied in and back. */
int client_ioctl(struct client *client, unsigned long cmd, void *arg);
/* ioctl with the bare argument, for bad pointers and odd numbers. */
int client_ioctl_raw(struct client *client, unsigned long cmd, unsigned long arg);
/* mmap in the client's process; the address, or a negative errno. Does not change client->port. */
long client_mmap(struct client *client, size_t size, int prot, int flags, off_t offset);
/* Run a function in the client's thread; arg must be in shared memory. */
void client_run(struct client *client, void (*step)(void *arg), void *arg);
/* A copy of memory of the client's process, in shared memory. */
void *read_memory(struct client *client, uint64_t at, size_t size);
/* BINDER_FREEZE by one client of the process of another. */
int freeze(struct client *by, struct client *target, bool enable, uint32_t timeout_ms);

/* Queue a command: commands_put_bytes() and so on of tests/lib/binder.h. */
#define put_bytes(client_, ...) commands_put_bytes(&(client_)->out, __VA_ARGS__)
#define put_cmd(client_, cmd) commands_put_bytes(&(client_)->out, &(uint32_t){ cmd }, 4)
#define put_u32(client_, ...) commands_put_u32(&(client_)->out, __VA_ARGS__)
#define put_u64(client_, ...) commands_put_u64(&(client_)->out, __VA_ARGS__)
#define put_ref(client_, ...) commands_put_ref(&(client_)->out, __VA_ARGS__)
#define put_handle_cookie(client_, ...) commands_put_notice(&(client_)->out, __VA_ARGS__)

/* Write what is queued. The queue is empty afterwards, also after an error. */
int try_flush(struct client *client);
/* The same; the test fails unless all of it was consumed. */
void flush(struct client *client);
/* Queue a command, and flush what is queued. */
#define send_with(put, client_, ...) \
	({ struct client *to_ = (client_); put(to_, __VA_ARGS__); flush(to_); })
#define send_cmd(client_, cmd) send_with(put_cmd, client_, cmd)
#define send_u32(client_, ...) send_with(put_u32, client_, __VA_ARGS__)
#define send_u64(client_, ...) send_with(put_u64, client_, __VA_ARGS__)
#define send_ref(client_, ...) send_with(put_ref, client_, __VA_ARGS__)
#define send_handle_cookie(client_, ...) send_with(put_handle_cookie, client_, __VA_ARGS__)

/*
 * One BINDER_WRITE_READ exactly as given (addresses in shared memory, or bad on purpose); fields
 * come back.
 */
int write_read(struct client *client, struct binder_write_read *bwr);
/*
 * One read of up to size bytes into client->in, appended to client->queue. -EAGAIN when there
 * was nothing.
 */
int read_once(struct client *client, size_t size);
/*
 * The same in two steps, for a read that blocks: begin; then end, which returns -EINPROGRESS while
 * it is blocked.
 */
void read_begin(struct client *client);
int read_end(struct client *client, int timeout_ms);

#endif
