// SPDX-License-Identifier: GPL-2.0
/* The bytes follow from the sender and the call, so that a wrong byte shows. */
#include <string.h>
#include <sys/stat.h>

#include "parcel.h"
#include "storm.h"
#include "test.h"

static uint8_t byte_at(const struct heading *heading, uint32_t i)
{
	return (uint8_t)(heading->from * 31 + heading->seq * 7 + i);
}

static size_t objects_at(const struct heading *heading)
{
	return (sizeof(*heading) + heading->nr_bytes + 7) & ~(size_t)7;
}

void parcel_pack(const struct parcel *parcel, struct packed *packed)
{
	size_t at = objects_at(&parcel->heading), nr = 0;
	const struct flat_binder_object object = {
		.hdr.type = BINDER_TYPE_BINDER, .flags = FLAT_BINDER_FLAG_ACCEPTS_FDS,
		.binder = parcel->object, .cookie = parcel->object,
	};
	const struct flat_binder_object handle = {
		.hdr.type = BINDER_TYPE_HANDLE, .handle = parcel->handle,
	};
	const struct binder_fd_object file = {
		.hdr.type = BINDER_TYPE_FD, .fd = (uint32_t)parcel->file,
	};
	const struct { bool there; const void *bytes; size_t size; } objects[] = {
		{ parcel->object, &object, sizeof(object) },
		{ !parcel->object && parcel->handle != NO_HANDLE, &handle, sizeof(handle) },
		{ parcel->file != NO_FILE, &file, sizeof(file) },
	};

	memcpy(packed->data, &parcel->heading, sizeof(parcel->heading));
	for (uint32_t i = 0; i < parcel->heading.nr_bytes; i++)
		packed->data[sizeof(parcel->heading) + i] = byte_at(&parcel->heading, i);
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		if (!objects[i].there)
			continue;
		memcpy(packed->data + at, objects[i].bytes, objects[i].size);
		packed->offsets[nr++] = at;
		at += objects[i].size;
	}
	packed->txn = (struct binder_transaction_data){
		.data_size = at,
		.offsets_size = nr * sizeof(packed->offsets[0]),
		.data.ptr = { (uintptr_t)packed->data, (uintptr_t)packed->offsets },
	};
}

static void unpack_object(const uint8_t *at, struct parcel *parcel)
{
	const struct binder_object_header *hdr = (const void *)at;
	struct stat st;

	if (hdr->type == BINDER_TYPE_HANDLE) {
		parcel->handle = ((const struct flat_binder_object *)at)->handle;
		return;
	}
	EXPECT_EQ(hdr->type, BINDER_TYPE_FD);
	parcel->file = (int)((const struct binder_fd_object *)at)->fd;
	if (fstat(parcel->file, &st))
		FAIL("the received file, %d, is not open: %s", parcel->file,
		     test_errno_name(errno));
	EXPECT_EQ(st.st_ino, storm->pipe_inode);
}

void parcel_unpack(const struct binder_transaction_data *txn, struct parcel *parcel)
{
	const uint8_t *data = (const uint8_t *)(uintptr_t)txn->data.ptr.buffer;
	const binder_size_t *offsets = (const void *)(uintptr_t)txn->data.ptr.offsets;

	*parcel = (struct parcel){ .handle = NO_HANDLE, .file = NO_FILE };
	EXPECT(txn->data_size >= sizeof(parcel->heading));
	memcpy(&parcel->heading, data, sizeof(parcel->heading));
	EXPECT(parcel->heading.nr_bytes <= MAX_BYTES);
	EXPECT(objects_at(&parcel->heading) <= txn->data_size);
	for (uint32_t i = 0; i < parcel->heading.nr_bytes; i++)
		EXPECT_EQ(data[sizeof(parcel->heading) + i], byte_at(&parcel->heading, i));
	for (size_t i = 0; i < txn->offsets_size / sizeof(*offsets); i++)
		unpack_object(data + offsets[i], parcel);
}
