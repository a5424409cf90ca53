// SPDX-License-Identifier: GPL-2.0
/*
 * Ports that the engine in this program serves, as a host's entry does: the argument of an ioctl is
 * copied in and out, the engine is called for the thread that calls, and where it would block, the
 * thread waits here until it is woken, its time is up, or its process ends. Addresses are those of
 * this program: a bad one is found by the system calls that copy (host/test/sim.c).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/abi.h"
#include "common/stats.h"
#include "core.h"
#include "engine_process.h"
#include "host.h"
#include "tests/lib/binder_port.h"

#define NR_OPENS 256
/* Numbers of opens begin here, so that none is taken for a descriptor of the kernel. */
#define FIRST_OPEN 1000
#define PAGE 4096
#define SLICE_US 100

/* What the engine knows of a thread, for each open that it uses. */
struct caller {
	struct sim_thread sim;
	s32 tid;
	struct caller *next;
};

struct engine_open {
	struct engine_process *process;
	struct sim_proc *sim;
	struct binder_proc *proc;
	struct caller *callers;
	bool nonblocking, is_closed;
	u32 refs; /* one until it is closed, one for each call under way */
	struct engine_open *next; /* of the process */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* what follows, and lists of opens */
static struct engine_open *opens[NR_OPENS];
static u32 nr_opens;
static struct {
	char name[64];
	struct binder_context *context;
} devices[8];

/* ---- opens --------------------------------------------------------------------------------- */

static struct binder_context *device_of(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	size_t i = 0;

	while (devices[i].context && strcmp(devices[i].name, name))
		i++;
	if (devices[i].context)
		return devices[i].context;
	if (!i)
		binder_world_init();
	snprintf(devices[i].name, sizeof(devices[i].name), "%s", name);
	devices[i].context = binder_context_new(name);
	return devices[i].context;
}

static int engine_open(struct port *port, const char *device, int flags)
{
	struct engine_open *open = calloc(1, sizeof(*open));
	struct engine_process *process = engine_self->process;
	int err;

	engine_enter();
	pthread_mutex_lock(&lock);
	open->process = process;
	open->nonblocking = flags & O_NONBLOCK;
	open->refs = 1;
	open->sim = sim_proc_new_here(process->pid, geteuid());
	open->sim->may_rt = true;
	open->sim->opener = engine_self->priority;
	err = binder_open(device_of(device), open->sim, &open->proc);
	if (!err && nr_opens == NR_OPENS)
		err = -EMFILE;
	if (!err) {
		port->fd = FIRST_OPEN + (int)nr_opens;
		opens[nr_opens++] = open;
		open->next = process->opens;
		process->opens = open;
	}
	pthread_mutex_unlock(&lock);
	engine_leave();
	return err;
}

/* With a reference; NULL: closed. */
static struct engine_open *open_get(const struct port *port)
{
	struct engine_open *open = NULL;

	pthread_mutex_lock(&lock);
	if (port->fd >= FIRST_OPEN && port->fd < FIRST_OPEN + (int)nr_opens)
		open = opens[port->fd - FIRST_OPEN];
	if (open && open->is_closed)
		open = NULL;
	if (open)
		open->refs++;
	pthread_mutex_unlock(&lock);
	return open;
}

static void open_put(struct engine_open *open)
{
	bool is_last;

	pthread_mutex_lock(&lock);
	is_last = !--open->refs;
	pthread_mutex_unlock(&lock);
	if (is_last)
		binder_release(open->proc);
}

static void close_open(struct engine_open *open)
{
	bool was_closed;

	pthread_mutex_lock(&lock);
	was_closed = open->is_closed;
	open->is_closed = true;
	pthread_mutex_unlock(&lock);
	if (was_closed)
		return;
	open->sim->unmapped = true;
	binder_flush(open->proc);
	open_put(open);
}

static int engine_close(struct port *port)
{
	struct engine_open *open;

	engine_enter();
	open = open_get(port);
	if (open) {
		close_open(open);
		open_put(open);
	}
	engine_leave();
	return open ? 0 : -EBADF;
}

void engine_close_all(struct engine_process *process)
{
	for (struct engine_open *open = process->opens; open; open = open->next)
		close_open(open);
}

bool engine_is_empty(void)
{
	const struct binder_stats *stats = &binder_stats_world;
	u32 left = 0;

	for (int i = 0; i < STAT_COUNT; i++)
		left += host_atomic_read(&stats->created[i]) !=
			host_atomic_read(&stats->deleted[i]);
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (devices[i].context)
			binder_context_put(devices[i].context);
	return !left && !sim_stats.allocs;
}

struct sim_proc *engine_sim(int fd)
{
	return opens[fd - FIRST_OPEN]->sim;
}

/* ---- mapping ------------------------------------------------------------------------------- */

/*
 * The process can only read its map; the engine stores to the same memory elsewhere. Both stay when
 * the open is closed, since another thread may be storing to it.
 */
static long map_open(struct engine_open *open, size_t bytes)
{
	size_t used = bytes < BINDER_MAP_MAX_SIZE ? bytes / PAGE * PAGE : BINDER_MAP_MAX_SIZE;
	int fd = memfd_create("map", MFD_CLOEXEC);
	u8 *ours, *theirs;

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return -errno;
	ours = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	theirs = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	if (ours == MAP_FAILED || theirs == MAP_FAILED)
		return -ENOMEM;
	if (!open->sim->map_size)
		sim_proc_map_here(open->sim, (u64)(uintptr_t)theirs, ours, used);
	return binder_mmap(open->proc, (u64)(uintptr_t)theirs, bytes) ?: (long)(uintptr_t)theirs;
}

static long engine_map(struct port *port, size_t bytes, int prot, int flags, long offset)
{
	struct engine_open *open;
	long at = -EBADF;

	(void)flags;
	(void)offset;
	if (prot & PROT_WRITE)
		return -EPERM;
	engine_enter();
	open = open_get(port);
	if (open) {
		at = map_open(open, bytes);
		open_put(open);
	}
	engine_leave();
	return at;
}

/* ---- calls --------------------------------------------------------------------------------- */

static struct caller *caller_of(struct engine_open *open)
{
	struct caller *caller;

	pthread_mutex_lock(&lock);
	caller = open->callers;
	while (caller && caller->tid != engine_self->tid)
		caller = caller->next;
	if (!caller) {
		caller = calloc(1, sizeof(*caller));
		caller->tid = engine_self->tid;
		caller->sim.proc = open->sim;
		caller->sim.priority = &engine_self->priority;
		caller->next = open->callers;
		open->callers = caller;
	}
	pthread_mutex_unlock(&lock);
	return caller;
}

static u64 now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000 + (u64)now.tv_nsec / 1000;
}

static enum binder_resume_reason wait_here(struct engine_open *open, struct caller *caller,
					   u32 timeout_ms)
{
	u64 end = now_us() + (u64)timeout_ms * 1000;

	while (!__atomic_exchange_n(&caller->sim.woken, false, __ATOMIC_SEQ_CST)) {
		if (__atomic_load_n(&open->process->is_ending, __ATOMIC_SEQ_CST))
			return RESUME_INTERRUPTED;
		if (timeout_ms && now_us() >= end)
			return RESUME_TIMED_OUT;
		usleep(SLICE_US);
	}
	return RESUME_WOKEN;
}

static int call(struct engine_open *open, u32 cmd, void *arg)
{
	struct caller *caller = caller_of(open);
	struct binder_thread *thread =
		binder_thread_find_or_new(open->proc, caller->tid, &caller->sim);
	int result;

	if (!thread)
		return -ENOMEM;
	__atomic_store_n(&caller->sim.woken, false, __ATOMIC_SEQ_CST);
	result = binder_ioctl(thread, cmd, arg, open->nonblocking);
	while (result == BINDER_RESTART || result == BINDER_AGAIN || result == BINDER_WOULD_BLOCK) {
		enum binder_resume_reason why = RESUME_WOKEN;

		if (result == BINDER_WOULD_BLOCK)
			why = wait_here(open, caller, binder_thread_wait_timeout_ms(thread));
		if (result == BINDER_RESTART)
			result = binder_ioctl(thread, cmd, arg, open->nonblocking);
		else
			result = binder_resume(thread, cmd, arg, why);
	}
	binder_thread_put(thread);
	return result;
}

static int call_copied(struct engine_open *open, u32 cmd, u64 at)
{
	u64 arg[16] = { 0 };
	size_t size = ABI_IOC_SIZE(cmd);
	int err;

	if (size > sizeof(arg))
		return -EINVAL;
	if (ABI_IOC_WRITES(cmd) && sim_read(open->sim, arg, at, size))
		return -EFAULT;
	err = call(open, cmd, arg);
	if (!ABI_IOC_READS(cmd) || (err && cmd != BINDER_WRITE_READ))
		return err;
	return sim_write(open->sim, at, arg, size) ? -EFAULT : err;
}

static int engine_ioctl(struct port *port, unsigned long cmd, unsigned long arg)
{
	struct engine_open *open;
	int err = -EBADF;

	engine_enter();
	open = open_get(port);
	if (open) {
		err = call_copied(open, (u32)cmd, arg);
		open_put(open);
	}
	engine_leave();
	return err;
}

static const struct port_system port_engine = {
	.open = engine_open,
	.map = engine_map,
	.ioctl = engine_ioctl,
	.close = engine_close,
};

const struct port_system *const process_ports = &port_engine;
