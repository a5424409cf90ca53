// SPDX-License-Identifier: GPL-2.0
/*
 * calls/translate.c takes a reference to each file of the sender and notes where its number
 * belongs; the receiver's read installs them, so that they appear in the process that reads.
 */
#include "calls/file_transfer.h"

#include "calls/transaction.h"
#include "common/cover.h"
#include "entities/thread.h"

/* Stores the numbers of installed files in the data. */
static int store_numbers(struct binder_transaction *t, struct binder_proc *proc)
{
	struct binder_buffer *b = t->buffer;
	int err = 0;
	u32 i;

	for (i = 0; i < t->nr_files && !err; i++) {
		struct binder_file_slot *slot = &t->files[i];

		host_trace_file_received(t->debug_id, slot->fd, slot->off - b->range.off);
		err = host_map_write(&proc->alloc.map, slot->off, &slot->fd, sizeof(slot->fd));
		if (slot->resource != NO_RESOURCE)
			b->resources[slot->resource].desc = slot->fd;
	}
	return err;
}

static int install_files(struct binder_transaction *t, struct binder_thread *thread,
			 struct host_file **files, u32 *fds)
{
	int err;
	u32 i;

	for (i = 0; i < t->nr_files; i++)
		files[i] = t->files[i].file;
	err = host_files_install(&thread->host, t->debug_id, files, t->nr_files, fds);
	for (i = 0; i < t->nr_files && !err; i++)
		t->files[i].fd = fds[i];
	return err;
}

int binder_files_install(struct binder_transaction *t, struct binder_thread *thread)
{
	const struct host_proc *owner = &thread->proc->host;
	struct host_file **files = host_alloc(owner, t->nr_files * sizeof(*files));
	u32 *fds = host_alloc(owner, t->nr_files * sizeof(*fds));
	int err = files && fds ? install_files(t, thread, files, fds) : -ENOMEM;

	host_free(files);
	host_free(fds);
	if (err)
		return err;
	err = store_numbers(t, thread->proc);
	if (err) {
		BINDER_COVER(FILES_NOT_STORED);
		binder_files_close(t, thread);
	}
	return err;
}

void binder_files_close(const struct binder_transaction *t, struct binder_thread *thread)
{
	u32 i;

	for (i = 0; i < t->nr_files; i++)
		host_fds_close(&thread->host, &t->files[i].fd, 1);
}
