// SPDX-License-Identifier: GPL-2.0
/* Mounting binderfs: its options, and mounts in a user namespace. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "expect.h"
#include "spaces.h"
#include "test.h"

/* Users 0 to 9 of a namespace, which are 100000 to 100009 here. */
static const struct id_map tenants = { .inside = 0, .outside = 100000, .count = 10 };
static const struct id_map no_ids = { 0 };

static void expect_looks(struct actor *by, const char *path, uint32_t mode, uint32_t owner)
{
	struct seen seen = look_at(by, path);

	EXPECT_OK(seen.err);
	EXPECT_EQ(seen.mode, mode);
	EXPECT_EQ(seen.uid, owner);
	EXPECT_EQ(seen.gid, owner);
}

TEST(binderfs_mount_is_apart,
     "Each mount is a separate binderfs with separate context managers.", "binderfs_mount")
{
	struct actor *actor = actor_apart(no_ids);
	const char *one = mounted_device(actor, "one", ""), *two = mounted_device(actor, "two", "");
	struct client *manager = manager_open((struct client_options){ .device = one,
								       .by = actor });
	struct client *other = manager_open((struct client_options){
		.device = two, .by = actor_beside(actor, 0) });
	struct client *client = client_open((struct client_options){
		.device = two, .by = actor_beside(actor, 0) });

	round_trip(client, 0, other);
	expect_nothing(manager);
	EXPECT_OK(add_device(actor, "one", "new"));
	EXPECT_OK(look_at(actor, "/mnt/one/new").err);
	EXPECT_ERR(look_at(actor, "/mnt/two/new").err, ENOENT);
}

TEST(binderfs_mount_bad_options,
     "An unknown option, or one with an invalid value, fails with EINVAL.", "binderfs_mount")
{
	static const char *const bad[] = { "max=-1", "max=x", "max=1048577", "max", "stats=local",
					   "stats", "mode=0666", "max=99999999999" };
	struct actor *actor = actor_apart(no_ids);
	char name[8];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(name, sizeof(name), "bad%zu", i);
		if (mount_binderfs(actor, name, bad[i]) != -EINVAL)
			FAIL("%s is not refused with EINVAL", bad[i]);
	}
	EXPECT_OK(mount_binderfs(actor, "good", "max=1048576,stats=global"));
}

static void do_remove(void *arg)
{
	EXPECT_EQ(unlink(arg), 0);
}

TEST(binderfs_mount_max,
     "max bounds the number of devices (ENOSPC); a removed one makes room; a remount changes it.",
     "binderfs_mount")
{
	struct actor *actor = actor_apart(no_ids);

	EXPECT_OK(mount_binderfs(actor, "fs", "max=4"));
	EXPECT_OK(add_device(actor, "fs", "fourth"));
	EXPECT_ERR(add_device(actor, "fs", "fifth"), ENOSPC);
	actor_run(actor, do_remove, shared_copy("/mnt/fs/fourth", sizeof("/mnt/fs/fourth")));
	EXPECT_OK(add_device(actor, "fs", "fourth"));
	EXPECT_OK(remount_binderfs(actor, "fs", "max=5"));
	EXPECT_OK(add_device(actor, "fs", "fifth"));
	EXPECT_ERR(add_device(actor, "fs", "sixth"), ENOSPC);
}

TEST(binderfs_mount_max_below_the_first,
     "A mount that has no room for its first devices fails with ENOSPC.",
     "binderfs_mount")
{
	struct actor *actor = actor_apart(no_ids);

	EXPECT_ERR(mount_binderfs(actor, "fs", "max=2"), ENOSPC);
}

TEST(binderfs_mount_stats,
     "binder_logs exists if stats=global was given; a remount cannot change it.", "binderfs_mount")
{
	struct actor *actor = actor_apart(no_ids);

	EXPECT_OK(mount_binderfs(actor, "plain", ""));
	EXPECT_ERR(look_at(actor, "/mnt/plain/binder_logs").err, ENOENT);
	EXPECT_ERR(remount_binderfs(actor, "plain", "stats=global"), EINVAL);
	EXPECT_OK(mount_binderfs(actor, "stats", "stats=global"));
	expect_looks(actor, "/mnt/stats/binder_logs/stats", S_IFREG | 0444, 0);
	EXPECT_ERR(remount_binderfs(actor, "stats", ""), EINVAL);
}

static void do_detach(void *arg)
{
	(void)arg;
	EXPECT_EQ(umount2("/mnt/fs", MNT_DETACH), 0);
}

TEST(binderfs_mount_is_kept_by_its_users,
     "Open devices go on working when the mount is detached.", "binderfs_mount")
{
	struct actor *actor = actor_apart(no_ids);
	const char *device = mounted_device(actor, "fs", "");
	struct client *manager = manager_open((struct client_options){
		.device = device, .by = actor_beside(actor, 0) });
	struct client *client = client_open((struct client_options){
		.device = device, .by = actor_beside(actor, 0) });

	actor_run(actor, do_detach, NULL);
	EXPECT_ERR(look_at(actor, device).err, ENOENT);
	round_trip(client, 0, manager);
}

/* A call of @client, which the manager sees as user @uid. */
static void call_as(uint32_t uid, struct client *client, struct client *manager)
{
	const struct returned *got = call_received(client, 0, manager, .code = 1);

	EXPECT_EQ(got->txn.sender_euid, uid);
	complete_call(manager, got, client);
}

TEST(userns_mount_works,
     "Root of a user namespace can mount a binderfs, whose devices work for its users.",
     "binderfs_mount")
{
	struct actor *root = actor_apart(tenants);
	const char *device = mounted_device(root, "fs", "");
	struct client *manager = manager_open((struct client_options){ .device = device,
								       .by = root });
	struct client *client = client_open((struct client_options){
		.device = device, .by = actor_beside(root, 0) });

	call_as(0, client, manager);
}

TEST(userns_mount_is_owned_by_its_root,
     "All files of a namespace's binderfs belong to root of the namespace.", "binderfs_mount")
{
	static const struct {
		const char *path;
		uint32_t mode;
	} files[] = {
		{ "/mnt/fs", S_IFDIR | 0755 },
		{ "/mnt/fs/binder", S_IFCHR | 0600 },
		{ "/mnt/fs/binder-control", S_IFCHR | 0600 },
		{ "/mnt/fs/features", S_IFDIR | 0755 },
		{ "/mnt/fs/features/extended_error", S_IFREG | 0444 },
	};
	struct actor *root = actor_apart(tenants);
	char path[128];

	EXPECT_OK(mount_binderfs(root, "fs", ""));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		expect_looks(root, files[i].path, files[i].mode, 0);
		snprintf(path, sizeof(path), "/proc/%d/root%s", actor_pid(root), files[i].path);
		expect_looks(actor_process(), path, files[i].mode, tenants.outside);
	}
}

TEST(userns_without_root,
     "Where the namespace has no user 0, its binderfs belongs to root of the machine.",
     "binderfs_mount")
{
	struct actor *actor = actor_apart((struct id_map){ 5, 100000, 1 });

	EXPECT_OK(mount_binderfs(actor, "fs", ""));
	expect_looks(actor, "/mnt/fs", S_IFDIR | 0755, 65534);
	EXPECT_ERR(add_device(actor, "fs", "new"), EACCES);
}

TEST(userns_control_adds,
     "Devices that binder-control adds in a user namespace belong to root of the namespace.",
     "binderfs_mount")
{
	struct actor *root = actor_apart(tenants);
	struct client *manager, *client;

	EXPECT_OK(mount_binderfs(root, "fs", ""));
	EXPECT_OK(add_device(root, "fs", "new"));
	EXPECT_ERR(add_device(root, "fs", "new"), EEXIST);
	expect_looks(root, "/mnt/fs/new", S_IFCHR | 0600, 0);
	manager = manager_open((struct client_options){ .device = "/mnt/fs/new", .by = root });
	client = client_open((struct client_options){ .device = "/mnt/fs/new",
						      .by = actor_beside(root, 0) });
	round_trip(client, 0, manager);
}

TEST(userns_mount_is_isolated,
     "The devices of a namespace's binderfs are separate from those of the first mount.",
     "binderfs_mount")
{
	struct client *manager = manager_new();
	struct actor *root = actor_apart(tenants);
	const char *device = mounted_device(root, "fs", "");
	struct client *client = client_open((struct client_options){ .device = device,
								     .by = root });
	char path[512];

	call(client, 0);
	expect(client, BR_DEAD_REPLY);
	expect_nothing(manager);
	EXPECT_OK(add_device(root, "fs", "conf-inside"));
	snprintf(path, sizeof(path), "%s/conf-inside", test_device_dir());
	EXPECT_EQ(access(path, F_OK), -1);
	become_manager(client);
	round_trip(client_new(), 0, manager);
}

TEST(userns_no_stats,
     "In a namespace stats=global, which covers the whole machine, fails with EPERM; max does not.",
     "binderfs_mount")
{
	struct actor *root = actor_apart(tenants);

	EXPECT_ERR(mount_binderfs(root, "stats", "stats=global"), EPERM);
	EXPECT_OK(mount_binderfs(root, "fs", "max=4"));
	EXPECT_OK(add_device(root, "fs", "fourth"));
	EXPECT_ERR(add_device(root, "fs", "fifth"), ENOSPC);
}

static void mount_and_unmount(void *arg)
{
	struct binderfs_device device = { .name = "added" };

	EXPECT_EQ(mkdir("/mnt/again", 0755), 0);
	for (int i = 0; i < 50; i++) {
		int fd;

		EXPECT_EQ(mount("binder", "/mnt/again", "binder", 0, NULL), 0);
		fd = open("/mnt/again/binder-control", O_RDONLY | O_CLOEXEC);
		EXPECT_EQ(ioctl(fd, BINDER_CTL_ADD, &device), 0);
		if (i % 2)
			EXPECT_EQ(unlink("/mnt/again/added"), 0);
		close(fd);
		EXPECT_EQ(umount("/mnt/again"), 0);
	}
}

TEST(userns_mounts_come_and_go,
     "Devices of mounts in two namespaces may be added and removed at the same time.",
     "binderfs_mount")
{
	struct actor *one = actor_apart(tenants), *other = actor_apart(tenants);

	actor_start(one, mount_and_unmount, NULL);
	actor_start(other, mount_and_unmount, NULL);
	EXPECT(actor_wait(one, STEP_TIMEOUT_MS));
	EXPECT(actor_wait(other, STEP_TIMEOUT_MS));
}

static void do_share(void *arg)
{
	EXPECT_EQ(chmod(arg, 0666), 0);
}

TEST(userns_manager_is_one_user,
     "The user of the context manager is remembered in a namespace as on the first mount.",
     "binderfs_mount")
{
	struct actor *root = actor_apart(tenants);
	char *device = shared_copy(mounted_device(root, "fs", ""), 64);
	struct client *first, *heir, *stranger;
	int zero = 0;

	actor_run(root, do_share, device);
	first = manager_open((struct client_options){ .device = device,
						      .by = actor_beside(root, 3) });
	client_kill_and_wait(first);
	stranger = client_open((struct client_options){ .device = device,
							.by = actor_beside(root, 4) });
	EXPECT_ERR(client_ioctl(stranger, BINDER_SET_CONTEXT_MGR, &zero), EPERM);
	heir = manager_open((struct client_options){ .device = device,
						     .by = actor_beside(root, 3) });
	round_trip(stranger, 0, heir);
}

TEST(userns_visitor_from_outside,
     "Root of the machine can use a namespace's device, and has user id -1 for the processes "
     "within.", "binderfs_mount")
{
	struct actor *root = actor_apart(tenants);
	const char *device = mounted_device(root, "fs", "");
	struct client *manager = manager_open((struct client_options){ .device = device,
								       .by = root });
	struct client *visitor;
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/root%s", actor_pid(root), device);
	visitor = client_open((struct client_options){ .device = path });
	call_as((uint32_t)-1, visitor, manager);
}
