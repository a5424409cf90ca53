// SPDX-License-Identifier: GPL-2.0
/*
 * Who opened a device.
 *
 * The identity is read from /proc once for each open: as in the C driver, a binder_proc stands
 * for the process that opened the device, even if another process uses the descriptor later.
 */
#include "clients/opener_identity.h"

#include "base/daemon_state.h"
#include "clients/namespaces.h"
#include "clients/client_thread.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A process cannot give itself a longer security context: writes to attr/ are at most a page. */
#define CONTEXT_MAX 4096u

struct identity {
	bool has_contexts;
};

/* The directories exist where the module is active, also if nothing is mounted there. */
void identity_init(void)
{
	daemon_part(identity)->has_contexts = !access("/sys/fs/selinux", F_OK) ||
						 !access("/sys/fs/smackfs", F_OK);
}

static int identity_read_status(pid_t tid, struct host_proc *proc)
{
	char buffer[2048];
	const char *tgid;
	const char *uid;
	const char *levels;
	const char *caps;
	int used;

	if (client_thread_read_file(tid, "status", buffer, sizeof(buffer)) <= 0)
		return -EACCES;
	tgid = client_thread_line(buffer, "Tgid:");
	uid = client_thread_line(buffer, "Uid:");
	levels = client_thread_line(buffer, "NStgid:");
	caps = client_thread_line(buffer, "CapEff:");
	proc->may_raise = caps && strtoull(caps, NULL, 16) & 1ull << CAP_SYS_NICE;
	if (!tgid || !uid || sscanf(tgid, "%d", &proc->pid) != 1 ||
	    sscanf(uid, "%*u %u", &proc->euid) != 1 || proc->pid <= 0)
		return -EACCES;
	proc->nr_levels = 0;
	while (levels && proc->nr_levels < HOST_PID_LEVELS &&
	       sscanf(levels, " %d%n", &proc->pids[proc->nr_levels], &used) == 1) {
		if (memchr(levels, '\n', (size_t)used))
			break;	/* the number was on the next line */
		levels += used;
		proc->nr_levels++;
	}
	return 0;
}

/*
 * Reads the security context that the opening thread has now, as in the C driver: a process may
 * change its context later, but the open keeps the former one. A context that cannot be read, or
 * does not fit, counts as none, for a part of a context is another one.
 */
static int identity_read_context(pid_t tid, struct host_proc *proc)
{
	char buffer[CONTEXT_MAX + 2];
	ssize_t got;

	proc->context = NULL;
	if (!daemon_self->identity->has_contexts)
		return 0;
	got = client_thread_read_file(tid, "attr/current", buffer, sizeof(buffer));
	if (got <= 0 || got > (ssize_t)CONTEXT_MAX)
		return 0;
	proc->context = strdup(buffer);
	return proc->context ? 0 : -ENOMEM;
}

int identity_read(pid_t tid, struct host_proc *proc)
{
	int error;

	if (tid <= 0)
		return -EACCES;
	error = identity_read_status(tid, proc);
	if (error)
		return error;
	proc->opener = tid;
	error = namespaces_read(proc);
	if (error)
		return error;
	error = identity_read_context(tid, proc);
	if (error) {
		identity_free(proc);
		return error;
	}
	proc->pidfd = (int)syscall(SYS_pidfd_open, proc->pid, 0);
	if (proc->pidfd >= 0 || errno == ENOSYS)
		return 0;
	error = errno == EMFILE || errno == ENFILE ? -EMFILE : -EACCES;
	identity_free(proc);
	return error;
}

void identity_free(struct host_proc *proc)
{
	free(proc->id_ranges);
	proc->id_ranges = NULL;
	free(proc->context);
	proc->context = NULL;
	if (proc->pidfd >= 0)
		close(proc->pidfd);
	proc->pidfd = -1;
}

void identity_moved(struct host_proc *proc)
{
	proc->id_ranges = NULL;
	proc->context = NULL;
	proc->pidfd = -1;
}
