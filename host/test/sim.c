// SPDX-License-Identifier: GPL-2.0
/*
 * A process has memory at a fixed address, a mapping that only the engine writes to, and a
 * table of files. Processes share nothing, so all that reaches another process goes through
 * the engine.
 */
#include "common/abi.h"
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096

struct sim_stats sim_stats;
bool sim_verbose;
bool sim_never_fails;
struct sim_stage sim_stages[SIM_STAGES];
u32 sim_nr_stages;
bool sim_stages_wanted;
struct sim_priorities sim_priorities;
bool sim_priorities_wanted;
struct sim_data sim_data;
bool sim_data_wanted, sim_data_to_clear_wanted;
u32 sim_shard;

static pthread_mutex_t populating = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER; /* tables and counts */
static enum sim_op armed_op;
static u64 armed_nth;
static u64 every_nth;
static u64 interposed_nth;
static void (*interposed)(void);
static u64 close_nth;
static void (*at_close)(void);
static u32 one_in[SIM_OP_COUNT];
static u64 fail_dice;
u64 sim_last_proc;
u32 sim_last_file;
struct sim_proc *sim_procs;
struct host_file *sim_files;
static _Thread_local u32 lock_ranks;
static _Thread_local u32 spins_held;

static void __attribute__((noreturn)) sim_die(const char *what)
{
	fprintf(stderr, "test host: %s\n", what);
	abort();
}

static const struct {
	const char *name;
	int err;
} ops[] = {
#define SIM_OP_ENTRY(name, err) [SIM_##name] = { #name, err },
	SIM_OPS(SIM_OP_ENTRY)
#undef SIM_OP_ENTRY
};

const char *sim_op_name(enum sim_op op)
{
	return ops[op].name;
}

void sim_arm(enum sim_op op, u64 nth)
{
	sim_stats.calls = 0;
	memset(sim_stats.count, 0, sizeof(sim_stats.count));
	sim_stats.failed = false;
	armed_op = op;
	armed_nth = nth;
}

void sim_fail_every(u64 nth)
{
	every_nth = nth;
}

void sim_interpose(u64 nth, void (*then)(void))
{
	interposed_nth = nth ? sim_stats.calls + nth : 0;
	interposed = then;
}

void sim_interpose_close(u64 nth, void (*then)(void))
{
	close_nth = nth;
	at_close = then;
}

void sim_closes(void)
{
	if (close_nth && !--close_nth)
		at_close();
}

void sim_fail_sometimes(enum sim_op op, u32 chance, u64 seed)
{
	u32 i;

	fail_dice = seed;
	for (i = 0; i < SIM_OP_COUNT; i++)
		if (op == SIM_ANY || op == i)
			one_in[i] = chance;
}

int sim_fails(enum sim_op op)
{
	u64 calls = __atomic_add_fetch(&sim_stats.calls, 1, __ATOMIC_RELAXED);
	u64 count = __atomic_add_fetch(&sim_stats.count[op], 1, __ATOMIC_RELAXED);

	if (interposed_nth && calls == interposed_nth) {
		interposed_nth = 0;
		interposed();
	}
	if (sim_never_fails)
		return 0;
	if (one_in[op] && !fiber_dice(&fail_dice, one_in[op]))
		return ops[op].err ? ops[op].err : 1;
	if (every_nth)
		return calls % every_nth ? 0 : ops[op].err ? ops[op].err : 1;
	if (armed_op == SIM_ANY ? calls != armed_nth : armed_op != op || count != armed_nth)
		return 0;
	sim_stats.failed = true;
	sim_stats.failed_op = op;
	return ops[op].err ? ops[op].err : 1;
}

u32 *sim_lock_ranks(void)
{
	return fiber_current ? fiber_lock_ranks() : &lock_ranks;
}

void sim_may_sleep(const char *what)
{
	if (fiber_current ? fiber_spins_held() : spins_held) {
		fprintf(stderr, "test host: %s with a spinlock held\n", what);
		abort();
	}
	fiber_sleep(what);
	fiber_point();
	fiber_sleep(NULL);
}

void sim_lock_init(struct sim_lock *lock)
{
	static const pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

	lock->mutex = checking;
	lock->owner = NULL;
	lock->waiters = 0;
}

void sim_lock_destroy(struct sim_lock *lock)
{
	if (lock->owner || lock->waiters)
		sim_die("a lock was destroyed that is held or waited for");
	pthread_mutex_destroy(&lock->mutex);
}

void sim_lock(struct sim_lock *lock, bool spin)
{
	if (fiber_current) {
		fiber_lock(lock, spin);
		return;
	}
	if (pthread_mutex_lock(&lock->mutex))
		sim_die("a lock was taken twice");
	spins_held += spin;
}

bool sim_trylock(struct sim_lock *lock, bool spin)
{
	if (fiber_current)
		return fiber_trylock(lock, spin);
	if (pthread_mutex_trylock(&lock->mutex))
		return false;
	spins_held += spin;
	return true;
}

void sim_unlock(struct sim_lock *lock, bool spin)
{
	if (fiber_current) {
		fiber_unlock(lock, spin);
		return;
	}
	if (pthread_mutex_unlock(&lock->mutex))
		sim_die("a lock was dropped that was not held");
	spins_held -= spin;
}

void sim_stage_record(const struct sim_stage *stage)
{
	if (sim_nr_stages < SIM_STAGES)
		sim_stages[sim_nr_stages++] = *stage;
}

void sim_data_record(const struct host_trace_data *data)
{
	sim_data.count++;
	sim_data.id = data->id;
	sim_data.size = data->size;
	sim_data.to_clear = data->to_clear;
	memcpy(sim_data.bytes, data->bytes, data->size);
	memcpy(sim_data.objects, data->objects, sizeof(sim_data.objects));
}

struct sim_proc *sim_proc_new(s32 pid, u32 euid, size_t map_size)
{
	struct sim_proc *proc = calloc(1, sizeof(*proc));

	proc->id = ++sim_last_proc;
	proc->next = sim_procs;
	sim_procs = proc;
	proc->pid = pid;
	proc->euid = euid;
	proc->memory = calloc(1, SIM_MEMORY);
	proc->map_base = SIM_MAP_BASE;
	proc->map_size = map_size;
	proc->map = calloc(1, map_size + 1);
	proc->present = calloc(map_size / PAGE + 1, sizeof(*proc->present));
	return proc;
}

struct sim_proc *sim_proc_new_here(s32 pid, u32 euid)
{
	struct sim_proc *proc = sim_proc_new(pid, euid, 0);

	proc->is_here = true;
	return proc;
}

void sim_proc_map_here(struct sim_proc *proc, u64 base, u8 *map, size_t map_size)
{
	free(proc->map);
	free(proc->present);
	proc->map = map;
	proc->map_base = base;
	proc->map_size = map_size;
	proc->present = calloc(map_size / PAGE + 1, sizeof(*proc->present));
}

void sim_proc_free(struct sim_proc *proc)
{
	struct sim_proc **at = &sim_procs;
	u32 fd;

	while (*at != proc)
		at = &(*at)->next;
	*at = proc->next;
	for (fd = 0; fd < SIM_FDS; fd++)
		if (proc->fds[fd])
			sim_file_put(proc->fds[fd]);
	free(proc->memory);
	if (!proc->is_here)
		free(proc->map);
	free(proc->present);
	free(proc);
}

struct sim_proc *sim_proc_by_id(u64 id)
{
	struct sim_proc *proc = sim_procs;

	while (proc && proc->id != id)
		proc = proc->next;
	return proc;
}

/* The @size bytes at @addr in @area, which is @limit bytes at @base; NULL if not in there. */
static u8 *sim_locate(u8 *area, u64 base, size_t limit, u64 addr, size_t size)
{
	if (addr < base || addr - base > limit || size > limit - (addr - base))
		return NULL;
	return area + (addr - base);
}

static bool has_holes(const struct sim_proc *proc, u64 addr, size_t size)
{
	u64 at;

	if (!proc->holes || !size)
		return false;
	for (at = (addr - SIM_BASE) / PAGE; at <= (addr - SIM_BASE + size - 1) / PAGE; at++)
		if (proc->holes >> at & 1)
			return true;
	return false;
}

static bool all_present(const struct sim_proc *proc, size_t off, size_t size)
{
	size_t page;

	for (page = off / PAGE; page * PAGE < off + size; page++)
		if (!proc->present[page])
			return false;
	return true;
}

/* By a system call, which returns an error for a bad address. */
static int copy_here(ssize_t (*copy)(pid_t pid, const struct iovec *here, unsigned long nr_here,
				     const struct iovec *there, unsigned long nr_there,
				     unsigned long flags),
		     void *at, u64 addr, size_t size)
{
	const struct iovec here = { at, size }, there = { (void *)(uintptr_t)addr, size };

	return copy(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

int sim_read(const struct sim_proc *proc, void *dst, u64 src, size_t size)
{
	u8 *from = sim_locate(proc->memory, SIM_BASE, SIM_MEMORY, src, size);

	if (!size)
		return 0;
	if (proc->is_here)
		return copy_here(process_vm_readv, dst, src, size);
	if (!from && !proc->unmapped) {
		from = sim_locate(proc->map, SIM_MAP_BASE, proc->map_size, src, size);
		if (from && !all_present(proc, src - SIM_MAP_BASE, size))
			from = NULL;
	} else if (from && has_holes(proc, src, size)) {
		from = NULL;
	}
	if (!from)
		return -EFAULT;
	memcpy(dst, from, size);
	return 0;
}

int sim_write(struct sim_proc *proc, u64 dst, const void *src, size_t size)
{
	u8 *to = sim_locate(proc->memory, SIM_BASE, SIM_MEMORY, dst, size);

	if (proc->is_here)
		return copy_here(process_vm_writev, (void *)(uintptr_t)src, dst, size);
	if (!to || has_holes(proc, dst, size))
		return -EFAULT;
	memcpy(to, src, size);
	return 0;
}

u8 *sim_map_range(struct sim_proc *proc, size_t off, size_t size)
{
	if (off > proc->map_size || size > proc->map_size - off)
		sim_die("the engine accessed bytes outside the map");
	if (!all_present(proc, off, size))
		sim_die("the engine touched a page of the map that has no memory");
	return proc->map + off;
}

int sim_map_populate(struct sim_proc *proc, size_t first, size_t nr)
{
	size_t page;

	if (proc->unmapped)
		return -ESRCH;
	if (!nr || (first + nr) * PAGE > proc->map_size)
		sim_die("populate outside the map");
	__atomic_add_fetch(&sim_stats.populates, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&populating);
	for (page = first; page < first + nr; page++) {
		if (proc->present[page])
			continue;
		memset(proc->map + page * PAGE, 0, PAGE);
		proc->present[page] = true;
	}
	pthread_mutex_unlock(&populating);
	return 0;
}

void sim_map_evict(struct sim_proc *proc, size_t first, size_t nr)
{
	size_t page;

	if (!nr || (first + nr) * PAGE > proc->map_size)
		sim_die("evict outside the map");
	__atomic_add_fetch(&sim_stats.evicts, 1, __ATOMIC_RELAXED);
	for (page = first; page < first + nr; page++) {
		if (!proc->present[page])
			sim_die("evict of a page that has no memory");
		proc->present[page] = false;
		memset(proc->map + page * PAGE, 0xdd, PAGE);
	}
}

static u32 free_fd(const struct sim_proc *proc)
{
	u32 fd = 0;

	while (fd < SIM_FDS && proc->fds[fd])
		fd++;
	return fd;
}

static void put_locked(struct host_file *file)
{
	if (--file->refs)
		return;
	sim_stats.files--;
	*file->link = file->next;
	if (file->next)
		file->next->link = file->link;
	free(file);
}

static void close_locked(struct sim_proc *proc, u32 fd)
{
	if (fd >= SIM_FDS || !proc->fds[fd])
		sim_die("close of a file descriptor that is not open");
	put_locked(proc->fds[fd]);
	proc->fds[fd] = NULL;
}

u32 sim_file_open(struct sim_proc *proc)
{
	struct host_file *file = calloc(1, sizeof(*file));
	u32 fd;

	pthread_mutex_lock(&file_lock);
	fd = free_fd(proc);
	if (fd == SIM_FDS)
		sim_die("the test opened too many files");
	file->refs = 1;
	file->id = ++sim_last_file;
	sim_stats.files++;
	file->next = sim_files;
	file->link = &sim_files;
	if (sim_files)
		sim_files->link = &file->next;
	sim_files = file;
	proc->fds[fd] = file;
	pthread_mutex_unlock(&file_lock);
	return fd;
}

u32 sim_file_id(const struct sim_proc *proc, u32 fd)
{
	return fd < SIM_FDS && proc->fds[fd] ? proc->fds[fd]->id : 0;
}

u32 sim_acknowledgement(u32 br)
{
	switch (br) {
	case BR_INCREFS:
		return BC_INCREFS_DONE;
	case BR_ACQUIRE:
		return BC_ACQUIRE_DONE;
	case BR_DEAD_BINDER:
		return BC_DEAD_BINDER_DONE;
	case BR_FROZEN_BINDER:
		return BC_FREEZE_NOTIFICATION_DONE;
	default:
		return 0;
	}
}

void sim_file_put(struct host_file *file)
{
	pthread_mutex_lock(&file_lock);
	put_locked(file);
	pthread_mutex_unlock(&file_lock);
}

void sim_file_close(struct sim_proc *proc, u32 fd)
{
	pthread_mutex_lock(&file_lock);
	close_locked(proc, fd);
	pthread_mutex_unlock(&file_lock);
}

int sim_file_get(struct sim_proc *proc, u32 fd, struct host_file **file)
{
	int err = -EBADF;

	pthread_mutex_lock(&file_lock);
	if (sim_file_id(proc, fd)) {
		*file = proc->fds[fd];
		(*file)->refs++;
		err = 0;
	}
	pthread_mutex_unlock(&file_lock);
	return err;
}

int sim_files_install(struct sim_proc *proc, struct host_file **files, u32 nr, u32 *fds)
{
	int err = 0;
	u32 i;

	pthread_mutex_lock(&file_lock);
	for (i = 0; i < nr && !err; i++) {
		fds[i] = free_fd(proc);
		if (fds[i] == SIM_FDS) {
			err = -EMFILE;
			break;
		}
		proc->fds[fds[i]] = files[i];
		files[i]->refs++;
	}
	while (err && i--)
		close_locked(proc, fds[i]);
	pthread_mutex_unlock(&file_lock);
	return err;
}

void sim_out(struct host_out *out, const char *fmt, va_list args)
{
	va_list again;
	int more;

	va_copy(again, args);
	more = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	out->text = realloc(out->text, out->len + (size_t)more + 1);
	vsnprintf(out->text + out->len, (size_t)more + 1, fmt, args);
	out->len += (size_t)more;
}

void sim_log(const char *fmt, va_list args)
{
	char line[512];

	/* Formatted even if not printed, so that sanitizers check the arguments. */
	vsnprintf(line, sizeof(line), fmt, args);
	if (sim_verbose)
		fprintf(stderr, "log: %s\n", line);
}

static __thread struct host_txn_failure failure;
static __thread bool any_failure;

const struct host_txn_failure *sim_last_failure(void)
{
	return any_failure ? &failure : NULL;
}

void sim_forget_failures(void)
{
	any_failure = false;
}

void sim_keep_failure(const struct host_txn_failure *last)
{
	failure = *last;
	any_failure = true;
}
