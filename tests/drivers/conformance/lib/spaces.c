// SPDX-License-Identifier: GPL-2.0
/*
 * The director, which is root in the parent namespaces, writes the map of ids. Mounts are gone
 * with the last process of the namespace.
 */
#include <fcntl.h>
#include <linux/android/binderfs.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spaces.h"
#include "test.h"

struct step {
	int flags, err;
	unsigned long mount_flags;
	int user_fd, mount_fd;
	uint32_t id;
	char path[64], text[320];
	struct seen seen;
};

static struct step *run(struct actor *actor, void (*fn)(void *arg), struct step step)
{
	struct step *shared = shared_copy(&step, sizeof(step));

	actor_run(actor, fn, shared);
	return shared;
}

static void do_unshare(void *arg)
{
	struct step *step = arg;

	step->err = unshare(step->flags) ? -errno : 0;
}

static void do_become(void *arg)
{
	const struct step *step = arg;

	EXPECT_EQ(setresgid(step->id, step->id, step->id), 0);
	EXPECT_EQ(setresuid(step->id, step->id, step->id), 0);
}

static void do_prepare(void *arg)
{
	(void)arg;
	EXPECT_EQ(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	EXPECT_EQ(mount("none", "/mnt", "tmpfs", 0, "mode=755"), 0);
}

static void do_join(void *arg)
{
	const struct step *step = arg;

	/* A process that is in that user namespace already may not enter it again. */
	if (setns(step->user_fd, CLONE_NEWUSER))
		EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(setns(step->mount_fd, CLONE_NEWNS), 0);
	do_become(arg);
}

static void write_map(const struct actor *actor, const char *file, struct id_map map)
{
	char path[64];
	FILE *out;

	snprintf(path, sizeof(path), "/proc/%d/%s", actor_pid(actor), file);
	out = fopen(path, "w");
	EXPECT(out);
	EXPECT(fprintf(out, "%u %u %u\n", map.inside, map.outside, map.count) > 0);
	EXPECT_EQ(fclose(out), 0);
}

struct actor *actor_apart(struct id_map map)
{
	struct actor *actor = actor_process();
	int flags = CLONE_NEWNS | (map.count ? CLONE_NEWUSER : 0);

	if (geteuid() || run(actor, do_unshare, (struct step){ .flags = flags })->err)
		test_skip("needs namespaces");
	if (map.count) {
		write_map(actor, "uid_map", map);
		write_map(actor, "gid_map", map);
		run(actor, do_become, (struct step){ .id = map.inside });
	}
	run(actor, do_prepare, (struct step){ 0 });
	return actor;
}

struct actor *actor_beside(const struct actor *of, uint32_t uid)
{
	struct actor *actor;
	struct step step = { .id = uid };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", actor_pid(of));
	step.user_fd = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", actor_pid(of));
	step.mount_fd = open(path, O_RDONLY | O_CLOEXEC);
	EXPECT(step.user_fd >= 0 && step.mount_fd >= 0);
	actor = actor_process();
	run(actor, do_join, step);
	close(step.user_fd);
	close(step.mount_fd);
	return actor;
}

static void do_mount(void *arg)
{
	struct step *step = arg;

	if (!(step->mount_flags & MS_REMOUNT))
		EXPECT_EQ(mkdir(step->path, 0755), 0);
	step->err = mount("binder", step->path, "binder", step->mount_flags, step->text) ? -errno :
											  0;
}

static int mount_step(struct actor *by, const char *name, const char *options, unsigned long flags)
{
	struct step step = { .mount_flags = flags };

	snprintf(step.path, sizeof(step.path), "/mnt/%s", name);
	snprintf(step.text, sizeof(step.text), "%s", options);
	return run(by, do_mount, step)->err;
}

int mount_binderfs(struct actor *by, const char *name, const char *options)
{
	return mount_step(by, name, options, 0);
}

int remount_binderfs(struct actor *by, const char *name, const char *options)
{
	return mount_step(by, name, options, MS_REMOUNT);
}

const char *mounted_device(struct actor *by, const char *name, const char *options)
{
	char path[64];

	EXPECT_OK(mount_binderfs(by, name, options));
	snprintf(path, sizeof(path), "/mnt/%s/binder", name);
	return shared_copy(path, sizeof(path));
}

static void do_add(void *arg)
{
	struct step *step = arg;
	struct binderfs_device device = { 0 };
	int fd = open(step->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		step->err = -errno;
		return;
	}
	memcpy(device.name, step->text, strnlen(step->text, BINDERFS_MAX_NAME));
	step->err = ioctl(fd, BINDER_CTL_ADD, &device) ? -errno : 0;
	close(fd);
}

int add_device(struct actor *by, const char *name, const char *device)
{
	struct step step = { 0 };

	snprintf(step.path, sizeof(step.path), "/mnt/%s/binder-control", name);
	snprintf(step.text, sizeof(step.text), "%s", device);
	return run(by, do_add, step)->err;
}

static void do_look(void *arg)
{
	struct step *step = arg;
	struct stat st = { 0 };

	step->seen.err = stat(step->text, &st) ? -errno : 0;
	step->seen.mode = st.st_mode;
	step->seen.uid = st.st_uid;
	step->seen.gid = st.st_gid;
}

struct seen look_at(struct actor *by, const char *path)
{
	struct step step = { 0 };

	snprintf(step.text, sizeof(step.text), "%s", path);
	return run(by, do_look, step)->seen;
}

/* ---- SELinux domains ---- */

#define CONTEXT_SIZE 64

const char *context_of(const char *domain)
{
	char *context = shared_alloc(CONTEXT_SIZE);

	snprintf(context, CONTEXT_SIZE, "u:r:%s:s0", domain);
	return context;
}

static void do_enter(void *arg)
{
	const char *context = arg;
	int fd = open("/proc/thread-self/attr/current", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, context, strlen(context)) < 0)
		FAIL("entering %s: %s", context, test_errno_name(errno));
	close(fd);
}

void enter_domain(struct client *client, const char *name)
{
	client_run(client, do_enter, (void *)context_of(name));
}

struct client *client_in(const char *domain)
{
	struct actor *by = actor_process();

	actor_run(by, do_enter, (void *)context_of(domain));
	return client_open((struct client_options){ .by = by });
}
