// SPDX-License-Identifier: GPL-2.0
/*
 * The opener is represented by a reference to its thread group leader, so after its death the
 * process number in a namespace is 0, never that of another process. Permissions are those of the
 * open file, which later changes of the user id do not affect.
 */
#include "identity.h"

#include "map.h"

#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/user_namespace.h>

int identity_init(struct host_proc *proc, struct host_map *map, struct file *file)
{
	int err = map_init(map, file);

	if (err)
		return err;
	proc->task = current->group_leader;
	get_task_struct(proc->task);
	proc->file = file;
	proc->cred = get_cred(file->f_cred);
	init_waitqueue_head(&proc->poll_wait);
	return 0;
}

void identity_destroy(struct host_proc *proc)
{
	put_cred(proc->cred);
	put_task_struct(proc->task);
}

s32 identity_pid(const struct host_proc *proc)
{
	return proc->task->pid;
}

bool identity_has_pid(const struct host_proc *proc, s32 pid)
{
	struct pid_namespace *ns = task_active_pid_ns(current);

	/* In the initial namespace the number is known, also when the process has ended. */
	if (!ns->level)
		return proc->task->pid == pid;
	return pid && task_tgid_nr_ns(proc->task, ns) == pid;
}

s32 identity_pid_seen_by_current(const struct host_proc *proc)
{
	return task_tgid_nr_ns(proc->task, task_active_pid_ns(current));
}

u32 identity_current_euid(void)
{
	return from_kuid(&init_user_ns, current_euid());
}
