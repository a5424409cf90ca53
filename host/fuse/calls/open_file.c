// SPDX-License-Identifier: GPL-2.0
/* Open device files. */
#include "calls/open_file.h"

#include "calls/watched_events.h"
#include "base/daemon_state.h"
#include "base/gate.h"
#include "base/locks.h"
#include "clients/opener_identity.h"
#include "clients/namespaces.h"
#include "clients/users.h"
#include "core.h"
#include "memory/user_account.h"
#include "names/layout.h"
#include "session/handles.h"
#include "session/session.h"
#include "workers/worker_pool.h"

#include <fcntl.h>
#include <stdlib.h>

#define BUCKETS 1024u

/* Workers that may be stuck for one open before its further calls are refused. */
#define STUCK_MAX 8

/* An open with so many nodes, handles and buffers is released by another thread. */
#define RELEASE_LONG 512

struct open_files {
	pthread_mutex_t lock;
	struct open_file *buckets[BUCKETS];
};

void open_files_init(void)
{
	pthread_mutex_init(&daemon_part(open_files)->lock, NULL);
}

static struct open_file **find_slot_locked(u64 open_id)
{
	struct open_file **slot = &daemon_self->open_files->buckets[open_id % BUCKETS];

	while (*slot && (*slot)->open_id != open_id)
		slot = &(*slot)->next;
	return slot;
}

static void list_file(struct open_file *file)
{
	guard_mutex(&daemon_self->open_files->lock);
	file->next = daemon_self->open_files->buckets[file->open_id % BUCKETS];
	daemon_self->open_files->buckets[file->open_id % BUCKETS] = file;
	file->listed = true;
}

static void unlist_file(struct open_file *file)
{
	guard_mutex(&daemon_self->open_files->lock);
	if (file->listed)
		*find_slot_locked(file->open_id) = file->next;
	file->listed = false;
}

static int open_for(struct host_proc *opener, const struct request *request,
		    struct binder_context *context, u64 open_id, struct open_file **out)
{
	const struct fuse_open_in *in = request->body;
	struct open_file *file = calloc(1, sizeof(*file));
	int error;

	if (!file)
		return -ENOMEM;
	file->open_id = open_id;
	file->nodeid = request->head->nodeid;
	file->uid = opener->charged_uid;
	file->nonblock = in->flags & O_NONBLOCK;
	atomic_init(&file->calls, 1);
	atomic_init(&file->refs, 2);
	opener->open_id = file->open_id;
	opener->nodeid = file->nodeid;
	opener->bound = open_id != file->nodeid;
	opener->file = file;
	file->handle = handles_add(file, true);
	error = file->handle ? binder_open(context, opener, &file->proc) : -ENOMEM;
	if (error) {
		if (file->handle)
			handles_remove(file->handle);
		free(file);
		return error;
	}
	file->host = binder_proc_host(file->proc);
	list_file(file);
	layout_proc_opened(file->host->pid);
	watch_add(file->host->pidfd, file->open_id);
	*out = file;
	return 0;
}

void open_file_restore(struct open_file *file)
{
	if (atomic_load(&file->ended))
		return;
	list_file(file);
	watch_add(file->host->pidfd, file->open_id);
	if (atomic_load(&file->orphan))
		watch_check_holders(file->open_id);
}

/*
 * Charges an open to its user; host_proc_destroy() discharges the memory. Returns 0, -EMFILE or
 * -ENOMEM.
 */
static int open_file_charge(struct host_proc *opener)
{
	if (!user_charges_add(opener->charged_uid, USER_OPENS))
		return -EMFILE;
	opener->account = user_memory_account(opener->charged_uid);
	if (account_charge(opener->account, HOST_PROC_MEMORY))
		return 0;
	user_charges_remove(opener->charged_uid, USER_OPENS);
	return -ENOMEM;
}

int open_file_new(const struct request *request, struct binder_context *context, u64 open_id,
		  struct open_file **out)
{
	struct host_proc opener = { .pidfd = -1 };
	int error;

	error = identity_read((pid_t)request->head->pid, &opener);
	if (error)
		return error;
	opener.charged_uid = namespaces_charged_uid((pid_t)request->head->pid, request->head->uid);
	error = open_file_charge(&opener);
	if (error) {
		identity_free(&opener);
		return error;
	}
	error = open_for(&opener, request, context, open_id, out);
	if (error) {
		identity_free(&opener);
		account_discharge(opener.account, HOST_PROC_MEMORY);
		user_charges_remove(opener.charged_uid, USER_OPENS);
	}
	return error;
}

void open_file_put(struct open_file *file)
{
	if (atomic_fetch_sub(&file->refs, 1) == 1)
		free(file);
}

bool open_file_enter(struct open_file *file)
{
	atomic_fetch_add(&file->calls, 1);
	if (!atomic_load(&file->ended))
		return true;
	open_file_leave(file);
	return false;
}

static void open_file_release(struct work *work)
{
	struct open_file *file = (void *)((char *)work - offsetof(struct open_file, release));

	gate_begin_whole();
	binder_release(file->proc);
	gate_end_whole();
	user_charges_remove(file->uid, USER_OPENS);
	open_file_put(file);
}

/* A release that takes long gets a thread: 65,536 nodes take 50 ms. */
void open_file_leave(struct open_file *file)
{
	if (atomic_fetch_sub(&file->calls, 1) != 1 || atomic_exchange(&file->released, true))
		return;
	file->release.run = open_file_release;
	if (binder_release_cost(file->proc) < RELEASE_LONG || !workqueue_add(&file->release))
		worker_add_work(&file->release);
}

struct open_file *open_file_find(u64 open_id)
{
	guard_mutex(&daemon_self->open_files->lock);
	struct open_file *file = *find_slot_locked(open_id);

	if (file)
		atomic_fetch_add(&file->calls, 1);
	return file;
}

/* Calls @visit for each other open of the inode of @file until it returns false. */
static void visit_same_inode(const struct open_file *file,
			     bool (*visit)(const struct open_file *other, void *arg), void *arg)
{
	struct open_files *files = daemon_self->open_files;
	bool more = file->host->bound;

	guard_mutex(&files->lock);
	for (size_t i = 0; more && i < BUCKETS; i++)
		for (const struct open_file *at = files->buckets[i]; more && at; at = at->next)
			if (at != file && at->nodeid == file->nodeid)
				more = visit(at, arg);
}

struct owners {
	s32 *pids;
	u32 nr;
	u32 max;
};

static bool add_owner(const struct open_file *other, void *arg)
{
	struct owners *owners = arg;

	if (owners->nr < owners->max)
		owners->pids[owners->nr] = other->host->pid;
	return owners->nr++ < owners->max;
}

u32 open_file_owners(const struct open_file *file, s32 *pids, u32 max)
{
	struct owners owners = { .pids = pids, .max = max };

	visit_same_inode(file, add_owner, &owners);
	return owners.nr > max ? 0 : owners.nr;
}

static bool is_no_sibling(const struct open_file *other, void *arg)
{
	s32 *pid = arg;

	if (other->host->pid == *pid)
		*pid = 0;
	return *pid;
}

bool open_file_has_siblings(const struct open_file *file)
{
	s32 pid = file->host->pid;

	visit_same_inode(file, is_no_sibling, &pid);
	return !pid;
}

bool open_file_end(struct open_file *file)
{
	if (atomic_exchange(&file->ended, true))
		return false;
	unlist_file(file);
	layout_proc_closed(file->host->pid);
	watch_remove(file->host->pidfd);
	atomic_store(&file->host->gone, true);
	atomic_store(&file->host->ended, true);
	return true;
}

bool open_file_has_calls(const struct open_file *file)
{
	return atomic_load(&file->calls) > 1;
}

struct open_file *open_file_add_stuck(u64 open_id)
{
	struct open_file *file = open_file_find(open_id);

	if (!file)
		return NULL;
	user_charges_add_always(file->uid, USER_STUCK);
	atomic_fetch_add(&file->stuck, 1);
	return file;
}

void open_file_remove_stuck(struct open_file *file)
{
	atomic_fetch_sub(&file->stuck, 1);
	user_charges_remove(file->uid, USER_STUCK);
	open_file_leave(file);
}

void open_file_charge_time(u64 open_id, unsigned int ms)
{
	guard_mutex(&daemon_self->open_files->lock);
	struct open_file *file = *find_slot_locked(open_id);

	if (file)
		user_time_charge(file->uid, ms);
}

bool open_file_is_overdrawn(const struct open_file *file)
{
	return atomic_load(&file->stuck) >= STUCK_MAX ||
	       user_charges_is_over(file->uid, USER_STUCK);
}

bool open_file_may_delay(u64 open_id)
{
	guard_mutex(&daemon_self->open_files->lock);
	struct open_file *file = *find_slot_locked(open_id);

	return !file || !open_file_is_overdrawn(file);
}
