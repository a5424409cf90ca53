/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The numbers by which the kernel knows what the daemon serves: handles of open files, nodeids.
 *
 * The kernel keeps them for longer than a server lives, so they are numbers of a table and never
 * addresses. The highest bits are the generation of the server that gave the number: no two servers
 * of a mount give the same. A server knows its own handles and those that it has taken over from
 * its predecessor by handles_insert(); any other is of a server that has crashed.
 */
#ifndef HOST_FUSE_HANDLES_H
#define HOST_FUSE_HANDLES_H

#include "base/daemon_state.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- generations ---- */

/* A mount can have servers with the numbers from 1 to this one. */
#define GENERATION_MAX		4095u
#define GENERATION_SHIFT	52

/* The generation of the server that gave @number, a handle or a nodeid; 0: all servers give it. */
static inline unsigned int generation_of(uint64_t number)
{
	return (unsigned int)(number >> GENERATION_SHIFT);
}

/* ---- handles of open files ---- */

/* Bits of a handle below the generation: the index of its slot, and its kind. */
#define HANDLE_CHUNK		1024u
#define HANDLE_CHUNKS_MAX	4096u

struct handle_slot {
	_Atomic uint64_t number;	/* 0: free */
	_Atomic(void *) object;
};

struct handles {
	unsigned int generation;
	_Atomic(struct handle_slot *) chunks[HANDLE_CHUNKS_MAX];	/* of HANDLE_CHUNK slots */
	struct handles_free *free;
};

/* @generation: of this server. */
void handles_init(unsigned int generation);

/* The generation of this server. */
static inline unsigned int handles_generation(void)
{
	return daemon_self->handles->generation;
}

/* A new handle for @object; 0: no memory. @device: what handle_is_device() returns. */
uint64_t handles_add(void *object, bool device);

/*
 * Before the first handles_add(): @object gets the handle @number, which it had in the predecessor.
 * False: no memory, or it is not a number of handles_add().
 */
bool handles_insert(uint64_t number, void *object);

/* RELEASE: the kernel does not use the handle any more. */
void handles_remove(uint64_t number);

/* Calls @visit for each handle, with the table locked. */
void handles_visit(void (*visit)(uint64_t number, void *object, void *arg), void *arg);

static inline bool handle_is_device(uint64_t number)
{
	return number & 1;
}

static inline uint32_t handle_index(uint64_t number)
{
	return (uint32_t)(number >> 1) & (HANDLE_CHUNK * HANDLE_CHUNKS_MAX - 1);
}

/*
 * The object of a handle; NULL: a crashed server gave it. Takes no lock and writes nothing. The
 * kernel sends RELEASE when no other request uses the handle, so the object remains until then.
 */
static inline void *handles_find(uint64_t number)
{
	uint32_t index = handle_index(number);
	struct handle_slot *chunk = atomic_load_explicit(
		&daemon_self->handles->chunks[index / HANDLE_CHUNK], memory_order_acquire);
	struct handle_slot *slot = chunk + index % HANDLE_CHUNK;

	if (!chunk || atomic_load_explicit(&slot->number, memory_order_acquire) != number)
		return NULL;
	return atomic_load_explicit(&slot->object, memory_order_relaxed);
}

/* ---- nodeids ---- */

/*
 * Directories and texts that every server has get the same nodeid from each, computed from the
 * path. Each LOOKUP of a device gets a new one, which names the device, so that a later server can
 * serve the inode that a bind mount of the device file keeps. FUSE_ROOT_ID is the root's.
 */
#define NODEID_DEVICE_SHIFT	36
#define NODEID_DEVICES_MAX	0xffffu
#define NODEID_COUNTER_MASK	((1ull << NODEID_DEVICE_SHIFT) - 1)

/* @device: its number, from 1; 0: of something that is not a device. */
static inline uint64_t nodeid_make(unsigned int generation, unsigned int device, uint64_t counter)
{
	return (uint64_t)generation << GENERATION_SHIFT |
	       (uint64_t)device << NODEID_DEVICE_SHIFT | (counter & NODEID_COUNTER_MASK);
}

/* The nodeid of a directory or text: FNV-1a of its name, beginning with the directory's nodeid. */
static inline uint64_t nodeid_of_name(uint64_t directory, const char *name)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ directory;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
	return nodeid_make(0, 0, hash);
}

/* The number of the device, 0: none. */
static inline unsigned int nodeid_device(uint64_t nodeid)
{
	return nodeid >> NODEID_DEVICE_SHIFT & NODEID_DEVICES_MAX;
}

#endif
