// SPDX-License-Identifier: GPL-2.0
/*
 * dbus-broker without its launcher, which needs a systemd journal and a user session.
 *
 * The broker itself opens no sockets and reads no configuration: a controller, connected to it by a
 * socket pair, passes it a listening socket and a policy. This one allows everything.
 */
#include "bench/fail.h"
#include "bench/peer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define PRIORITY 1

/* Policy of one user: may connect; may own any name; may send and receive anything. */
#define BATCH "bta(btbs)a(btssssuutt)a(btssssuutt)"
/* Batches by uid, batches by uid and gid ranges, SELinux names, AppArmor on, kind of bus. */
#define POLICY "(a(u(" BATCH "))a(buu(" BATCH "))a(ss)bs)"

static void check(int result, const char *what)
{
	if (result < 0)
		fail("dbus-broker: %s: %s", what, strerror(-result));
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (strlen(path) >= sizeof(address.sun_path))
		fail("%s: path too long", path);
	strcpy(address.sun_path, path);
	if (fd < 0 || bind(fd, (void *)&address, sizeof(address)) || listen(fd, 256))
		fail_errno("%s", path);
	return fd;
}

static void append_policy(sd_bus_message *call)
{
	/* Any name (a prefix of length 0); any message with 0 to 253 descriptors. */
	check(sd_bus_message_append(call, "v", POLICY,
				    1, UINT32_MAX,
				    true, (uint64_t)PRIORITY,
				    1, true, (uint64_t)PRIORITY, true, "",
				    1, true, (uint64_t)PRIORITY, "", "", "", "", 0, 0,
				    (uint64_t)0, (uint64_t)253,
				    1, true, (uint64_t)PRIORITY, "", "", "", "", 0, 0,
				    (uint64_t)0, (uint64_t)253,
				    0, 0, false, "session"), "policy");
}

static void control(int fd, const char *path)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *call;
	sd_bus *bus;
	int result;

	check(sd_bus_new(&bus), "sd_bus_new");
	check(sd_bus_set_fd(bus, fd, fd), "sd_bus_set_fd");
	check(sd_bus_start(bus), "sd_bus_start");
	check(sd_bus_message_new_method_call(bus, &call, NULL, "/org/bus1/DBus/Broker",
					     "org.bus1.DBus.Broker", "AddListener"), "call");
	check(sd_bus_message_append(call, "oh", "/org/bus1/DBus/Listener/0", listen_at(path)),
	      "listener");
	append_policy(call);
	result = sd_bus_call(bus, call, 0, &error, NULL);
	if (result < 0)
		fail("dbus-broker: AddListener: %s", error.message ?: strerror(-result));
	for (;;) {
		result = sd_bus_process(bus, NULL);
		check(result, "sd_bus_process");
		if (!result)
			check(sd_bus_wait(bus, UINT64_MAX), "sd_bus_wait");
	}
}

/* No measurement: becomes dbus-broker, whose bus on a new unix socket is open to all users. */
static void *broker_prepare(const struct cell *cell)
{
	char number[16];
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		fail_errno("socketpair");
	/* The parent becomes the broker, because its parent knows it by this process id. */
	pid = cell_fork();
	if (!pid) {
		close(ends[0]);
		control(ends[1], cell->address);
	}
	close(ends[1]);
	snprintf(number, sizeof(number), "%d", ends[0]);
	execlp("dbus-broker", "dbus-broker", "--controller", number,
	       "--machine-id", "00000000000000000000000000000001",
	       "--max-bytes", "1000000000", "--max-fds", "10000",
	       "--max-matches", "100000", "--max-objects", "1000000", NULL);
	fail_errno("dbus-broker");
}

const struct peer peer_broker = {
	.name = "broker",
	.needs_address = true,
	.prepare = broker_prepare,
};
