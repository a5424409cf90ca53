// SPDX-License-Identifier: GPL-2.0
/*
 * The mount.
 *
 * Root, and root of a separate user and mount namespace, call mount(2); other users run
 * fusermount3, a set-uid program that mounts and passes the open /dev/fuse back over a socket. A
 * daemon that was killed leaves a mount that fails every access with ENOTCONN: the next start
 * recognises and detaches it.
 *
 * A daemon that ends and the next one, which starts, meet at the same path, and each may stand
 * still between any two system calls. So neither unmounts by the path, where the other's mount may
 * be by then: a descriptor of what is mounted there is opened, looked at, and what it names is
 * unmounted.
 */
#include "session/mount.h"

#include "base/daemon_state.h"
#include "base/libc.h"
#include "base/daemon_log.h"
#include "base/message.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define FS_NAME "anybinder"

/* The device number of /dev/fuse is ABI. */
#define FUSE_DEVICE makedev(10, 229)

/* A daemon that is about to end has gone after this time: see supervisor.h. */
#define END_MS 2000

/* How long mount_abort() waits. */
#define ABORT_MS 200

void mount_adopt(const struct mount *mount)
{
	*daemon_part(mount) = *mount;
}

/* Runs fusermount3 with @args; it inherits @fd unless that is -1. Returns its exit status. */
static int run_fusermount(char *const args[], int fd)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		return -1;
	if (!child) {
		if (fd >= 0) {
			char number[16];

			snprintf(number, sizeof(number), "%d", fd);
			setenv("_FUSE_COMMFD", number, 1);
			fcntl(fd, F_SETFD, 0);
		}
		execvp(args[0], args);
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * Detaches what the descriptor @place names, and nothing if that is no mount any more; MNT_FORCE in
 * @flags ends its connection, too, which takes more rights. False: errno.
 */
static bool mount_detach(int place, const char *mountpoint, int flags)
{
	char *const args[] = { "fusermount3", "-u", "-z", "-q", "--", (char *)mountpoint, NULL };
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	if (!umount2(path, MNT_DETACH | flags) || (errno == EPERM && !umount2(path, MNT_DETACH)))
		return true;
	return errno == EPERM && !run_fusermount(args, -1);
}

/* Opens the directory @place, for which a mount asks its server. Returns 0 or -errno. */
static int ask_server(int place)
{
	int fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Is @error what ask_server() returns for a mount whose daemon has ended? */
static bool is_dead(int error)
{
	return error == -ENOTCONN || error == -ECONNABORTED;
}

/* Is the topmost mount at @path an anybinder one? Reads a list only; never accesses @path. */
static bool is_our_mount(const char *path)
{
	FILE *file = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;
	bool ours = false;

	while (file && (entry = getmntent(file)))
		if (!strcmp(entry->mnt_dir, path))
			ours = !strcmp(entry->mnt_type, "fuse." FS_NAME);
	if (file)
		endmntent(file);
	return ours;
}

bool mount_exists(void)
{
	return is_our_mount(daemon_self->mount->at);
}

/* realpath(3) would fail on the mount of a dead daemon. */
char *mount_absolute(const char *path)
{
	char *cwd = path[0] == '/' ? strdup("") : getcwd(NULL, 0);
	char *joined = NULL;

	if (!cwd || asprintf(&joined, "%s%s%s", cwd, *cwd ? "/" : "", path) < 0) {
		log_error("cannot make %s an absolute path: %s", path, strerror(errno));
		joined = NULL;
	}
	free(cwd);
	return joined;
}

enum place { FREE, TAKEN, UNUSABLE };

/* Makes @mountpoint ready for a mount, unless it is TAKEN by a daemon that serves or ends. */
static enum place mount_prepare_place(const char *mountpoint)
{
	char real[4096];
	enum place result = UNUSABLE;
	int place = open(mountpoint, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* stat(2) of a dead mount may briefly succeed from the cache */
	int error = place < 0 ? -errno : ask_server(place);

	errno = -error;
	if (!error) {
		/* realpath(3) fails if the daemon has ended since it was asked: look again */
		result = !realpath(mountpoint, real) || is_our_mount(real) ? TAKEN : FREE;
	} else if (is_dead(error)) {
		log_info("detaching the mount that a dead daemon left at %s", mountpoint);
		/* otherwise the dying daemon has done so */
		if (mount_detach(place, mountpoint, 0) || errno == EINVAL)
			result = TAKEN;		/* look again */
		else
			log_error("cannot detach the mount that a dead daemon left at %s: %s "
				  "(try umount -l %s)", mountpoint, strerror(errno), mountpoint);
	} else if (error == -ENOTDIR) {
		log_error("%s is not a directory", mountpoint);
	} else if (error == -ENOENT && !mkdir(mountpoint, 0755)) {
		daemon_self->mount->made_directory = true;
		result = FREE;
	} else {
		log_error("cannot use %s as a mountpoint: %s", mountpoint, strerror(errno));
	}
	if (place >= 0)
		close(place);
	return result;
}

bool mount_prepare(const char *mountpoint)
{
	enum place place;

	daemon_part(mount);
	place = mount_prepare_place(mountpoint);
	for (int ms = 0; place == TAKEN && ms < END_MS; ms += 10) {
		usleep(10000);
		place = mount_prepare_place(mountpoint);
	}
	if (place == TAKEN)
		log_error("%s is already mounted: an anybinderd serves it", mountpoint);
	return place == FREE;
}

bool mount_seal(const char *mountpoint)
{
	struct statvfs below;

	if (!statvfs(mountpoint, &below) && below.f_flag & ST_RDONLY)
		return true;
	if (!mount(FS_NAME, mountpoint, "tmpfs",
		   MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755"))
		return true;
	log_error("cannot seal %s: %s", mountpoint, strerror(errno));
	return false;
}

static int mount_by_helper(const char *mountpoint, bool allow_other)
{
	char options[128];
	char *const args[] = { "fusermount3", "-o", options, "--", (char *)mountpoint, NULL };
	int pair[2];
	int status;
	int fd = -1;
	char byte;

	snprintf(options, sizeof(options), "rw,nosuid,nodev,default_permissions,fsname=%s,"
		 "subtype=%s%s", FS_NAME, FS_NAME, allow_other ? ",allow_other" : "");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	status = run_fusermount(args, pair[1]);
	close(pair[1]);
	if (!status)
		message_receive(pair[0], &byte, 1, &fd);
	close(pair[0]);
	if (status == 127)
		log_error("no permission to mount, and fusermount3 (package fuse3) is missing");
	return fd;
}

static void log_open_failure(void)
{
	if (errno == ENOENT || errno == ENODEV || errno == ENXIO)
		log_error("/dev/fuse is missing: load the fuse module, or give the container the "
			  "device (docker run --device /dev/fuse)");
	else
		log_error("cannot open /dev/fuse: %s", strerror(errno));
}

/* Notes the path before mounting: afterwards realpath(3) would wait for a reply of the daemon. */
static void note_real_path(const char *mountpoint)
{
	if (!realpath(mountpoint, daemon_self->mount->at))
		daemon_self->mount->at[0] = 0;
}

/*
 * mount(2), which needs no helper. The directory may have vanished since mount_prepare(): a daemon
 * that ends removes the one that it made. False: errno is set.
 */
static bool mount_directly(const char *mountpoint, const char *options)
{
	for (int tries = 0; tries < 3; tries++) {
		note_real_path(mountpoint);
		if (!mount(FS_NAME, mountpoint, "fuse." FS_NAME, MS_NOSUID | MS_NODEV | MS_NOEXEC,
			   options))
			return true;
		if (errno != ENOENT)
			return false;
		daemon_self->mount->made_directory |= !mkdir(mountpoint, 0755);
	}
	return false;
}

int mount_fuse(const char *mountpoint, bool allow_other)
{
	char options[160];
	struct stat st;
	int fd;

	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		log_open_failure();
		return -1;
	}
	if (fstat(fd, &st) || st.st_rdev != FUSE_DEVICE) {
		log_error("/dev/fuse is not the FUSE device");
		close(fd);
		return -1;
	}
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%u,group_id=%u,default_permissions%s", fd, geteuid(),
		 getegid(), allow_other ? ",allow_other" : "");
	daemon_self->mount->mounted = mount_directly(mountpoint, options);
	if (daemon_self->mount->mounted)
		return fd;
	close(fd);
	if (errno != EPERM) {
		log_error("cannot mount at %s: %s", mountpoint, strerror(errno));
		return -1;
	}
	fd = mount_by_helper(mountpoint, allow_other);
	if (fd < 0 && allow_other) {
		log_warn("mounting for this user alone; access by other users needs "
			 "user_allow_other in /etc/fuse.conf");
		fd = mount_by_helper(mountpoint, false);
	}
	daemon_self->mount->mounted = fd >= 0;
	if (!daemon_self->mount->mounted)
		log_error("no permission to mount at %s (try as root, or in a user namespace of "
			  "your own: unshare -Urm)", mountpoint);
	return fd;
}

/* Does @place have the number @device? The server is not asked; 0 is unknown. */
static bool has_device(int place, uint64_t device)
{
	struct statx st;

	return !device || statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) ||
	       makedev(st.stx_dev_major, st.stx_dev_minor) == device;
}

/*
 * A descriptor of this daemon's mount; -1: it has gone. @over: its connection is. While it is not,
 * no other mount has the number of its device; after the end another's may, which answers.
 */
static int find_own_mount(const char *mountpoint, uint64_t device, bool over)
{
	int place = open(mountpoint, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (place >= 0 && (!mount_exists() || !has_device(place, device) ||
			   (over && !is_dead(ask_server(place))))) {
		close(place);
		place = -1;
	}
	return place;
}

/*
 * Ending the connection (MNT_FORCE) ends the requests and the daemon's own notifications that wait
 * for each other. It takes more rights than fusermount3 gives.
 */
void mount_undo(const char *mountpoint, uint64_t device)
{
	struct mount *self = daemon_self->mount;
	int place = -1;

	if (self->mounted)
		place = find_own_mount(mountpoint, device,
				       session_is_over(daemon_self->session->fd));
	if (place >= 0 && !mount_detach(place, mountpoint, MNT_FORCE) && errno != EINVAL)
		log_warn("cannot unmount %s: %s", mountpoint, strerror(errno));
	if (place >= 0)
		close(place);
	if (self->made_directory)
		rmdir(mountpoint);
}

/*
 * Ending the connection takes a right; without it the requests wait until the server's last thread
 * has ended. The end of a mount that is no longer used takes until each client has noticed the end
 * of its request, for which it needs processor time. So a child does it, which has nothing of its
 * parent.
 */
void mount_abort(const char *mountpoint, uint64_t device)
{
	bool over = session_is_over(daemon_self->session->fd);
	int status = 0;
	int place;
	pid_t child;

	if (!mount_exists())
		return;
	child = fork();
	if (!child) {
		close_from(0);
		place = find_own_mount(mountpoint, device, over);
		_exit(place >= 0 && !mount_detach(place, mountpoint, MNT_FORCE));
	}
	for (int ms = 0; child > 0 && ms < ABORT_MS; ms++) {
		if (waitpid(child, &status, WNOHANG))
			break;
		usleep(1000);
	}
	if (child < 0 || status)
		log_warn("cannot unmount %s", mountpoint);
	if (daemon_self->mount->made_directory)
		rmdir(mountpoint);
}
