// SPDX-License-Identifier: GPL-2.0
/* binderfs: adding and removing devices with binder-control, and the other files there. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "expect.h"
#include "test.h"

/* The path of a name in the device directory (valid until the fourth call after this one). */
static const char *path_of(const char *name)
{
	static char paths[4][512];
	static unsigned int turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_device_dir(), name);
	return path;
}

static int add_device(const char *name, struct binderfs_device *device)
{
	int fd = open(path_of("binder-control"), O_RDONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	memset(device, 0, sizeof(*device));
	memcpy(device->name, name, strnlen(name, sizeof(device->name)));
	ret = ioctl(fd, BINDER_CTL_ADD, device) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int remove_file(const char *name)
{
	return unlink(path_of(name)) ? -errno : 0;
}

/* A device for this test only. */
static void add(const char *name)
{
	struct binderfs_device device;

	remove_file(name);
	EXPECT_OK(add_device(name, &device));
}

TEST(binderfs_add_makes_a_device,
     "BINDER_CTL_ADD makes a device that works.", "binderfs device_names")
{
	struct client *manager, *client;

	add("conf-add");
	manager = manager_open((struct client_options){ .device = path_of("conf-add") });
	client = client_open((struct client_options){ .device = path_of("conf-add") });
	round_trip(client, 0, manager);
	EXPECT_OK(remove_file("conf-add"));
}

TEST(binderfs_add_returns_the_number,
     "The new device is returned by name, and by device number.", "binderfs device_names")
{
	struct binderfs_device device;
	struct stat st;

	remove_file("conf-number");
	EXPECT_OK(add_device("conf-number", &device));
	EXPECT(!strcmp(device.name, "conf-number"));
	EXPECT_EQ(stat(path_of("conf-number"), &st), 0);
	EXPECT(S_ISCHR(st.st_mode) ? st.st_rdev == makedev(device.major, device.minor) :
				     S_ISREG(st.st_mode));
	EXPECT_OK(remove_file("conf-number"));
}

TEST(binderfs_add_twice_is_eexist,
     "Adding a name that exists already fails with EEXIST.", "binderfs device_names")
{
	struct binderfs_device device;

	add("conf-twice");
	EXPECT_ERR(add_device("conf-twice", &device), EEXIST);
	EXPECT_ERR(add_device("features", &device), EEXIST);
	EXPECT_ERR(add_device("binder-control", &device), EEXIST);
	EXPECT_ERR(add_device("binder", &device), EEXIST);
	EXPECT_OK(remove_file("conf-twice"));
}

TEST(binderfs_add_bad_names, "Names that no file may have are refused with EACCES.", "binderfs")
{
	struct binderfs_device device;

	EXPECT_ERR(add_device("", &device), EACCES);
	EXPECT_ERR(add_device(".", &device), EACCES);
	EXPECT_ERR(add_device("..", &device), EACCES);
	EXPECT_ERR(add_device("a/b", &device), EACCES);
	EXPECT_ERR(add_device("/", &device), EACCES);
	EXPECT_ERR(add_device("../escape", &device), EACCES);
}

TEST(binderfs_add_long_names,
     "A name may have 255 bytes; byte 256 is taken for the end of the name.",
     "binderfs device_names")
{
	struct binderfs_device device;
	char name[300];

	memset(name, 'x', sizeof(name));
	name[256] = '\0';
	EXPECT_OK(add_device(name, &device));
	name[255] = '\0';
	EXPECT_ERR(add_device(name, &device), EEXIST);
	EXPECT_EQ(access(path_of(name), F_OK), 0);
	EXPECT_OK(remove_file(name));
}

TEST(binderfs_add_odd_names, "Any byte that a file name may have is allowed.",
     "binderfs device_names")
{
	static const char *const names[] = { "with space", "...", "\x01\xff", "%s%n", "-rf" };
	struct binderfs_device device;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		remove_file(names[i]);
		EXPECT_OK(add_device(names[i], &device));
		EXPECT_EQ(access(path_of(names[i]), F_OK), 0);
		EXPECT_OK(remove_file(names[i]));
	}
}

TEST(binderfs_devices_are_separate,
     "Each device has a context manager of its own.", "binderfs device_names")
{
	struct client *first, *second, *client;

	add("conf-one");
	add("conf-two");
	first = manager_open((struct client_options){ .device = path_of("conf-one") });
	second = manager_open((struct client_options){ .device = path_of("conf-two") });
	client = client_open((struct client_options){ .device = path_of("conf-two") });
	EXPECT_EQ(call_received(client, 0, second, .code = 4)->txn.code, 4);
	expect_nothing(first);
	EXPECT_OK(remove_file("conf-one"));
	EXPECT_OK(remove_file("conf-two"));
}

TEST(binderfs_removed_device_serves_on,
     "A removed device goes on working for the processes that have it open.",
     "binderfs device_names")
{
	struct client *manager, *client;
	const char *path = path_of("conf-gone");

	add("conf-gone");
	manager = manager_open((struct client_options){ .device = path });
	client = client_open((struct client_options){ .device = path });
	EXPECT_OK(remove_file("conf-gone"));
	EXPECT_EQ(open(path, O_RDWR), -1);
	EXPECT_EQ(errno, ENOENT);
	round_trip(client, 0, manager);
}

TEST(binderfs_name_can_be_used_again,
     "A removed name may be added again, as a new device.", "binderfs device_names")
{
	struct client *former, *manager;

	add("conf-again");
	former = manager_open((struct client_options){ .device = path_of("conf-again") });
	EXPECT_OK(remove_file("conf-again"));
	add("conf-again");
	manager = manager_open((struct client_options){ .device = path_of("conf-again") });
	round_trip(client_open((struct client_options){ .device = path_of("conf-again") }), 0,
		   manager);
	expect_nothing(former);
	EXPECT_OK(remove_file("conf-again"));
}

TEST(binderfs_control_cannot_be_removed,
     "binder-control cannot be removed (EPERM).", "binderfs device_names")
{
	struct binderfs_device device;

	EXPECT_ERR(remove_file("binder-control"), EPERM);
	EXPECT_ERR(add_device("binder-control", &device), EEXIST);
}

TEST(binderfs_control_cannot_be_renamed,
     "binder-control cannot be renamed or replaced (EPERM).", "binderfs device_names")
{
	add("conf-rename");
	EXPECT_EQ(rename(path_of("binder-control"), path_of("conf-control")), -1);
	EXPECT_EQ(errno, EPERM);
	EXPECT_EQ(rename(path_of("conf-rename"), path_of("binder-control")), -1);
	EXPECT_EQ(errno, EPERM);
	EXPECT_OK(remove_file("conf-rename"));
}

TEST(binderfs_device_can_be_renamed,
     "A device can be renamed and goes on working.", "binderfs device_names")
{
	struct client *manager, *client;

	add("conf-old");
	manager = manager_open((struct client_options){ .device = path_of("conf-old") });
	remove_file("conf-new");
	EXPECT_EQ(rename(path_of("conf-old"), path_of("conf-new")), 0);
	client = client_open((struct client_options){ .device = path_of("conf-new") });
	round_trip(client, 0, manager);
	EXPECT_OK(remove_file("conf-new"));
}

TEST(binderfs_nothing_else_can_be_made, "Files, directories and links cannot be made.",
     "binderfs device_names")
{
	EXPECT_EQ(open(path_of("conf-file"), O_RDWR | O_CREAT | O_CLOEXEC, 0600), -1);
	EXPECT(errno == EPERM || errno == EACCES);
	EXPECT_EQ(access(path_of("conf-file"), F_OK), -1);
	EXPECT_EQ(mkdir(path_of("conf-dir"), 0700), -1);
	EXPECT_EQ(errno, EPERM);
	EXPECT_EQ(symlink("x", path_of("conf-link")), -1);
	EXPECT_EQ(errno, EPERM);
	EXPECT_EQ(mknod(path_of("conf-node"), S_IFREG | 0600, 0), -1);
	EXPECT(errno == EPERM || errno == EACCES);
}

TEST(binderfs_mode_can_be_changed,
     "Mode and owner of a device can be changed.", "binderfs device_names")
{
	struct stat st;

	if (geteuid())
		test_skip("needs root");
	add("conf-mode");
	EXPECT_EQ(chmod(path_of("conf-mode"), 0666), 0);
	EXPECT_EQ(chown(path_of("conf-mode"), 1000, 1001), 0);
	EXPECT_EQ(stat(path_of("conf-mode"), &st), 0);
	EXPECT_EQ(st.st_mode & 07777, 0666);
	EXPECT_EQ(st.st_uid, 1000);
	EXPECT_EQ(st.st_gid, 1001);
	EXPECT_OK(remove_file("conf-mode"));
}

TEST(binderfs_control_other_ioctls,
     "An ioctl on binder-control other than BINDER_CTL_ADD fails with EINVAL.", "binderfs")
{
	int fd = open(path_of("binder-control"), O_RDWR | O_CLOEXEC);
	struct binder_version version;

	EXPECT(fd >= 0);
	EXPECT_EQ(ioctl(fd, BINDER_VERSION, &version), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(ioctl(fd, BINDER_CTL_ADD, 8), -1);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_EQ(read(fd, &version, 4), -1);
	EXPECT_EQ(errno, EINVAL);
	close(fd);
}

TEST(binderfs_device_knows_no_add, "A device does not support BINDER_CTL_ADD.", "binderfs")
{
	struct client *client = client_new();
	struct binderfs_device device = { .name = "conf-no" };

	EXPECT_ERR(client_ioctl(client, BINDER_CTL_ADD, &device), EINVAL);
}

TEST(binderfs_features,
     "Each file in features/ contains 1 for what the driver supports, and cannot be written.",
     "binderfs")
{
	static const char *const names[] = { "features/oneway_spam_detection",
					     "features/extended_error",
					     "features/freeze_notification" };
	char text[8];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int fd = open(path_of(names[i]), O_RDONLY | O_CLOEXEC);
		struct stat st;

		EXPECT(fd >= 0);
		EXPECT_EQ(read(fd, text, sizeof(text)), 2);
		EXPECT(!memcmp(text, "1\n", 2));
		EXPECT_EQ(read(fd, text, sizeof(text)), 0);
		EXPECT_EQ(fstat(fd, &st), 0);
		EXPECT_EQ(st.st_mode, S_IFREG | 0444);
		close(fd);
	}
}
