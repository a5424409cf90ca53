// SPDX-License-Identifier: GPL-2.0
/*
 * From the opcode of a request to its handler.
 *
 * One table lists each request that the kernel can send with its handler and the least size of the
 * body, which is checked for all of them in one place. A request that is not in the table fails
 * with ENOSYS, which the kernel remembers for most requests and then handles itself. The contents
 * of directories and short text files are generated when they are opened, and read from that copy;
 * reports are generated as they are read (open_text.h).
 */
#include "server_process.h"

#include "buffers/bound_buffer.h"
#include "calls/open_file.h"
#include "clients/namespaces.h"
#include "clients/users.h"
#include "device_requests.h"
#include "events/event_stream.h"
#include "memory/text.h"
#include "names/layout.h"
#include "names/lookup.h"
#include "names/open_text.h"
#include "names/tree.h"
#include "queues/backlog.h"
#include "queues/congestion.h"
#include "session/handles.h"
#include "session/persistent.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

static void reply_status(const struct request *request, int error)
{
	session_reply_status(request->head->unique, error);
}

/* The string at @offset of the body; NULL if it is not terminated. */
static const char *string_at(const struct request *request, size_t offset)
{
	const char *start = (const char *)request->body + offset;

	if (request->body_size <= offset || !memchr(start, 0, request->body_size - offset))
		return NULL;
	return start;
}

/* Replies with @size bytes at @out unless there is an error. */
static void reply_result(const struct request *request, int error, const void *out, size_t size)
{
	session_reply_result(request->head->unique, error, out, size);
}

static void do_lookup(const struct request *request)
{
	const char *name = string_at(request, 0);

	if (name)
		lookup_serve(request, name);
	else
		reply_status(request, -EINVAL);
}

static void do_forget(const struct request *request)
{
	const struct fuse_forget_in *in = request->body;

	tree_forget(request->head->nodeid, in->nlookup);
}

static void do_batch_forget(const struct request *request)
{
	const struct fuse_batch_forget_in *in = request->body;
	const struct fuse_forget_one *one = (const void *)(in + 1);
	size_t room = (request->body_size - sizeof(*in)) / sizeof(*one);

	for (size_t i = 0; i < in->count && i < room; i++)
		tree_forget(one[i].nodeid, one[i].nlookup);
}

static void do_getattr(const struct request *request)
{
	struct fuse_attr_out out;
	int error = tree_getattr(request->head->nodeid, &out);

	reply_result(request, error, &out, sizeof(out));
}

static void do_setattr(const struct request *request)
{
	struct fuse_attr_out out;
	int error = tree_setattr(request->head->nodeid, request->body, &out);

	reply_result(request, error, &out, sizeof(out));
}

static void do_statfs(const struct request *request)
{
	struct fuse_statfs_out out = { .st = { .bsize = 4096, .frsize = 4096, .namelen = 255 } };

	session_reply(request->head->unique, &out, sizeof(out));
}

static void do_success(const struct request *request)
{
	reply_status(request, 0);
}

static void do_unlink(const struct request *request)
{
	const char *name = string_at(request, 0);
	struct entry *dir = tree_find(request->head->nodeid);

	if (!name || !dir)
		reply_status(request, name ? -ESTALE : -EINVAL);
	else
		reply_status(request, tree_remove(dir, name));
	if (dir)
		tree_put(dir);
}

static void rename_within(const struct request *request, size_t names, uint64_t newdir)
{
	const char *from = string_at(request, names);
	const char *to = from ? string_at(request, names + strlen(from) + 1) : NULL;
	struct entry *dir;

	if (!to || newdir != request->head->nodeid) {
		reply_status(request, to ? -EPERM : -EINVAL);
		return;
	}
	dir = tree_find(newdir);
	reply_status(request, dir ? tree_rename(dir, from, to) : -ESTALE);
	if (dir)
		tree_put(dir);
}

static void do_rename(const struct request *request)
{
	const struct fuse_rename_in *in = request->body;

	rename_within(request, sizeof(*in), in->newdir);
}

static void do_rename2(const struct request *request)
{
	const struct fuse_rename2_in *in = request->body;

	if (in->flags)
		reply_status(request, -EINVAL);
	else
		rename_within(request, sizeof(*in), in->newdir);
}

static void open_handle(const struct request *request, struct entry *entry)
{
	const struct fuse_open_in *in = request->body;
	struct fuse_open_out out = { .open_flags = FOPEN_DIRECT_IO };
	uid_t uid = namespaces_charged_uid((pid_t)request->head->pid, request->head->uid);
	struct open_text *handle;
	int error;

	if (entry->kind == ENTRY_DIR)
		out.open_flags = 0;
	if (entry->kind == ENTRY_EVENTS)
		out.open_flags |= FOPEN_NONSEEKABLE | FOPEN_STREAM;
	error = open_text_new(entry, request->head->uid, uid,
			      (in->flags & O_ACCMODE) == O_WRONLY, &handle);
	if (!error) {
		out.fh = handles_add(handle, false);
		error = out.fh ? 0 : -ENOMEM;
		if (error)
			open_text_free(handle);
	}
	reply_result(request, error, &out, sizeof(out));
}

static int open_inode(const struct request *request, struct entry **entry, uint64_t *open_id)
{
	const struct fuse_open_in *in = request->body;
	uint64_t nodeid = request->head->nodeid;
	pid_t tid = (pid_t)request->head->pid;
	int error = tree_open(nodeid, tid, in->flags, entry, open_id);

	if (error != -EAGAIN)
		return error;
	device_drop_pages(nodeid);
	tree_pages_dropped(nodeid);
	return tree_open(nodeid, tid, in->flags, entry, open_id);
}

static void do_open(const struct request *request)
{
	struct entry *entry;
	uint64_t open_id;
	int error = open_inode(request, &entry, &open_id);

	if (error) {
		if (error == -EBUSY)
			bound_buffer_log_busy((pid_t)request->head->pid);
		reply_status(request, error);
	} else if (entry->kind == ENTRY_DEVICE) {
		lookup_opens((pid_t)request->head->pid);
		device_open(request, entry->device, open_id);
		tree_put(entry);
	} else {
		open_handle(request, entry);
	}
}

static void do_opendir(const struct request *request)
{
	struct entry *entry = tree_find(request->head->nodeid);

	if (entry)
		open_handle(request, entry);
	else
		reply_status(request, -ESTALE);
}

/* The body of each request on an open file begins with the file's handle. */
static uint64_t handle_number(const struct request *request)
{
	return *(const uint64_t *)request->body;
}

static bool is_device(const struct request *request)
{
	return handle_is_device(handle_number(request));
}

static void do_release_handle(const struct request *request)
{
	const struct fuse_release_in *in = request->body;
	struct open_text *handle = handles_find(in->fh);

	handles_remove(in->fh);
	open_text_free(handle);
	reply_status(request, 0);
}

static void do_release(const struct request *request)
{
	persistent_forget_poll(handle_number(request));
	if (is_device(request))
		device_release(request);
	else
		do_release_handle(request);
}

static void do_flush(const struct request *request)
{
	if (is_device(request))
		device_flush(request);
	else
		reply_status(request, 0);
}

static void do_read(const struct request *request)
{
	const struct fuse_read_in *in = request->body;
	const struct open_text *handle = handles_find(in->fh);
	size_t left;

	if (is_device(request)) {
		device_read(request);
		return;
	}
	if (handle->entry->kind == ENTRY_CONTROL) {
		reply_status(request, -EINVAL);
		return;
	}
	if (handle->events) {
		events_read(handle->events, request);
		return;
	}
	if (handle->reader) {
		report_reader_read(handle->reader, request);
		return;
	}
	left = in->offset < handle->text.size ? handle->text.size - in->offset : 0;
	session_reply(request->head->unique, left ? handle->text.data + in->offset : NULL,
		      left < in->size ? left : in->size);
}

/* A command word for a text file, which has to come in one write. */
static void do_write(const struct request *request)
{
	const struct fuse_write_in *in = request->body;
	const struct open_text *handle = handles_find(in->fh);
	struct fuse_write_out out = { .size = in->size };
	char word[16] = "";
	int error = -EINVAL;

	if (!is_device(request) && handle->events) {
		events_write(handle->events, request);
		return;
	}
	if (!is_device(request) && handle->entry->kind == ENTRY_TEXT && handle->entry->command &&
	    in->size < sizeof(word) && request->body_size >= sizeof(*in) + in->size) {
		memcpy(word, in + 1, in->size);
		word[strcspn(word, "\n")] = '\0';
		error = handle->entry->command(word);
	}
	reply_result(request, error, &out, sizeof(out));
}

/* The size of all whole entries from @offset on that fit in @size bytes. */
static size_t fit_entries(const struct text *list, size_t offset, size_t size)
{
	size_t end = offset;

	while (end < list->size) {
		struct fuse_dirent head;
		size_t next;

		memcpy(&head, list->data + end, FUSE_NAME_OFFSET);
		next = end + FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + head.namelen);
		if (next > list->size || next - offset > size)
			break;
		end = next;
	}
	return end - offset;
}

static void do_readdir(const struct request *request)
{
	const struct fuse_read_in *in = request->body;
	struct open_text *handle = handles_find(in->fh);
	size_t offset = in->offset;

	if (!offset) {	/* the first read, or rewinddir(3): list again */
		text_free(&handle->text);
		tree_list(handle->entry, &handle->text);
	}
	if (offset >= handle->text.size)
		session_reply(request->head->unique, NULL, 0);
	else
		session_reply(request->head->unique, handle->text.data + offset,
			      fit_entries(&handle->text, offset, in->size));
}

static void do_ioctl(const struct request *request)
{
	const struct fuse_ioctl_in *in = request->body;
	const struct open_text *handle = handles_find(in->fh);

	if (is_device(request)) {
		device_ioctl(request);
	} else if ((in->flags & FUSE_IOCTL_DIR) || handle->entry->kind != ENTRY_CONTROL) {
		session_reply_ioctl(request->head->unique, -ENOTTY, NULL, 0);
	} else {
		layout_control(request);
	}
}

static void do_poll(const struct request *request)
{
	static const struct fuse_poll_out always = { .revents = POLLIN | POLLOUT };
	const struct fuse_poll_in *in = request->body;
	const struct open_text *handle = handles_find(in->fh);

	if (in->flags & FUSE_POLL_SCHEDULE_NOTIFY)
		persistent_note_poll(in->fh, in->kh);
	if (is_device(request))
		device_poll(request);
	else if (handle->events)
		events_poll(handle->events, request);
	else
		session_reply(request->head->unique, &always, sizeof(always));
}

static void reply_poll_lost(const struct request *request)
{
	static const struct fuse_poll_out lost = { .revents = POLLERR | POLLHUP };

	session_reply(request->head->unique, &lost, sizeof(lost));
}

static void reply_refused(const struct request *request)
{
	reply_status(request, -ECONNREFUSED);
}

struct operation {
	void (*handle)(const struct request *request);	/* NULL: it fails with @error */
	uint32_t least;		/* bytes that must follow the header */
	int error;
	/* of an open file: for one that a crashed server had open */
	void (*handle_lost)(const struct request *request);
};

static const struct operation operations[] = {
	[FUSE_LOOKUP] = { do_lookup, 1 },
	[FUSE_FORGET] = { do_forget, sizeof(struct fuse_forget_in) },
	[FUSE_BATCH_FORGET] = { do_batch_forget, sizeof(struct fuse_batch_forget_in) },
	[FUSE_GETATTR] = { do_getattr, 0 },
	[FUSE_SETATTR] = { do_setattr, sizeof(struct fuse_setattr_in) },
	[FUSE_MKNOD] = { NULL, 0, -EPERM },
	[FUSE_MKDIR] = { NULL, 0, -EPERM },
	[FUSE_SYMLINK] = { NULL, 0, -EPERM },
	[FUSE_LINK] = { NULL, 0, -EPERM },
	[FUSE_CREATE] = { NULL, 0, -EACCES },
	[FUSE_TMPFILE] = { NULL, 0, -EPERM },
	[FUSE_RMDIR] = { NULL, 0, -EPERM },
	[FUSE_UNLINK] = { do_unlink, 1 },
	[FUSE_RENAME] = { do_rename, sizeof(struct fuse_rename_in) },
	[FUSE_RENAME2] = { do_rename2, sizeof(struct fuse_rename2_in) },
	[FUSE_OPEN] = { do_open, sizeof(struct fuse_open_in) },
	[FUSE_RELEASE] = { do_release, sizeof(struct fuse_release_in), 0, do_success },
	[FUSE_FLUSH] = { do_flush, sizeof(struct fuse_flush_in), 0, do_success },
	[FUSE_READ] = { do_read, sizeof(struct fuse_read_in), 0, reply_refused },
	[FUSE_WRITE] = { do_write, sizeof(struct fuse_write_in), 0, reply_refused },
	[FUSE_FSYNC] = { NULL, 0, -EINVAL },
	[FUSE_STATFS] = { do_statfs, 0 },
	[FUSE_ACCESS] = { do_success, 0 },
	[FUSE_OPENDIR] = { do_opendir, sizeof(struct fuse_open_in) },
	[FUSE_READDIR] = { do_readdir, sizeof(struct fuse_read_in), 0, reply_refused },
	[FUSE_RELEASEDIR] = { do_release_handle, sizeof(struct fuse_release_in), 0, do_success },
	[FUSE_IOCTL] = { do_ioctl, sizeof(struct fuse_ioctl_in), 0, reply_refused },
	[FUSE_POLL] = { do_poll, sizeof(struct fuse_poll_in), 0, reply_poll_lost },
	[FUSE_INTERRUPT] = { device_interrupt, sizeof(struct fuse_interrupt_in) },
	[FUSE_DESTROY] = { do_success, 0 },
};

/*
 * May the request wait in the backlog during a congestion? Not one for whose end no caller waits;
 * and calls go there themselves (device_ioctl()).
 */
static bool may_wait(const struct request *request)
{
	switch (request->head->opcode) {
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_INTERRUPT:
	case FUSE_DESTROY:
		return false;
	case FUSE_IOCTL:
		return !is_device(request);
	default:
		return true;
	}
}

/* Returns NULL for a request of a kernel that is newer than the table. */
static const struct operation *find_operation(uint32_t opcode)
{
	return opcode < sizeof(operations) / sizeof(operations[0]) ? &operations[opcode] : NULL;
}

void dispatch(const struct request *request)
{
	const struct operation *operation = find_operation(request->head->opcode);

	if (!operation || !operation->handle)
		session_reply_status(request->head->unique,
				     operation && operation->error ? operation->error : -ENOSYS);
	else if (request->body_size < operation->least)
		session_reply_status(request->head->unique, -EINVAL);
	else if (operation->handle_lost && !handles_find(handle_number(request)))
		operation->handle_lost(request);
	else if (!congestion_is_on() || !may_wait(request) || !backlog_push_request(request))
		operation->handle(request);
}

static void dispatch_one(const struct request *request)
{
	operations[request->head->opcode].handle(request);
}

void dispatch_queued(struct fair_queue *queue)
{
	struct fair_item *item = fair_queue_pop(queue);

	if (item && !backlog_serve_request(item, dispatch_one))
		device_continue(item);
}
