// SPDX-License-Identifier: GPL-2.0
/*
 * The opener is known by its thread group leader, whose structure is kept: a number that is asked
 * for when the process is gone is 0, never somebody else's. What it may do is decided by the
 * credentials of the open file, which later changes of its user do not touch.
 */
#include "who.h"

#include "map.h"

#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/user_namespace.h>

int who_init(struct host_proc *proc, struct host_map *map, const struct file *file)
{
	int err = map_init(map, file);

	if (err)
		return err;
	proc->task = current->group_leader;
	get_task_struct(proc->task);
	proc->cred = get_cred(file->f_cred);
	init_waitqueue_head(&proc->poll_wait);
	return 0;
}

void who_destroy(struct host_proc *proc)
{
	put_cred(proc->cred);
	put_task_struct(proc->task);
}

s32 who_pid(const struct host_proc *proc)
{
	return proc->task->pid;
}

s32 who_pid_seen_by_current(const struct host_proc *proc)
{
	return task_tgid_nr_ns(proc->task, task_active_pid_ns(current));
}

u32 who_euid_seen_by(const struct host_proc *sender, const struct host_proc *viewer)
{
	struct user_namespace *ns = viewer->cred->user_ns;
	kuid_t euid = task_euid(sender->task);

	/* The first namespace, nearly always the one, knows everybody by the kernel's number. */
	return ns == &init_user_ns ? __kuid_val(euid) : from_kuid(ns, euid);
}

u32 who_current_euid(void)
{
	return from_kuid(&init_user_ns, current_euid());
}
