// SPDX-License-Identifier: GPL-2.0
/*
 * A payload is laid out correctly: data, then the objects from the next multiple of eight, then
 * their offsets. Then the twist of the command makes one thing wrong, so that the driver processes
 * all that comes before it.
 */
#include <string.h>

#include "differential.h"

#define BAD_ADDRESS 0x1000u
#define HUGE_SIZE ((binder_size_t)1 << 40)
#define UNKNOWN_TYPE 0x756b2a85u
#define BAD_FD 999

struct layout {
	struct world *world;
	unsigned int client;
	const struct command *command;
	struct payload payload;
};

static void fill(uint8_t *data, size_t size, uint32_t code)
{
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i * 7 + code);
}

static int file_number(int64_t file)
{
	return file < NR_FILES ? FIRST_FILE + (int)file : BAD_FD;
}

/* The buffer of a pointer object, with the arrays of files in it. */
static uint8_t *build_buffer(const struct layout *layout, unsigned int index)
{
	const struct command *command = layout->command;
	size_t length = (size_t)command->objects[index].field[OBJ_LENGTH];
	uint8_t *buffer = payload_alloc(layout->world, length);

	fill(buffer, length, index);
	for (unsigned int i = 0; i < command->nr_objects; i++) {
		const struct object_spec *fda = &command->objects[i];
		size_t at = (size_t)fda->field[OBJ_FDA_OFFSET];

		if (fda->kind != 'a' || fda->field[OBJ_FDA_PARENT] != index)
			continue;
		for (int64_t n = 0; n < fda->field[OBJ_COUNT]; n++, at += sizeof(int)) {
			int fd = file_number(n % NR_FILES);

			if (command->field[TXN_TWIST] == TWIST_FDA_BAD &&
			    n == fda->field[OBJ_COUNT] - 1)
				fd = BAD_FD;
			if (at + sizeof(fd) <= length)
				memcpy(buffer + at, &fd, sizeof(fd));
		}
	}
	return buffer;
}

static void build_node(struct layout *layout, unsigned int index, union object *object)
{
	const struct object_spec *spec = &layout->command->objects[index];
	int64_t node = spec->field[OBJ_NODE];

	object->flat.flags = (uint32_t)spec->field[OBJ_FLAGS];
	object->flat.binder = node_ptr(layout->client, node);
	object->flat.cookie = node_cookie(layout->client, node, spec->field[OBJ_COOKIE]);
}

static void build_handle(struct layout *layout, unsigned int index, union object *object)
{
	const struct object_spec *spec = &layout->command->objects[index];

	object->flat.flags = (uint32_t)spec->field[OBJ_FLAGS];
	object->flat.handle = resolve_handle(&layout->world->clients[layout->client],
					     spec->field[OBJ_NODE]);
	object->flat.cookie = (uint64_t)spec->field[OBJ_COOKIE];
}

static void build_file(struct layout *layout, unsigned int index, union object *object)
{
	object->fd.fd = (uint32_t)file_number(layout->command->objects[index].field[0]);
}

static void build_pointer(struct layout *layout, unsigned int index, union object *object)
{
	const struct object_spec *spec = &layout->command->objects[index];

	object->ptr.buffer = (uintptr_t)build_buffer(layout, index);
	if (layout->command->field[TXN_TWIST] == TWIST_POINTER_BAD)
		object->ptr.buffer = BAD_ADDRESS;
	object->ptr.length = (binder_size_t)spec->field[OBJ_LENGTH];
	object->ptr.flags = spec->field[OBJ_HAS_PARENT] ? BINDER_BUFFER_FLAG_HAS_PARENT : 0;
	object->ptr.parent = (binder_size_t)spec->field[OBJ_PARENT];
	object->ptr.parent_offset = (binder_size_t)spec->field[OBJ_PARENT_OFFSET];
}

static void build_array(struct layout *layout, unsigned int index, union object *object)
{
	const struct object_spec *spec = &layout->command->objects[index];

	object->fda.num_fds = (binder_size_t)spec->field[OBJ_COUNT];
	object->fda.parent = (binder_size_t)spec->field[OBJ_FDA_PARENT];
	object->fda.parent_offset = (binder_size_t)spec->field[OBJ_FDA_OFFSET];
}

static void build_unknown(struct layout *layout, unsigned int index, union object *object)
{
	object->flat.flags = (uint32_t)layout->command->objects[index].field[0];
}

static const struct {
	char kind;
	uint32_t type;
	void (*build)(struct layout *layout, unsigned int index, union object *object);
} kinds[] = {
	{ 'b', BINDER_TYPE_BINDER, build_node },
	{ 'w', BINDER_TYPE_WEAK_BINDER, build_node },
	{ 'h', BINDER_TYPE_HANDLE, build_handle },
	{ 'v', BINDER_TYPE_WEAK_HANDLE, build_handle },
	{ 'f', BINDER_TYPE_FD, build_file },
	{ 'p', BINDER_TYPE_PTR, build_pointer },
	{ 'a', BINDER_TYPE_FDA, build_array },
	{ 'u', UNKNOWN_TYPE, build_unknown },
};

static void build_objects(struct layout *layout)
{
	const struct command *command = layout->command;

	for (unsigned int i = 0; i < command->nr_objects; i++) {
		union object object = { 0 };
		size_t kind = 0;

		while (kinds[kind].kind != command->objects[i].kind)
			kind++;
		object.hdr.type = kinds[kind].type;
		kinds[kind].build(layout, i, &object);
		payload_add(&layout->payload, &object);
	}
}

/* Twists of the list of offsets. */
static void twist_offsets(struct layout *layout, enum twist twist)
{
	binder_size_t *offsets = layout->payload.offsets;
	size_t nr = layout->payload.nr;

	if (!nr)
		return;
	if (twist == TWIST_OFFSET_ODD)
		offsets[0] += 2;
	else if (twist == TWIST_OFFSET_BEYOND)
		offsets[nr - 1] = layout->payload.size;
	else if (twist == TWIST_OFFSET_TWICE && nr > 1)
		offsets[1] = offsets[0];
	else if (twist == TWIST_OFFSETS_OVERLAP && nr > 1)
		offsets[1] = offsets[0] + 8;
	if (twist != TWIST_OFFSETS_REVERSED)
		return;
	for (size_t i = 0; i < nr / 2; i++) {
		binder_size_t swap = offsets[i];

		offsets[i] = offsets[nr - 1 - i];
		offsets[nr - 1 - i] = swap;
	}
}

/* Twists of the transaction itself. */
static void twist_sizes(struct binder_transaction_data_sg *td, enum twist twist)
{
	struct binder_transaction_data *txn = &td->transaction_data;

	if (twist == TWIST_OFFSETS_SIZE_ODD)
		txn->offsets_size += 4;
	else if (twist == TWIST_OFFSETS_SIZE_HUGE)
		txn->offsets_size = HUGE_SIZE;
	else if (twist == TWIST_DATA_BAD)
		txn->data.ptr.buffer = BAD_ADDRESS;
	else if (twist == TWIST_OFFSETS_BAD)
		txn->data.ptr.offsets = BAD_ADDRESS;
	else if (twist == TWIST_DATA_HUGE)
		txn->data_size = HUGE_SIZE;
	else if (twist == TWIST_DATA_SHORT && txn->data_size >= 8)
		txn->data_size -= 8;
	else if (twist == TWIST_ROOM_ODD)
		td->buffers_size += 4;
	else if (twist == TWIST_ROOM_SHORT && td->buffers_size >= 8)
		td->buffers_size -= 8;
	else if (twist == TWIST_ROOM_HUGE)
		td->buffers_size = HUGE_SIZE;
	else if (twist == TWIST_ROOM_TO_SPARE)
		td->buffers_size += 64;
}

void payload_build(struct world *world, unsigned int client, const struct command *command,
		   struct binder_transaction_data_sg *td)
{
	size_t size = (size_t)command->field[TXN_SIZE];
	size_t room = size + 8 + MAX_SPECS * sizeof(union object);
	struct layout layout = {
		.world = world,
		.client = client,
		.command = command,
		.payload = {
			.data = payload_alloc(world, room),
			.size = size,
			.room = room,
			.offsets = payload_alloc(world, (MAX_SPECS + 1) * sizeof(binder_size_t)),
			.max = MAX_SPECS,
		},
	};
	struct binder_transaction_data *txn = &td->transaction_data;

	fill(layout.payload.data, size, (uint32_t)command->field[TXN_CODE]);
	build_objects(&layout);
	twist_offsets(&layout, command->field[TXN_TWIST]);
	txn->data_size = layout.payload.size;
	txn->offsets_size = layout.payload.nr * sizeof(binder_size_t);
	txn->data.ptr.buffer = (uintptr_t)layout.payload.data;
	txn->data.ptr.offsets = (uintptr_t)layout.payload.offsets;
	td->buffers_size = layout.payload.buffers_size;
	twist_sizes(td, command->field[TXN_TWIST]);
}
