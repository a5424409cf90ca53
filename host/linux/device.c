// SPDX-License-Identifier: GPL-2.0
/*
 * The file operations of a device. They copy the argument of an ioctl in and out, and sleep
 * where the engine returns BINDER_WOULD_BLOCK; the ioctls themselves are handled by the engine.
 */
#include "device.h"

#include "binderfs_inode.h"
#include "compat/compat.h"
#include "core.h"
#include "reports.h"
#include "wait.h"

#include <linux/device.h>
#include <linux/jiffies.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

/* Enough for the argument of every ioctl; the largest has 48 bytes. */
#define ARG_SIZE 64

struct static_device {
	struct miscdevice misc;
	struct binder_context *context;
	struct list_head link;
};

static LIST_HEAD(static_devices);

/* ---- the calling thread ---- */

static struct binder_thread *device_get_current_thread(struct binder_proc *proc)
{
	return binder_thread_find_or_new(proc, current->pid, current);
}

/* Without a reference: only the thread itself can end it. */
static struct binder_thread *device_find_current_thread(struct binder_proc *proc)
{
	struct binder_thread *thread = binder_thread_find(proc, current->pid);

	if (!thread) {
		thread = device_get_current_thread(proc);
		if (thread)
			binder_thread_put(thread); /* its process keeps a reference */
	}
	return thread;
}

/* ---- open and close ---- */

static int device_open(struct inode *inode, struct file *filp)
{
	struct binder_context *context = binderfs_context_of(inode);
	struct binder_proc *proc;
	int err;

	if (!context)
		context = container_of(filp->private_data, struct static_device, misc)->context;
	err = binder_open(context, filp, &proc);
	if (err)
		return err;
	filp->f_mapping = binder_proc_map(proc)->mapping;
	filp->private_data = proc;
	reports_proc_opened(host_proc_pid(binder_proc_host(proc)), inode->i_sb);
	return 0;
}

static int device_flush(struct file *filp, fl_owner_t id)
{
	binder_flush(filp->private_data);
	return 0;
}

static int device_release(struct inode *inode, struct file *filp)
{
	struct binder_proc *proc = filp->private_data;

	reports_proc_closed(host_proc_pid(binder_proc_host(proc)), inode->i_sb);
	binder_release(proc);
	return 0;
}

/* ---- mmap and poll ---- */

static int device_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct binder_proc *proc = filp->private_data;
	size_t size = min_t(size_t, vma->vm_end - vma->vm_start, BINDER_MAP_MAX_SIZE);
	int err;

	if (binder_proc_host(proc)->task != current->group_leader)
		return -EINVAL;
	err = map_attach(binder_proc_map(proc), vma, size);
	if (err)
		return err;
	err = binder_mmap(proc, vma->vm_start, size);
	if (err)
		map_detach(binder_proc_map(proc), vma);
	return err;
}

static __poll_t device_poll(struct file *filp, poll_table *table)
{
	struct binder_proc *proc = filp->private_data;
	struct binder_thread *thread = device_get_current_thread(proc);
	__poll_t events;

	if (!thread)
		return EPOLLERR;
	/* Queue first, then look: no wake-up is lost in between. */
	poll_wait(filp, &binder_proc_host(proc)->poll_wait, table);
	events = binder_poll(thread) ? EPOLLIN : 0;
	binder_thread_put(thread);
	return events;
}

/* ---- ioctl ---- */

/* What the C driver returns for a bad pointer; 0 where it does not use the argument. */
static const struct {
	u32 cmd;
	int err;
} bad_pointers[] = {
	{ BINDER_VERSION, -EINVAL },
	{ BINDER_SET_MAX_THREADS, -EINVAL },
	{ BINDER_SET_CONTEXT_MGR_EXT, -EINVAL },
	{ BINDER_SET_CONTEXT_MGR, 0 },
	{ BINDER_THREAD_EXIT, 0 },
};

static int device_bad_pointer(u32 cmd)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad_pointers); i++) {
		if (bad_pointers[i].cmd == cmd)
			return bad_pointers[i].err;
	}
	return -EFAULT;
}

/* Between two slices of a long command stream. */
static enum binder_resume_reason device_let_others_run(void)
{
	cond_resched();
	return fatal_signal_pending(current) ? RESUME_INTERRUPTED : RESUME_WOKEN;
}

static enum binder_resume_reason device_wait(struct host_thread *host, unsigned long deadline)
{
	int woken = wait_for_work(host, deadline);

	if (woken < 0)
		return RESUME_INTERRUPTED;
	return woken ? RESUME_WOKEN : RESUME_TIMED_OUT;
}

static bool device_is_unfinished(int err)
{
	return err == BINDER_WOULD_BLOCK || err == BINDER_AGAIN;
}

/* Resumes a call until it is complete, waiting where it would block. */
static int device_finish_call(struct binder_thread *thread, u32 cmd, void *arg, int err)
{
	struct host_thread *host = binder_thread_host(thread);
	unsigned long deadline = 0;
	u32 timeout_ms;

	while (device_is_unfinished(err)) {
		if (err == BINDER_AGAIN) {
			err = binder_resume(thread, cmd, arg, device_let_others_run());
			continue;
		}
		/* A read waits without limit. */
		timeout_ms = cmd == BINDER_WRITE_READ ? 0 : binder_thread_wait_timeout_ms(thread);
		if (timeout_ms && !deadline)
			deadline = (jiffies + msecs_to_jiffies(timeout_ms)) ?: 1;
		err = binder_resume(thread, cmd, arg, device_wait(host, deadline));
	}
	return err;
}

static int device_get_bwr(struct binder_write_read *bwr,
			  const struct binder_write_read __user *user)
{
	if (!user_read_access_begin(user, sizeof(*user)))
		return -EFAULT;
	unsafe_get_user(bwr->write_size, &user->write_size, fault);
	unsafe_get_user(bwr->write_consumed, &user->write_consumed, fault);
	unsafe_get_user(bwr->write_buffer, &user->write_buffer, fault);
	unsafe_get_user(bwr->read_size, &user->read_size, fault);
	unsafe_get_user(bwr->read_consumed, &user->read_consumed, fault);
	unsafe_get_user(bwr->read_buffer, &user->read_buffer, fault);
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EFAULT;
}

static int device_put_consumed(struct binder_write_read __user *user,
			       const struct binder_write_read *bwr)
{
	if (!user_write_access_begin(user, sizeof(*user)))
		return -EFAULT;
	unsafe_put_user(bwr->write_consumed, &user->write_consumed, fault);
	unsafe_put_user(bwr->read_consumed, &user->read_consumed, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

/* The only ioctl that closes files. */
static int device_write_read_ioctl(struct binder_proc *proc, struct binder_write_read __user *user,
				   bool nonblock)
{
	struct binder_thread *thread = device_find_current_thread(proc);
	struct binder_write_read bwr;
	int err;

	if (!thread)
		return -ENOMEM;
	if (device_get_bwr(&bwr, user))
		return -EFAULT;
	err = binder_write_read(thread, &bwr, nonblock);
	if (device_is_unfinished(err))
		err = device_finish_call(thread, BINDER_WRITE_READ, &bwr, err);
	files_end_ioctl(binder_thread_host(thread));
	/* After an error, too, the caller learns how much was consumed. */
	return device_put_consumed(user, &bwr) ? -EFAULT : err;
}

static int device_small_ioctl(struct binder_thread *thread, unsigned int cmd, void __user *user,
			      bool nonblock)
{
	size_t size = ABI_IOC_SIZE(cmd);
	u64 arg[ARG_SIZE / sizeof(u64)] = {};
	int err;

	if (size > sizeof(arg))
		return -EINVAL;
	if (ABI_IOC_WRITES(cmd) && copy_from_user(arg, user, size)) {
		err = device_bad_pointer(cmd);
		if (err)
			return err;
	}
	err = device_finish_call(thread, cmd, arg, binder_ioctl(thread, cmd, arg, nonblock));
	if (ABI_IOC_READS(cmd) && !err && copy_to_user(user, arg, size))
		err = device_bad_pointer(cmd);
	return err;
}

/* All ioctls but BINDER_WRITE_READ. */
static int device_other_ioctl(struct binder_proc *proc, unsigned int cmd, void __user *user,
			      bool nonblock)
{
	struct binder_thread *thread = device_get_current_thread(proc);
	int err;

	if (!thread)
		return -ENOMEM;
	err = device_small_ioctl(thread, cmd, user, nonblock);
	binder_thread_put(thread);
	return err;
}

static long device_ioctl(struct file *filp, unsigned int cmd, unsigned long pointer)
{
	struct binder_proc *proc = filp->private_data;
	void __user *user = (void __user *)pointer;
	bool nonblock = filp->f_flags & O_NONBLOCK;
	long err;

	trace_binder_ioctl(cmd, pointer);
	if (cmd == BINDER_WRITE_READ)
		err = device_write_read_ioctl(proc, user, nonblock);
	else
		err = device_other_ioctl(proc, cmd, user, nonblock);
	trace_binder_ioctl_done(err);
	return err;
}

const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.flush = device_flush,
	.release = device_release,
	.mmap = device_mmap,
	.poll = device_poll,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl, /* the ABI has one layout for all word sizes */
};

/* ---- devices in /dev ---- */

static void device_remove_one(struct static_device *device)
{
	misc_deregister(&device->misc);
	list_del(&device->link);
	binder_context_put(device->context);
	kfree(device->misc.name);
	kfree(device);
}

/* Has another driver, or this one, a device of this name in the class of @sibling? */
static bool device_exists(const struct miscdevice *sibling, const char *name)
{
	struct device *found = class_find_device_by_name(sibling->this_device->class, name);

	put_device(found);
	return found;
}

/* @sibling is any device of the class. */
static int device_add_one(void *sibling, const char *name)
{
	struct static_device *device;
	int err = -ENOMEM;

	/* The kernel would refuse it, and log a call trace. */
	if (device_exists(sibling, name)) {
		pr_info("another driver has /dev/%s: use binderfs (mount -t anybinder)\n", name);
		return 0;
	}
	device = kzalloc(sizeof(*device), GFP_KERNEL);
	if (!device)
		return -ENOMEM;
	device->misc.minor = MISC_DYNAMIC_MINOR;
	device->misc.fops = &device_fops;
	device->misc.name = kstrdup(name, GFP_KERNEL);
	if (!device->misc.name)
		goto free_device;
	device->context = binder_context_new(name);
	if (!device->context)
		goto free_name;
	err = misc_register(&device->misc);
	if (err)
		goto put_context;
	list_add(&device->link, &static_devices);
	return 0;

put_context:
	binder_context_put(device->context);
free_name:
	kfree(device->misc.name);
free_device:
	kfree(device);
	return err;
}

int device_for_each_name(const char *names, int (*fn)(void *arg, const char *name), void *arg)
{
	char *copy = kstrdup(names, GFP_KERNEL);
	char *rest = copy, *name;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (name = strsep(&rest, ","))) {
		if (*name)
			err = fn(arg, name);
	}
	kfree(copy);
	return err;
}

void device_remove_static(void)
{
	struct static_device *device, *next;

	list_for_each_entry_safe(device, next, &static_devices, link)
		device_remove_one(device);
}

int device_add_static(const char *names)
{
	/* The class of these devices is not exported, but each device knows it. */
	static const struct file_operations no_fops = { .owner = THIS_MODULE };
	struct miscdevice sibling = { .minor = MISC_DYNAMIC_MINOR,
				      .name = KBUILD_MODNAME "_class",
				      .fops = &no_fops };
	int err = misc_register(&sibling);

	if (err)
		return err;
	err = device_for_each_name(names, device_add_one, &sibling);
	misc_deregister(&sibling);
	if (err)
		device_remove_static();
	return err;
}
