// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses are written as offsets from the client's mapping, pids as names of processes, files by
 * their index among the known files. For the data of a transaction a checksum is written, of a
 * copy in which addresses and descriptors have been replaced likewise.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "differential.h"

#define OFFSET_TAG ((uint64_t)0xabcdef << 40)

static struct {
	struct world *world;
	struct client *client;
	unsigned int thread;
} in;

/* A transaction received. */
struct parcel {
	const struct returned *got;
	size_t nr; /* of offsets */
	struct live_buffer *live; /* records the files of arrays; NULL if there is no room */
};

static bool in_mapping(uint64_t at, uint64_t size)
{
	uint64_t begin = (uintptr_t)in.client->map;

	return begin && at >= begin && size <= in.client->map_size &&
	       at - begin <= in.client->map_size - size;
}

static void say_at(const char *what, uint64_t at)
{
	if (in_mapping(at, 0))
		say(in.world, " %s=+%llx", what,
		    (unsigned long long)(at - (uintptr_t)in.client->map));
	else
		say(in.world, " %s=%llx?", what, (unsigned long long)at);
}

/* The index of this file; -1: none, -2: not one of ours. */
static int file_index(int fd)
{
	struct stat got, ours;

	if (fstat(fd, &got))
		return -1;
	for (int i = 0; i < NR_FILES; i++) {
		if (!fstat(FIRST_FILE + i, &ours) && ours.st_ino == got.st_ino &&
		    ours.st_dev == got.st_dev)
			return i;
	}
	return -2;
}

/* Addresses within the mapping become offsets, wherever they occur. */
static void replace_places(uint8_t *copy, size_t size)
{
	for (size_t i = 0; i + 8 <= size; i += 4) {
		uint64_t word;

		memcpy(&word, copy + i, sizeof(word));
		if (!in_mapping(word, 0))
			continue;
		word = OFFSET_TAG + word - (uintptr_t)in.client->map;
		memcpy(copy + i, &word, sizeof(word));
	}
}

static void say_sum(const uint8_t *bytes, size_t size)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3u;
	say(in.world, " sum=%08x", (uint32_t)(sum ^ sum >> 32));
}

/* Files of arrays in this pointer object: written, recorded, and replaced in the copy. */
static void take_array(const struct parcel *parcel, const struct binder_fd_array_object *fda,
		       uint8_t *copy, size_t length)
{
	for (uint64_t n = 0; n < fda->num_fds; n++) {
		uint64_t at = fda->parent_offset + n * sizeof(int);
		int fd, index;

		if (at > length || length - at < sizeof(int))
			return;
		memcpy(&fd, copy + at, sizeof(fd));
		index = file_index(fd);
		say(in.world, " file%d", index);
		if (index != -1 && parcel->live && parcel->live->nr_fds < MAX_LIVE_FDS)
			parcel->live->fds[parcel->live->nr_fds++] = fd;
		memcpy(copy + at, &index, sizeof(index));
	}
}

static void say_pointer(const struct parcel *parcel, size_t index, const union object *object)
{
	const struct binder_buffer_object *ptr = &object->ptr;
	uint8_t *copy = world_copy_room(in.world);

	say(in.world, " ptr flags=%x length=%llu parent=%llu:%llu", ptr->flags,
	    (unsigned long long)ptr->length, (unsigned long long)ptr->parent,
	    (unsigned long long)ptr->parent_offset);
	say_at("at", ptr->buffer);
	if (!in_mapping(ptr->buffer, ptr->length))
		return;
	memcpy(copy, (const void *)(uintptr_t)ptr->buffer, ptr->length);
	for (size_t i = 0; i < parcel->nr; i++) {
		const union object *fda = returned_object(parcel->got, i);

		if (fda && fda->hdr.type == BINDER_TYPE_FDA && fda->fda.parent == index)
			take_array(parcel, &fda->fda, copy, ptr->length);
	}
	replace_places(copy, ptr->length);
	say_sum(copy, ptr->length);
}

static void know_handle(uint32_t handle, bool weak)
{
	struct client *client = in.client;

	if (client->nr_fresh < MAX_FRESH) {
		client->fresh[client->nr_fresh].handle = handle;
		client->fresh[client->nr_fresh++].weak = weak;
	}

	for (size_t i = 0; i < client->nr_handles; i++) {
		if (client->handles[i] == handle)
			return;
	}
	if (client->nr_handles < MAX_HANDLES)
		client->handles[client->nr_handles++] = handle;
}

/* A file outside arrays belongs to the receiver, and is closed here. */
static int take_file(const struct binder_fd_object *object)
{
	int fd = (int)object->fd, index = file_index(fd);
	int flags = fcntl(fd, F_GETFD);

	say(in.world, " file%d%s pad=%x cookie=%llx", index,
	    flags >= 0 && (flags & FD_CLOEXEC) ? " cloexec" : "", object->pad_flags,
	    (unsigned long long)object->cookie);
	if (index != -1)
		close(fd);
	return index;
}

static void say_object(const struct parcel *parcel, size_t index, uint8_t *copy)
{
	const union object *object = returned_object(parcel->got, index);

	say(in.world, "    object at %llu:", (unsigned long long)parcel->got->offsets[index]);
	if (!object) {
		say(in.world, " outside\n");
		return;
	}
	switch (object->hdr.type) {
	case BINDER_TYPE_BINDER:
	case BINDER_TYPE_WEAK_BINDER:
	case BINDER_TYPE_HANDLE:
	case BINDER_TYPE_WEAK_HANDLE:
		say(in.world, " %c%c flags=%x %llx cookie=%llx", object->hdr.type >> 24,
		    (char)(object->hdr.type >> 16), object->flat.flags,
		    (unsigned long long)object->flat.binder,
		    (unsigned long long)object->flat.cookie);
		if ((char)(object->hdr.type >> 16) == 'h')
			know_handle(object->flat.handle, (object->hdr.type >> 24) == 'w');
		break;
	case BINDER_TYPE_FD: {
		uint32_t file = (uint32_t)take_file(&object->fd);

		memcpy(copy + parcel->got->offsets[index] + offsetof(struct binder_fd_object, fd),
		       &file, sizeof(file));
		break;
	}
	case BINDER_TYPE_PTR:
		say_pointer(parcel, index, object);
		break;
	case BINDER_TYPE_FDA:
		say(in.world, " array of %llu in %llu:%llu",
		    (unsigned long long)object->fda.num_fds,
		    (unsigned long long)object->fda.parent,
		    (unsigned long long)object->fda.parent_offset);
		break;
	default:
		say(in.world, " type %x", object->hdr.type);
	}
	say(in.world, "\n");
}

static struct live_buffer *note_buffer(uint64_t at)
{
	struct live_buffer *live;

	if (in.client->nr_live == MAX_LIVE)
		return NULL;
	live = &in.client->live[in.client->nr_live++];
	memset(live, 0, sizeof(*live));
	live->at = at;
	return live;
}

static void say_parcel(const struct returned *got)
{
	const struct binder_transaction_data *txn = &got->txn;
	struct parcel parcel = {
		.got = got,
		.nr = txn->offsets_size / sizeof(binder_size_t),
		.live = note_buffer(txn->data.ptr.buffer),
	};
	/* Pointer objects are copied to the copy room's first half, the data to its second. */
	uint8_t *copy = world_copy_room(in.world) + PAYLOAD_ROOM / 2;

	say_at("at", txn->data.ptr.buffer);
	say_at("offsets", txn->data.ptr.offsets);
	if (!in_mapping(txn->data.ptr.buffer, txn->data_size) ||
	    !in_mapping(txn->data.ptr.offsets, txn->offsets_size)) {
		say(in.world, " outside the mapping\n");
		return;
	}
	memcpy(copy, got->data, txn->data_size);
	say(in.world, "\n");
	for (size_t i = 0; i < parcel.nr; i++)
		say_object(&parcel, i, copy);
	replace_places(copy, txn->data_size);
	say(in.world, "    data");
	say_sum(copy, txn->data_size);
	say(in.world, "\n");
}

static void take_txn(const struct returned *got)
{
	const struct binder_transaction_data *txn = &got->txn;

	say(in.world, " target=%llx cookie=%llx code=%u flags=%x from %s/%u data=%llu+%llu",
	    (unsigned long long)txn->target.ptr, (unsigned long long)txn->cookie, txn->code,
	    txn->flags, world_pid_name(txn->sender_pid), txn->sender_euid,
	    (unsigned long long)txn->data_size, (unsigned long long)txn->offsets_size);
	if (got->cmd == BR_REPLY) {
		in.client->waiting[in.thread] = false;
		in.client->calls[in.thread] -= in.client->calls[in.thread] > 0;
	} else if (!(txn->flags & TF_ONE_WAY)) {
		in.client->serving[in.thread]++;
	}
	say_parcel(got);
}

static void note_notice(uint32_t answer, uint64_t ptr, uint64_t cookie)
{
	struct client *client = in.client;

	if (answer && client->nr_notices < MAX_NOTICES)
		client->notices[client->nr_notices++] = (struct notice){ answer, ptr, cookie };
}

static void take_pair(const struct returned *got)
{
	say(in.world, " %llx %llx\n", (unsigned long long)got->ref.ptr,
	    (unsigned long long)got->ref.cookie);
	note_notice(got->cmd == BR_INCREFS   ? BC_INCREFS_DONE :
		    got->cmd == BR_ACQUIRE ? BC_ACQUIRE_DONE :
					     0,
		    got->ref.ptr, got->ref.cookie);
}

static void take_cookie(const struct returned *got)
{
	say(in.world, " %llx\n", (unsigned long long)got->cookie);
	note_notice(got->cmd == BR_DEAD_BINDER ? BC_DEAD_BINDER_DONE : 0, 0, got->cookie);
}

static void take_frozen(const struct returned *got)
{
	say(in.world, " %llx frozen=%u/%u\n", (unsigned long long)got->frozen.cookie,
	    got->frozen.is_frozen, got->frozen.reserved);
	note_notice(BC_FREEZE_NOTIFICATION_DONE, 0, got->frozen.cookie);
}

static void take_error(const struct returned *got)
{
	say(in.world, " %d\n", got->error);
}

static void take_failure(const struct returned *got)
{
	say(in.world, "\n");
	in.client->waiting[in.thread] = false;
}

static void take_nothing(const struct returned *got)
{
	say(in.world, "\n");
}

/* Returns with an argument; all others of size 0 are written by name. */
static const struct {
	uint32_t cmd;
	void (*take)(const struct returned *got);
} takers[] = {
	{ BR_TRANSACTION_SEC_CTX, take_txn },
	{ BR_TRANSACTION, take_txn },
	{ BR_REPLY, take_txn },
	{ BR_INCREFS, take_pair },
	{ BR_ACQUIRE, take_pair },
	{ BR_RELEASE, take_pair },
	{ BR_DECREFS, take_pair },
	{ BR_DEAD_BINDER, take_cookie },
	{ BR_CLEAR_DEATH_NOTIFICATION_DONE, take_cookie },
	{ BR_CLEAR_FREEZE_NOTIFICATION_DONE, take_cookie },
	{ BR_FROZEN_BINDER, take_frozen },
	{ BR_ERROR, take_error },
	{ BR_DEAD_REPLY, take_failure },
	{ BR_FAILED_REPLY, take_failure },
	{ BR_FROZEN_REPLY, take_failure },
};

void decode(struct world *world, unsigned int client, unsigned int thread, uint8_t *bytes,
	    size_t size)
{
	struct returns returns = { .bytes = bytes, .size = size };
	struct returned got;

	in.world = world;
	in.client = &world->clients[client];
	in.thread = thread;
	while (returns_next(&returns, &got)) {
		void (*take)(const struct returned *got) = take_nothing;

		say(world, "  %s", command_name(got.cmd));
		for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++) {
			if (takers[i].cmd == got.cmd)
				take = takers[i].take;
		}
		take(&got);
	}
	if (returns.at != returns.size)
		say(world, "  %zu odd bytes\n", returns.size - returns.at);
}
