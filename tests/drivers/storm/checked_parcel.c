// SPDX-License-Identifier: GPL-2.0
/* The bytes follow from the sender and the call, so that a wrong byte shows. */
#include <string.h>
#include <sys/stat.h>

#include "storm.h"
#include "test.h"

static uint8_t byte_at(const struct heading *heading, uint32_t i)
{
	return (uint8_t)(heading->from * 31 + heading->seq * 7 + i);
}

void parcel_pack(const struct parcel *parcel, struct packed *packed)
{
	const union object object = OBJ_BINDER(parcel->object, parcel->object,
					       .flags = FLAT_BINDER_FLAG_ACCEPTS_FDS);
	const union object handle = OBJ_HANDLE(parcel->handle), file = OBJ_FD(parcel->file);
	struct payload payload = {
		.data = packed->data, .room = sizeof(packed->data),
		.offsets = packed->offsets, .max = 3,
	};

	payload_add_bytes(&payload, &parcel->heading, sizeof(parcel->heading));
	for (uint32_t i = 0; i < parcel->heading.nr_bytes; i++)
		payload.data[payload.size++] = byte_at(&parcel->heading, i);
	if (parcel->object)
		payload_add(&payload, &object);
	else if (parcel->handle != NO_HANDLE)
		payload_add(&payload, &handle);
	if (parcel->file != NO_FILE)
		payload_add(&payload, &file);
	packed->txn = payload_txn(&payload);
}

static void unpack_object(const union object *object, struct parcel *parcel)
{
	struct stat st;

	if (object->hdr.type == BINDER_TYPE_HANDLE) {
		parcel->handle = object->flat.handle;
		return;
	}
	EXPECT_EQ(object->hdr.type, BINDER_TYPE_FD);
	parcel->file = (int)object->fd.fd;
	if (fstat(parcel->file, &st))
		FAIL("the received file, %d, is not open: %s", parcel->file,
		     test_errno_name(errno));
	EXPECT_EQ(st.st_ino, storm->pipe_inode);
}

void parcel_unpack(const struct returned *got, struct parcel *parcel)
{
	size_t nr = got->txn.offsets_size / sizeof(*got->offsets);

	*parcel = (struct parcel){ .handle = NO_HANDLE, .file = NO_FILE };
	EXPECT(got->txn.data_size >= sizeof(parcel->heading));
	memcpy(&parcel->heading, got->data, sizeof(parcel->heading));
	EXPECT(parcel->heading.nr_bytes <= MAX_BYTES);
	EXPECT(sizeof(parcel->heading) + parcel->heading.nr_bytes <= got->txn.data_size);
	for (uint32_t i = 0; i < parcel->heading.nr_bytes; i++)
		EXPECT_EQ(got->data[sizeof(parcel->heading) + i], byte_at(&parcel->heading, i));
	for (size_t i = 0; i < nr; i++) {
		const union object *object = returned_object(got, i);

		EXPECT(object);
		unpack_object(object, parcel);
	}
}
