// SPDX-License-Identifier: GPL-2.0
/*
 * In transit a file is a reference to its struct file. The receiver installs it inside its own
 * read, so the descriptor table is that of the current task: first all numbers are reserved, then
 * the files are installed, which cannot fail.
 *
 * A receiver may close descriptors in its ioctl, among them that of the device itself. In a process
 * of one thread the ioctl has only borrowed the reference of the descriptor table (fdget()), so
 * close_fd() would then drop the last one of a file in use. Therefore the ioctl first takes a
 * reference of its own, and returns it when it has finished (files_end_ioctl()); after that the
 * kernel does not use the file. All other files are of no concern: no system call but this one is
 * using the descriptors of the thread, and the last fput() of a file is deferred until the thread
 * returns to user space.
 */
#include "files.h"

#include "core.h"
#include "device.h"

#include <linux/fcntl.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>

static struct file *file_of(struct host_file *file)
{
	return (struct file *)file;
}

int files_get(u32 fd, struct host_file **file)
{
	*file = (struct host_file *)fget(fd);
	return *file ? 0 : -EBADF;
}

void files_put(struct host_file *file)
{
	fput(file_of(file));
}

bool files_is_open_of(const struct host_file *file, const struct host_proc *proc)
{
	const struct file *filp = (const struct file *)file;

	return filp->f_op == &device_fops && binder_proc_host(filp->private_data) == proc;
}

int files_install(struct host_file **files, u32 nr, u32 *fds)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		int fd = get_unused_fd_flags(O_CLOEXEC);

		if (fd < 0) {
			while (i)
				put_unused_fd(fds[--i]);
			return fd;
		}
		fds[i] = fd;
	}
	for (i = 0; i < nr; i++)
		fd_install(fds[i], get_file(file_of(files[i])));
	return 0;
}

void files_close(struct host_thread *thread, const u32 *fds, u32 nr)
{
	u32 i;

	if (!thread->held_file)
		thread->held_file = get_file(thread->proc->file);
	for (i = 0; i < nr; i++)
		close_fd(fds[i]);
}
