// SPDX-License-Identifier: GPL-2.0
/*
 * In transit a file is a reference to its struct file. The receiver installs it inside its own
 * read, so the descriptor table is that of the current task: first all numbers are reserved, then
 * the files are installed, which cannot fail.
 *
 * A receiver may close the device of its own call: the last fput() of a user task is deferred
 * until it returns to user space, so the file exists until then.
 */
#include "files.h"

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

void files_close(const u32 *fds, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		close_fd(fds[i]);
}
