// SPDX-License-Identifier: GPL-2.0
/* Opening a device file and mapping it. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "test.h"

#define MIB (1024 * 1024)

static struct client *unmapped(void)
{
	return client_open((struct client_options){ .no_map = true });
}

TEST(device_call_round_trip, "A call reaches the context manager and its reply comes back.")
{
	struct client *manager = manager_new(), *client = client_new();

	round_trip(client, 0, manager);
	expect_nothing(client);
	expect_nothing(manager);
}

TEST(device_version_is_8, "BINDER_VERSION returns protocol version 8, without a mapping.")
{
	struct binder_version version = { 0 };

	EXPECT_OK(client_ioctl(unmapped(), BINDER_VERSION, &version));
	EXPECT_EQ(version.protocol_version, 8);
}

TEST(device_opens_are_separate, "Two opens by one process are two binder processes.")
{
	struct client *manager = manager_new(), *server = client_new();
	struct client *client = client_again(server);
	const struct returned *got;

	give(server, manager, 0x10, 0x20, 0);
	got = call_received(client, 0, manager, .code = 1);
	answer_with(manager, got, .objects = { OBJ_HANDLE(1) });
	got = expect_sent(client, BR_REPLY);
	EXPECT_EQ(object_at(got, 0)->hdr.type, BINDER_TYPE_HANDLE);
	round_trip(client, object_at(got, 0)->flat.handle, server);
}

TEST(device_mmap_writable_is_refused,
     "A writable mapping is refused with EPERM.",
     "mmap_write_refused")
{
	struct client *client = unmapped();

	EXPECT_EQ(client_mmap(client, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0), -EPERM);
	EXPECT(client_mmap(client, MAP_SIZE, PROT_READ, MAP_PRIVATE, 0) > 0);
}

static void try_mprotect(void *arg)
{
	struct client *client = arg;

	EXPECT(mprotect(client->port->map, client->port->map_bytes, PROT_READ | PROT_WRITE) == -1);
	EXPECT_EQ(errno, EACCES);
}

TEST(device_mprotect_writable_is_refused, "A mapping cannot be made writable later (EACCES).",
     "kernel mmap_write_refused")
{
	struct client *client = client_new();

	client_run(client, try_mprotect, client);
}

TEST(device_mmap_twice_is_busy,
     "A second mapping of the same open file is refused with EBUSY.",
     "mmap_once")
{
	struct client *client = client_new();

	EXPECT_EQ(client_mmap(client, MAP_SIZE, PROT_READ, MAP_PRIVATE, 0), -EBUSY);
}

static void drop_map(void *arg)
{
	struct client *client = arg;

	EXPECT_EQ(munmap(client->port->map, client->port->map_bytes), 0);
}

TEST(device_mmap_after_munmap_is_busy,
     "A file that was mapped once cannot be mapped again (EBUSY).",
     "mmap_once")
{
	struct client *client = client_new();

	client_run(client, drop_map, client);
	EXPECT_EQ(client_mmap(client, MAP_SIZE, PROT_READ, MAP_PRIVATE, 0), -EBUSY);
}

struct child_map {
	int fd;
	int err;
};

static void map_in_child(void *arg)
{
	struct child_map *map = arg;
	pid_t pid = fork();

	if (pid == 0) {
		void *at = mmap(NULL, MAP_SIZE, PROT_READ, MAP_PRIVATE, map->fd, 0);

		map->err = at == MAP_FAILED ? errno : 0;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

TEST(device_mmap_by_other_process_is_refused,
     "Only the process that opened the file may map it (EINVAL).",
     "mmap_owner_only")
{
	struct client *client = unmapped();
	struct child_map *map = shared_alloc(sizeof(*map));

	map->fd = client->port->fd;
	client_run(client, map_in_child, map);
	EXPECT_EQ(map->err, EINVAL);
}

TEST(device_mmap_is_capped_at_4_mib,
     "A larger mapping succeeds, but only its first 4 MiB carry buffers.")
{
	struct client *manager = manager_open((struct client_options){ .map_size = 8 * MIB });
	struct client *client = client_new();
	const struct returned *got = call_received(client, 0, manager, .size = 4 * MIB - 65536);

	EXPECT_EQ(got->txn.data_size, 4 * MIB - 65536);
	complete_call(manager, got, client);
	call_fails(client, 0, .size = 4 * MIB + 4096);
}

TEST(device_mmap_size_bounds_buffers, "A payload larger than the receiver's mapping fails.")
{
	struct client *manager = manager_open((struct client_options){ .map_size = 64 * 1024 });
	struct client *client = client_new();

	call_fails(client, 0, .size = 68 * 1024);
	round_trip(client, 0, manager);
}

TEST(device_mmap_shared_works, "A shared mapping serves as well as a private one.",
     "mmap_shared")
{
	struct client *manager = manager_open((struct client_options){ .no_map = true });
	struct client *client = client_new();
	const struct returned *got;

	manager->port->map = (uint8_t *)client_mmap(manager, MAP_SIZE, PROT_READ, MAP_SHARED, 0);
	manager->port->map_bytes = MAP_SIZE;
	EXPECT((long)manager->port->map > 0);
	got = call_received(client, 0, manager, .data = "shared", .size = 7);
	EXPECT(got->data && !strcmp((char *)got->data, "shared"));
}

TEST(device_call_to_unmapped_server_fails,
     "A call to a process without a mapping fails as to a dead one.")
{
	struct client *manager = manager_open((struct client_options){ .no_map = true });
	struct client *client = client_new();

	call(client, 0);
	expect(client, BR_DEAD_REPLY);
	expect_nothing(manager);
}

TEST(device_unmapped_client_gets_no_reply,
     "A reply to a caller without a mapping fails as to a dead one, at the caller only.")
{
	struct client *manager = manager_new(), *client = unmapped();

	answer(manager, call_received(client, 0, manager));
	expect_sent(client, BR_DEAD_REPLY);
	expect_nothing(client);
	expect_nothing(manager);
}

TEST(device_unmapped_client_may_call_oneway, "A caller needs no mapping for one-way calls.")
{
	struct client *manager = manager_new(), *client = unmapped();

	call_oneway(client, 0, .code = 5);
	expect(client, BR_TRANSACTION_COMPLETE);
	EXPECT_EQ(expect(manager, BR_TRANSACTION)->txn.code, 5);
}

static void map_something_else(void *arg)
{
	const struct port *port = ((struct client *)arg)->port;

	EXPECT(mmap(port->map, port->map_bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == port->map);
}

TEST(device_call_after_munmap_fails,
     "A process that has unmapped its buffer space gets no more calls, nor does what is mapped "
     "there instead.", "munmap_noticed")
{
	struct client *manager = manager_new(), *client = client_new();

	round_trip(client, 0, manager);
	client_run(manager, drop_map, manager);
	call(client, 0);
	expect(client, BR_DEAD_REPLY);
	client_run(manager, map_something_else, manager);
	call(client, 0, .data = "payload", .size = 7);
	expect(client, BR_DEAD_REPLY);
	EXPECT_EQ(*(uint64_t *)read_memory(manager, (uintptr_t)manager->port->map, 8), 0);
}

static void read_and_write(void *arg)
{
	struct client *client = arg;
	char byte = 0;

	EXPECT_EQ(read(client->port->fd, &byte, 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(write(client->port->fd, &byte, 1), -1);
	EXPECT_EQ(errno, EINVAL);
}

TEST(device_read_and_write_are_refused,
     "read(2) and write(2) on a device fail with EINVAL.",
     "read_refused")
{
	struct client *client = client_new();

	client_run(client, read_and_write, client);
}

struct probe {
	struct client *client;
	size_t offset;
	char byte;
};

static void read_map(void *arg)
{
	struct probe *probe = arg;

	probe->byte = *(volatile char *)(probe->client->port->map + probe->offset);
}

TEST(device_payload_is_private_to_its_open,
     "What one process receives is not visible in another process's mapping.")
{
	struct client *manager = manager_new(), *client = client_new();
	struct probe *probe = shared_alloc(sizeof(*probe));
	const struct returned *got;

	answer(manager, call_received(client, 0, manager, .size = 64));
	expect_sent(client, BR_REPLY); /* kept, so that its page stays readable */
	call(client_thread(client), 0, .data = "secret", .size = 7);
	got = expect(manager, BR_TRANSACTION);
	probe->client = client;
	probe->offset = got->txn.data.ptr.buffer - (uintptr_t)manager->port->map;
	client_run(client, read_map, probe);
	EXPECT(probe->byte != 's');
	probe->client = manager;
	client_run(manager, read_map, probe);
	EXPECT_EQ(probe->byte, 's');
}

struct inherited {
	int fd;
	int ret;
	struct binder_version *version;
};

static void ioctl_in_child(void *arg)
{
	struct inherited *file = arg;
	pid_t pid = fork();

	if (pid == 0) {
		file->ret = ioctl(file->fd, BINDER_VERSION, file->version);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

TEST(device_fork_child_shares_the_file,
     "A forked child can use the inherited file, whose owner stays the same.", "kernel")
{
	struct client *manager = manager_new(), *client = client_new();
	struct inherited *file = shared_alloc(sizeof(*file));

	file->fd = manager->port->fd;
	file->version = shared_alloc(sizeof(*file->version));
	client_run(manager, ioctl_in_child, file);
	EXPECT_EQ(file->ret, 0);
	EXPECT_EQ(file->version->protocol_version, 8);
	round_trip(client, 0, manager);
}

struct inherited_map {
	const uint8_t *at;
	int status;
};

static void touch_in_child(void *arg)
{
	struct inherited_map *map = arg;
	pid_t pid = fork();

	if (pid == 0)
		_exit(*(volatile const uint8_t *)map->at == 0x5a);
	waitpid(pid, &map->status, 0);
}

TEST(device_fork_child_does_not_inherit_the_map,
     "A mapping is not copied to a forked child.",
     "mmap_owner_only")
{
	struct client *manager = manager_new(), *client = client_new();
	struct inherited_map *map = shared_alloc(sizeof(*map));
	const struct returned *got = call_received(client, 0, manager, .data = "Z", .size = 1);

	map->at = (const uint8_t *)(uintptr_t)got->txn.data.ptr.buffer;
	client_run(manager, touch_in_child, map);
	EXPECT(WIFSIGNALED(map->status));
	EXPECT_EQ(WTERMSIG(map->status), 11);
	complete_call(manager, got, client);
}

static void dup_and_close(void *arg)
{
	struct client *client = arg;
	int fd = dup(client->port->fd);

	EXPECT(fd >= 0);
	close(client->port->fd);
	client->port->fd = fd;
}

TEST(device_dup_keeps_the_process,
     "A duplicate of the file is the same binder process, even after the first is closed.",
     "kernel")
{
	struct client *manager = manager_new(), *client = client_new();

	client_run(manager, dup_and_close, manager);
	round_trip(client, 0, manager);
}
