// SPDX-License-Identifier: GPL-2.0
/* Notifying the kernel that a polled device has become readable. */
#include "workers/poll_notify.h"

#include "core.h"
#include "session/session.h"
#include "workers/worker.h"

void poll_notify_arm(struct host_proc *proc, u64 handle)
{
	atomic_store(&proc->poll_handle, handle);
	atomic_store(&proc->poll_armed, true);
}

void poll_notify_queue(struct host_proc *proc)
{
	/* a notification that has not been sent yet covers this event too */
	if (atomic_exchange(&proc->poll_queued, true))
		return;
	atomic_store(&proc->poll_armed, false);
	binder_proc_get(binder_proc_of_host(proc));
	worker_push_polled(proc);
}

void poll_notify_send(void)
{
	struct host_proc *proc = worker_take_polled();

	while (proc) {
		struct host_proc *next = proc->next_polled;

		atomic_store(&proc->poll_queued, false);
		session_notify_poll(atomic_load(&proc->poll_handle));
		binder_proc_put(binder_proc_of_host(proc));
		proc = next;
	}
}
