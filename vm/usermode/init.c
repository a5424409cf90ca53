// SPDX-License-Identifier: GPL-2.0
/*
 * The init of a user-mode Linux (vm/usermode/): mounts a binderfs on /mnt/binderfs, runs the
 * shell script that the kernel argument JOB= names, and ends the machine. All other files are the
 * host's. The binderfs is the C driver's; with the kernel argument MODULE=FILE, that of this
 * project's module, which is loaded from the file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void mount_at(const char *dir, const char *type, const char *options)
{
	if (mount(type, dir, type, 0, options))
		perror(dir);
}

static void load_module(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		perror(file);
	close(fd);
}

int main(void)
{
	const char *job = getenv("JOB"), *module = getenv("MODULE");

	mount_at("/proc", "proc", NULL);
	mount_at("/mnt", "tmpfs", NULL);
	mkdir("/mnt/binderfs", 0755);
	if (module)
		load_module(module);
	mount_at("/mnt/binderfs", module ? "anybinder" : "binder", "stats=global");
	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-XSAVE,"
	       "-XSAVEC,-AVX_Fast_Unaligned_Load", 1);
	if (job && !fork()) {
		execl("/bin/sh", "sh", job, (char *)NULL);
		perror("/bin/sh");
		_exit(127);
	}
	while (wait(NULL) > 0)
		;
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
