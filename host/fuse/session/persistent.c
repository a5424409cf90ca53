// SPDX-License-Identifier: GPL-2.0
/*
 * What outlives a server.
 *
 * A name that changes is written to a free slot, and becomes valid by its sequence number, before
 * the old slot is freed. A server that is killed in between leaves two entries, of which the newer
 * counts.
 */
#include "session/persistent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int persistent_create(void)
{
	int fd = memfd_create("anybinder-kept", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	if (ftruncate(fd, sizeof(struct persistent)) || !persistent_attach(fd)) {
		close(fd);
		return -1;
	}
	persistent_get()->magic = PERSISTENT_MAGIC;
	persistent_get()->version = PERSISTENT_VERSION;
	persistent_get()->supervisor = (uint32_t)getpid();
	return fd;
}

bool persistent_attach(int fd)
{
	struct persistent *persistent =
		mmap(NULL, sizeof(*persistent), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (persistent == MAP_FAILED)
		return false;
	if (lseek(fd, 0, SEEK_END) != sizeof(*persistent) ||
	    (persistent->magic && (persistent->magic != PERSISTENT_MAGIC ||
				   persistent->version != PERSISTENT_VERSION))) {
		munmap(persistent, sizeof(*persistent));
		errno = EPROTO;
		return false;
	}
	daemon_self->persistent = persistent;
	return true;
}

/* ---- names ---- */

/* Slots are numbered from 1. */
static struct persistent_name *name_at(uint32_t slot)
{
	return &persistent_get()->names[slot - 1];
}

void persistent_remove_name(uint32_t *slot)
{
	if (*slot)
		atomic_store(&name_at(*slot)->sequence, 0);
	*slot = 0;
}

void persistent_put_name(uint32_t *slot, const struct persistent_name *name)
{
	struct persistent *persistent = persistent_get();
	uint32_t end = atomic_load(&persistent->names_end);
	uint32_t free_slot = 1;
	struct persistent_name *to;

	while (free_slot <= end && atomic_load(&name_at(free_slot)->sequence))
		free_slot++;
	if (free_slot > PERSISTENT_NAMES)
		return;
	if (free_slot > end)
		atomic_store(&persistent->names_end, free_slot);
	to = name_at(free_slot);
	to->ino = name->ino;
	to->mode = name->mode;
	to->uid = name->uid;
	to->gid = name->gid;
	memcpy(to->name, name->name, sizeof(to->name));
	atomic_store(&to->sequence, atomic_fetch_add(&persistent->last_sequence, 1) + 1);
	persistent_remove_name(slot);
	*slot = free_slot;
}

static int newer_first(const void *a, const void *b)
{
	uint64_t one = atomic_load(&name_at(*(const uint32_t *)a)->sequence);
	uint64_t other = atomic_load(&name_at(*(const uint32_t *)b)->sequence);

	return one < other ? 1 : one > other ? -1 : 0;
}

struct persistent_name *persistent_names(uint32_t *nr, uint32_t **slots)
{
	uint32_t end = atomic_load(&persistent_get()->names_end);
	uint32_t *found = malloc((PERSISTENT_NAMES + 1) * sizeof(*found));
	struct persistent_name *names;

	*nr = 0;
	for (uint32_t slot = 1; found && slot <= end && slot <= PERSISTENT_NAMES; slot++)
		if (atomic_load(&name_at(slot)->sequence))
			found[(*nr)++] = slot;
	names = found ? malloc((*nr + 1) * sizeof(*names)) : NULL;
	if (!names) {
		free(found);
		return NULL;
	}
	qsort(found, *nr, sizeof(*found), newer_first);
	for (uint32_t i = 0; i < *nr; i++) {
		memcpy(&names[i], name_at(found[i]), sizeof(names[i]));
		names[i].name[PERSISTENT_NAME_SIZE - 1] = 0;
	}
	*slots = found;
	return names;
}

/* ---- registrations of backing files ---- */

void persistent_note_backing(uint32_t id)
{
	_Atomic uint32_t *last = &persistent_get()->backing_last;
	uint32_t before = atomic_load(last);

	while (before < id && !atomic_compare_exchange_weak(last, &before, id))
		;
}

uint32_t persistent_last_backing(void)
{
	return atomic_load(&persistent_get()->backing_last);
}

/* A server that is killed meanwhile leaves the range as it was. */
void persistent_end_backings(uint32_t last, void (*end)(int id))
{
	struct persistent *persistent = persistent_get();

	for (uint32_t id = atomic_load(&persistent->backing_first); id <= last; id++)
		end((int)id);
	atomic_store(&persistent->backing_first, last + 1);
}

/* ---- pollers ---- */

void persistent_note_poll(uint64_t handle, uint64_t poll_handle)
{
	struct persistent *persistent = persistent_get();
	uint32_t index = handle_index(handle);
	uint32_t end = atomic_load_explicit(&persistent->polls_end, memory_order_relaxed);

	if (atomic_load_explicit(&persistent->polls[index], memory_order_relaxed) == poll_handle)
		return;
	atomic_store(&persistent->polls[index], poll_handle);
	while (end <= index &&
	       !atomic_compare_exchange_weak(&persistent->polls_end, &end, index + 1))
		;
}

void persistent_forget_poll(uint64_t handle)
{
	_Atomic uint64_t *poll = &persistent_get()->polls[handle_index(handle)];

	if (atomic_load_explicit(poll, memory_order_relaxed))
		atomic_store(poll, 0);
}

void persistent_notify_polls(void (*notify)(uint64_t poll_handle))
{
	struct persistent *persistent = persistent_get();
	uint32_t end = atomic_load(&persistent->polls_end);

	for (uint32_t i = 0; i < end && i < HANDLE_CHUNK * HANDLE_CHUNKS_MAX; i++) {
		uint64_t poll_handle = atomic_load(&persistent->polls[i]);

		if (poll_handle)
			notify(poll_handle);
	}
}
