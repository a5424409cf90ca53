// SPDX-License-Identifier: GPL-2.0
/*
 * A D-Bus method call through sd-bus, the fastest of the common client libraries; --address
 * chooses the bus daemon.
 *
 * Each server owns a well-known name, by which clients call it, as programs do. A payload is one
 * byte array (`ay`); an empty one is a call without arguments, the cheapest.
 */
#include "bench/fail.h"
#include "bench/peer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define OBJECT_PATH "/org/anybinder/bench"
#define INTERFACE "org.anybinder.bench"
#define MEMBER "Call"

struct server {
	void *reply;
	size_t request_bytes, reply_bytes;
};

struct connection {
	sd_bus *bus;
	char name[64];
	void *request;
	size_t request_bytes, reply_bytes;
};

static void check(int result, const char *what)
{
	if (result < 0)
		fail("%s: %s", what, strerror(-result));
}

static void name_of(char *name, size_t size, int pair)
{
	snprintf(name, size, INTERFACE ".server%d", pair);
}

static sd_bus *bus_connect(const char *address)
{
	sd_bus *bus = NULL;
	int result;

	/* a thousand that connect at once do not all get into the queue of the socket */
	do {
		sd_bus_unref(bus);
		check(sd_bus_new(&bus), "sd_bus_new");
		check(sd_bus_set_address(bus, address), "sd_bus_set_address");
		check(sd_bus_set_bus_client(bus, 1), "sd_bus_set_bus_client");
		result = sd_bus_start(bus);
	} while (result == -EAGAIN && !usleep(50000));
	check(result, address);
	return bus;
}

static void payload_append(sd_bus_message *message, const void *data, size_t size)
{
	if (size)
		check(sd_bus_message_append_array(message, 'y', data, size), "append");
}

static void payload_check(sd_bus_message *message, size_t wanted)
{
	const void *data = NULL;
	size_t size = 0;

	if (wanted)
		check(sd_bus_message_read_array(message, 'y', &data, &size), "read_array");
	if (size != wanted)
		fail("%zu bytes instead of %zu", size, wanted);
	payload_read(data, size);
}

static int handle_call(sd_bus_message *request, void *data, sd_bus_error *error)
{
	struct server *server = data;
	sd_bus_message *reply;

	if (!sd_bus_message_is_method_call(request, INTERFACE, MEMBER))
		return 0;
	payload_check(request, server->request_bytes);
	check(sd_bus_message_new_method_return(request, &reply), "new_method_return");
	payload_append(reply, server->reply, server->reply_bytes);
	check(sd_bus_send(NULL, reply, NULL), "sd_bus_send");
	sd_bus_message_unref(reply);
	return 1;
}

static void dbus_serve(void *state, const struct cell *cell, int pair)
{
	sd_bus *bus = bus_connect(cell->address);
	struct server server = {
		.reply = payload_new(cell->reply_bytes),
		.request_bytes = cell->request_bytes,
		.reply_bytes = cell->reply_bytes,
	};
	char name[64];

	name_of(name, sizeof(name), pair);
	check(sd_bus_add_object(bus, NULL, OBJECT_PATH, handle_call, &server), "add_object");
	check(sd_bus_request_name(bus, name, 0), "request_name");
	cell_process_ready();
	for (;;) {
		int done = sd_bus_process(bus, NULL);

		check(done, "sd_bus_process");
		if (!done)
			check(sd_bus_wait(bus, UINT64_MAX), "sd_bus_wait");
	}
}

static void *dbus_connect(void *state, const struct cell *cell, int pair)
{
	struct connection *new = new_zeroed(sizeof(*new));

	*new = (struct connection){
		.bus = bus_connect(cell->address),
		.request = payload_new(cell->request_bytes),
		.request_bytes = cell->request_bytes,
		.reply_bytes = cell->reply_bytes,
	};
	name_of(new->name, sizeof(new->name), pair);
	return new;
}

static void dbus_call(void *connection)
{
	struct connection *mine = connection;
	sd_bus_message *request, *reply;

	check(sd_bus_message_new_method_call(mine->bus, &request, mine->name, OBJECT_PATH,
					     INTERFACE, MEMBER), "new_method_call");
	payload_append(request, mine->request, mine->request_bytes);
	check(sd_bus_call(mine->bus, request, 0, NULL, &reply), "sd_bus_call");
	payload_check(reply, mine->reply_bytes);
	sd_bus_message_unref(request);
	sd_bus_message_unref(reply);
}

const struct peer peer_dbus = {
	.name = "dbus",
	.needs_address = true,
	.serve = dbus_serve,
	.connect = dbus_connect,
	.call = dbus_call,
};

/* Connections that wait, each with its share of all names, and with match rules. */
static void *idle_connect(void *state, const struct cell *cell, int pair)
{
	int first = (int)((long)cell->nr_objects * pair / cell->nr_pairs);
	int end = (int)((long)cell->nr_objects * (pair + 1) / cell->nr_pairs);
	sd_bus *bus = bus_connect(cell->address);
	char text[128];

	for (int i = first; i < end; i++) {
		name_of(text, sizeof(text), i);
		check(sd_bus_request_name(bus, text, 0), "request_name");
	}
	for (int i = 0; i < cell->nr_references; i++) {
		snprintf(text, sizeof(text), "type='signal',interface='" INTERFACE ".i%d'", i);
		check(sd_bus_add_match(bus, NULL, text, NULL, NULL), "add_match");
	}
	check(sd_bus_get_unique_name(bus, &(const char *){ 0 }), "the connection");
	cell_process_ready();
	pause();
	return NULL;
}

const struct peer peer_dbus_idle = {
	.name = "dbus-idle",
	.needs_address = true,
	.has_no_payload = true,
	.connect = idle_connect,
};
