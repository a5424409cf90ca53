// SPDX-License-Identifier: GPL-2.0
/*
 * Handles of open files.
 *
 * The slots are in chunks that are never freed, so that a lookup needs no lock. A number holds the
 * index of its slot, and the slot the whole number: a handle of another server, whose index may be
 * in use for another file, is not mistaken for it.
 */
#include "session/handles.h"

#include "base/locks.h"

#include <pthread.h>
#include <stdlib.h>

struct handles_free {
	pthread_mutex_t lock;		/* guards the rest, and changes of slots and chunks */
	uint32_t nr_chunks;
	uint32_t nr;			/* of free slots */
	uint32_t *indices;		/* of the free slots, in no order */
	uint32_t *positions;		/* in @indices, of each free slot by its index */
};

void handles_init(unsigned int generation)
{
	struct handles *handles = daemon_part(handles);

	handles->generation = generation;
	handles->free = daemon_alloc(sizeof(*handles->free));
	pthread_mutex_init(&handles->free->lock, NULL);
}

static struct handle_slot *slot_at(uint32_t index)
{
	return atomic_load_explicit(&daemon_self->handles->chunks[index / HANDLE_CHUNK],
				    memory_order_relaxed) + index % HANDLE_CHUNK;
}

static void push_free_locked(struct handles_free *free, uint32_t index)
{
	free->positions[index] = free->nr;
	free->indices[free->nr++] = index;
}

static void take_free_locked(struct handles_free *free, uint32_t index)
{
	uint32_t last = free->indices[--free->nr];

	free->indices[free->positions[index]] = last;
	free->positions[last] = free->positions[index];
}

/* Room for one chunk more in one of the two arrays. Lock held. */
static bool grow_locked(uint32_t **array, uint32_t nr_chunks)
{
	uint32_t *grown = realloc(*array, ((size_t)nr_chunks + 1) * HANDLE_CHUNK * sizeof(*grown));

	if (grown)
		*array = grown;
	return grown;
}

static bool add_chunk_locked(struct handles *handles)
{
	struct handles_free *free = handles->free;
	uint32_t nr = free->nr_chunks;
	struct handle_slot *chunk;

	if (nr == HANDLE_CHUNKS_MAX || !grow_locked(&free->indices, nr) ||
	    !grow_locked(&free->positions, nr))
		return false;
	chunk = calloc(HANDLE_CHUNK, sizeof(*chunk));
	if (!chunk)
		return false;
	atomic_store_explicit(&handles->chunks[nr], chunk, memory_order_release);
	free->nr_chunks++;
	for (uint32_t i = HANDLE_CHUNK; i--;)
		push_free_locked(free, nr * HANDLE_CHUNK + i);
	return true;
}

static void fill_slot_locked(uint32_t index, uint64_t number, void *object)
{
	struct handle_slot *slot = slot_at(index);

	take_free_locked(daemon_self->handles->free, index);
	atomic_store_explicit(&slot->object, object, memory_order_relaxed);
	atomic_store_explicit(&slot->number, number, memory_order_release);
}

uint64_t handles_add(void *object, bool device)
{
	struct handles *handles = daemon_self->handles;
	struct handles_free *free = handles->free;
	uint64_t number;
	uint32_t index;
	guard_mutex(&free->lock);

	if (!free->nr && !add_chunk_locked(handles))
		return 0;
	index = free->indices[free->nr - 1];
	number = (uint64_t)handles->generation << GENERATION_SHIFT | (uint64_t)index << 1 | device;
	fill_slot_locked(index, number, object);
	return number;
}

bool handles_insert(uint64_t number, void *object)
{
	struct handles *handles = daemon_self->handles;
	uint32_t index = handle_index(number);
	guard_mutex(&handles->free->lock);

	/* before there is room for it: a damaged number may be anything */
	if (!generation_of(number) || generation_of(number) > handles->generation ||
	    number << (64 - GENERATION_SHIFT) >> (65 - GENERATION_SHIFT) != index)
		return false;
	while (handles->free->nr_chunks <= index / HANDLE_CHUNK)
		if (!add_chunk_locked(handles))
			return false;
	if (atomic_load(&slot_at(index)->number))
		return false;
	fill_slot_locked(index, number, object);
	return true;
}

void handles_remove(uint64_t number)
{
	struct handles *handles = daemon_self->handles;
	uint32_t index = handle_index(number);
	guard_mutex(&handles->free->lock);

	atomic_store_explicit(&slot_at(index)->number, 0, memory_order_release);
	push_free_locked(handles->free, index);
}

void handles_visit(void (*visit)(uint64_t number, void *object, void *arg), void *arg)
{
	struct handles *handles = daemon_self->handles;
	guard_mutex(&handles->free->lock);

	for (uint32_t i = 0; i < handles->free->nr_chunks * HANDLE_CHUNK; i++) {
		struct handle_slot *slot = slot_at(i);
		uint64_t number = atomic_load(&slot->number);

		if (number)
			visit(number, atomic_load(&slot->object), arg);
	}
}
