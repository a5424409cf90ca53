// SPDX-License-Identifier: GPL-2.0
/*
 * A wire: the connection of one thread to a binder device, without any library.
 *
 * It makes the system calls that libbinder makes: a caller needs one BINDER_WRITE_READ per call,
 * which also frees the buffer of the previous reply; a server needs two, one to reply, which
 * returns at once with BR_TRANSACTION_COMPLETE, and one to wait for the next call.
 */
#include "bench/wire.h"

#include "bench/fail.h"
#include "bench/payload.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

void wire_open(struct wire *wire, const char *device, size_t map_bytes)
{
	struct binder_version version;
	uint32_t max_threads = 0;

	memset(wire, 0, sizeof(*wire));
	wire->fd = open(device, O_RDWR | O_CLOEXEC);
	if (wire->fd < 0)
		fail_errno("%s", device);
	if (ioctl(wire->fd, BINDER_VERSION, &version) ||
	    ioctl(wire->fd, BINDER_SET_MAX_THREADS, &max_threads))
		fail_errno("%s: ioctl", device);
	wire->map = mmap(NULL, map_bytes, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, wire->fd, 0);
	if (wire->map == MAP_FAILED)
		fail_errno("%s: mmap", device);
	wire->map_bytes = map_bytes;
}

void wire_close(struct wire *wire)
{
	if (munmap(wire->map, wire->map_bytes) || close(wire->fd))
		fail_errno("close");
}

struct binder_transaction_data wire_message(size_t bytes)
{
	return (struct binder_transaction_data){
		.code = 1,
		.data_size = bytes,
		.data.ptr.buffer = (uintptr_t)payload_new(bytes),
	};
}

void wire_put(struct wire *wire, uint32_t command, const void *argument, size_t bytes)
{
	if (wire->out_bytes + sizeof(command) + bytes > sizeof(wire->out))
		fail("more than %zu bytes of commands queued", sizeof(wire->out));
	memcpy(wire->out + wire->out_bytes, &command, sizeof(command));
	memcpy(wire->out + wire->out_bytes + sizeof(command), argument, bytes);
	wire->out_bytes += sizeof(command) + bytes;
}

void wire_free(struct wire *wire, binder_uintptr_t buffer)
{
	wire_put(wire, BC_FREE_BUFFER, &buffer, sizeof(buffer));
}

/* Sends the queued commands; returns how many of @read_bytes were read. */
static size_t exchange(struct wire *wire, size_t read_bytes)
{
	struct binder_write_read bwr = {
		.write_size = wire->out_bytes,
		.write_buffer = (uintptr_t)wire->out,
		.read_size = read_bytes,
		.read_buffer = (uintptr_t)wire->in,
	};

	if (ioctl(wire->fd, BINDER_WRITE_READ, &bwr))
		fail_errno("BINDER_WRITE_READ");
	if (bwr.write_consumed != wire->out_bytes)
		fail("the driver read only %llu of %zu bytes of commands",
		     bwr.write_consumed, wire->out_bytes);
	wire->out_bytes = 0;
	return bwr.read_consumed;
}

void wire_write(struct wire *wire)
{
	exchange(wire, 0);
}

void wire_write_read(struct wire *wire)
{
	wire->in_bytes = exchange(wire, sizeof(wire->in));
	wire->in_at = 0;
}

/* Takes the next return of those that were read; false if there is none left. */
static bool next_return(struct wire *wire, uint32_t *code, const void **argument)
{
	if (wire->in_at + sizeof(*code) > wire->in_bytes)
		return false;
	memcpy(code, wire->in + wire->in_at, sizeof(*code));
	*argument = wire->in + wire->in_at + sizeof(*code);
	wire->in_at += sizeof(*code) + _IOC_SIZE(*code);
	return true;
}

uint32_t wire_next(struct wire *wire, const void **argument)
{
	uint32_t code;

	while (!next_return(wire, &code, argument))
		wire_write_read(wire);
	return code;
}

/* Handles the returns that mean the same everywhere; fails on those that end a measurement. */
static void common_return(struct wire *wire, uint32_t code, const void *argument)
{
	switch (code) {
	case BR_INCREFS:
		wire_put(wire, BC_INCREFS_DONE, argument, sizeof(struct binder_ptr_cookie));
		break;
	case BR_ACQUIRE:
		wire_put(wire, BC_ACQUIRE_DONE, argument, sizeof(struct binder_ptr_cookie));
		break;
	case BR_NOOP:
	case BR_TRANSACTION_COMPLETE:
	case BR_RELEASE:
	case BR_DECREFS:
		break;
	default:
		fail("unexpected return 0x%x", code);
	}
}

uint32_t wire_wait(struct wire *wire, struct binder_transaction_data *got)
{
	uint32_t found = 0, code;
	const void *argument;

	while (!found) {
		/* a call may have been read together with the completion of the last reply */
		if (wire->in_at == wire->in_bytes)
			wire_write_read(wire);
		while (next_return(wire, &code, &argument)) {
			if (code == BR_TRANSACTION || code == BR_REPLY) {
				memcpy(got, argument, sizeof(*got));
				found = code;
			} else {
				common_return(wire, code, argument);
			}
		}
	}
	return found;
}

void wire_reply(struct wire *wire, const struct binder_transaction_data *reply)
{
	bool taken = false;
	const void *argument;
	uint32_t code;

	wire_put(wire, BC_REPLY, reply, sizeof(*reply));
	while (!taken) {
		wire_write_read(wire);
		while (!taken && next_return(wire, &code, &argument)) {
			common_return(wire, code, argument);
			taken |= code == BR_TRANSACTION_COMPLETE;
		}
	}
}

void wire_call(struct wire *wire, const struct binder_transaction_data *call,
	       struct binder_transaction_data *answer)
{
	wire_put(wire, BC_TRANSACTION, call, sizeof(*call));
	if (wire_wait(wire, answer) != BR_REPLY)
		fail("the client received a call instead of a reply");
}
