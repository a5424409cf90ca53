// SPDX-License-Identifier: GPL-2.0
/*
 * What a driver does besides plain calls, each as a peer: one-way calls, objects, handles, calls
 * back, files, deaths and opens. The commands, and which of them share a system call, are those of
 * libbinder.
 */
#include "bench/fail.h"
#include "bench/peer.h"
#include "bench/registry.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define NR_DEATHS 64	/* of a process that ends; bench/vm/run divides by it */
#define OBJECTS_FROM 0x100000	/* the objects that replies carry: not those of the registry */

/* What a call tells the server to do. */
enum { HELLO = 1, ONE_WAY, NEW_OBJECT, OWN_OBJECT, CALL_BACK, FILE_DESCRIPTOR };

struct connection {
	struct wire wire;
	struct binder_transaction_data request;
	struct flat_binder_object object;	/* in the request */
};

struct server {
	struct wire wire;
	uint32_t client;	/* a handle of the client's object */
	uint64_t nr_objects;	/* that were sent */
};

static struct binder_transaction_data message_of(uint32_t code,
						 const struct flat_binder_object *objects,
						 size_t nr)
{
	static binder_size_t offsets[NR_DEATHS];

	for (size_t i = 0; i < nr; i++)
		offsets[i] = i * sizeof(*objects);
	return (struct binder_transaction_data){
		.code = code,
		.flags = code == ONE_WAY ? TF_ONE_WAY : 0,
		.data_size = nr * sizeof(*objects),
		.offsets_size = nr * sizeof(*offsets),
		.data.ptr.buffer = (uintptr_t)objects,
		.data.ptr.offsets = (uintptr_t)offsets,
	};
}

static struct flat_binder_object own_object(uint64_t number)
{
	return (struct flat_binder_object){
		.hdr.type = BINDER_TYPE_BINDER,
		.flags = 0x7f | FLAT_BINDER_FLAG_ACCEPTS_FDS,
		.binder = number,
		.cookie = number,
	};
}

/* The only object of a received call or reply. */
static const struct flat_binder_object *object_in(const struct binder_transaction_data *got,
						  uint32_t type)
{
	const struct flat_binder_object *object = (const void *)(uintptr_t)got->data.ptr.buffer;

	if (got->data_size != sizeof(*object) || object->hdr.type != type)
		fail("received no object of type 0x%x", type);
	return object;
}

static void *memory(size_t bytes)
{
	void *new = calloc(1, bytes);

	if (!new)
		fail("no memory");
	return new;
}

/* ---- the server --------------------------------------------------------------------------- */

static void call_client(struct server *server, uint32_t code)
{
	struct binder_transaction_data message = message_of(code, NULL, 0), answer;

	message.target.handle = server->client;
	if (code == ONE_WAY) {
		/* The next read sends it. */
		wire_put(&server->wire, BC_TRANSACTION, &message);
	} else {
		wire_call(&server->wire, &message, &answer);
		wire_free(&server->wire, &answer);
	}
}

static void serve_call(struct server *server, const struct binder_transaction_data *got)
{
	struct flat_binder_object object = own_object(OBJECTS_FROM + server->nr_objects);
	struct binder_transaction_data reply = message_of(0, NULL, 0);
	struct wire *wire = &server->wire;

	if (got->code == HELLO) {
		server->client = object_in(got, BINDER_TYPE_HANDLE)->handle;
		wire_put(wire, BC_ACQUIRE, &server->client);
	} else if (got->code == NEW_OBJECT) {
		reply = message_of(0, &object, 1);
		server->nr_objects++;
	} else if (got->code == OWN_OBJECT) {
		object_in(got, BINDER_TYPE_BINDER);
	} else if (got->code == FILE_DESCRIPTOR) {
		if (close((int)object_in(got, BINDER_TYPE_FD)->handle))
			fail_errno("a received file");
	}
	wire_free(wire, got);
	if (got->code == ONE_WAY || got->code == CALL_BACK)
		call_client(server, got->code);
	if (got->code != ONE_WAY)
		wire_reply(wire, &reply);
}

static void operations_serve(void *state, const struct cell *cell, int pair)
{
	struct binder_transaction_data got;
	struct server server = { 0 };

	wire_open(&server.wire, cell->address, 0);
	registry_publish(&server.wire, (uint64_t)pair);
	wire_put(&server.wire, BC_ENTER_LOOPER, NULL);
	cell_process_ready();
	for (;;) {
		wire_wait_call(&server.wire, &got);
		serve_call(&server, &got);
	}
}

/* ---- the clients ---------------------------------------------------------------------------- */

/* A client whose object the server has, and that is going to send calls of @code. */
static struct connection *introduce(const struct cell *cell, int pair, uint32_t code)
{
	struct connection *new = memory(sizeof(*new));
	struct flat_binder_object mine = own_object(1);
	struct binder_transaction_data hello = message_of(HELLO, &mine, 1), answer;

	wire_open(&new->wire, cell->address, 0);
	hello.target.handle = registry_lookup(&new->wire, (uint64_t)pair);
	wire_call(&new->wire, &hello, &answer);
	wire_free(&new->wire, &answer);
	wire_put(&new->wire, BC_ENTER_LOOPER, NULL);
	new->request = message_of(code, NULL, 0);
	new->request.target.handle = hello.target.handle;
	return new;
}

static void *oneway_connect(void *state, const struct cell *cell, int pair)
{
	return introduce(cell, pair, ONE_WAY);
}

/* There and back, because the client has to notice that the call was received. */
static void oneway_call(void *connection)
{
	struct connection *mine = connection;
	struct binder_transaction_data got;

	wire_put(&mine->wire, BC_TRANSACTION, &mine->request);
	wire_wait_call(&mine->wire, &got);
	wire_free(&mine->wire, &got);
}

static void *object_connect(void *state, const struct cell *cell, int pair)
{
	return introduce(cell, pair, NEW_OBJECT);
}

/* The object's last references are released with the next call. */
static void object_call(void *connection)
{
	static const uint32_t take[] = { BC_INCREFS, BC_ACQUIRE }, drop[] = { BC_RELEASE,
									      BC_DECREFS };
	struct connection *mine = connection;
	struct binder_transaction_data answer;
	uint32_t handle;

	wire_call(&mine->wire, &mine->request, &answer);
	handle = object_in(&answer, BINDER_TYPE_HANDLE)->handle;
	for (int i = 0; i < 2; i++)
		wire_put(&mine->wire, take[i], &handle);
	wire_free(&mine->wire, &answer);
	for (int i = 0; i < 2; i++)
		wire_put(&mine->wire, drop[i], &handle);
}

/* Each call of @mine carries an object of @type. */
static struct connection *add_object(struct connection *mine, uint32_t type, uint32_t handle)
{
	uint32_t server = mine->request.target.handle;

	mine->object.hdr.type = type;
	mine->object.handle = handle;
	mine->request = message_of(mine->request.code, &mine->object, 1);
	mine->request.target.handle = server;
	return mine;
}

/* The server gets a handle of its own object back. */
static void *handle_connect(void *state, const struct cell *cell, int pair)
{
	struct connection *new = introduce(cell, pair, OWN_OBJECT);

	return add_object(new, BINDER_TYPE_HANDLE, new->request.target.handle);
}

static void *file_connect(void *state, const struct cell *cell, int pair)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail_errno("/dev/null");
	return add_object(introduce(cell, pair, FILE_DESCRIPTOR), BINDER_TYPE_FD, (uint32_t)fd);
}

static void plain_call(void *connection)
{
	struct connection *mine = connection;
	struct binder_transaction_data answer;

	wire_call(&mine->wire, &mine->request, &answer);
	wire_free(&mine->wire, &answer);
}

static void *nested_connect(void *state, const struct cell *cell, int pair)
{
	return introduce(cell, pair, CALL_BACK);
}

static void nested_call(void *connection)
{
	struct binder_transaction_data got, reply = message_of(0, NULL, 0);
	struct connection *mine = connection;

	wire_put(&mine->wire, BC_TRANSACTION, &mine->request);
	wire_wait_call(&mine->wire, &got);
	wire_free(&mine->wire, &got);
	wire_reply(&mine->wire, &reply);
	wire_wait_reply(&mine->wire, &got);
	wire_free(&mine->wire, &got);
}

#define CALL_PEER(name_, call_)                                                               \
	{                                                                                     \
		.name = #name_, .needs_address = true, .has_no_payload = true,                \
		.assist = registry_assist, .serve = operations_serve,                         \
		.connect = name_##_connect, .call = call_,                                    \
	}

const struct peer peer_oneway = CALL_PEER(oneway, oneway_call);
const struct peer peer_object = CALL_PEER(object, object_call);
const struct peer peer_handle = CALL_PEER(handle, plain_call);
const struct peer peer_nested = CALL_PEER(nested, nested_call);
const struct peer peer_file = CALL_PEER(file, plain_call);

/* ---- deaths and opens ----------------------------------------------------------------------- */

/* The owner of the objects is another open of the same process, which is all that a driver sees. */
struct mourner {
	struct wire wire, owner;
	const char *device;
	uint64_t number;	/* in the registry */
	uint32_t handles[NR_DEATHS];
};

static void *deaths_connect(void *state, const struct cell *cell, int pair)
{
	struct mourner *new = memory(sizeof(*new));

	new->device = cell->address;
	new->number = (uint64_t)pair;
	wire_open(&new->wire, new->device, 0);
	registry_publish(&new->wire, new->number);
	wire_put(&new->wire, BC_ENTER_LOOPER, NULL);
	return new;
}

static void send_objects(struct mourner *mine)
{
	struct flat_binder_object objects[NR_DEATHS];
	struct binder_transaction_data message = message_of(ONE_WAY, objects, NR_DEATHS);

	for (uint64_t i = 0; i < NR_DEATHS; i++)
		objects[i] = own_object(OBJECTS_FROM + i);
	wire_open(&mine->owner, mine->device, 0);
	message.target.handle = registry_lookup(&mine->owner, mine->number);
	wire_put(&mine->owner, BC_TRANSACTION, &message);
	wire_write(&mine->owner);
}

static void deaths_before_call(void *connection)
{
	struct mourner *mine = connection;
	const struct flat_binder_object *objects;
	struct binder_transaction_data got;

	send_objects(mine);
	wire_wait_call(&mine->wire, &got);
	objects = (const void *)(uintptr_t)got.data.ptr.buffer;
	if (got.data_size != NR_DEATHS * sizeof(*objects))
		fail("received %llu bytes of objects", got.data_size);
	for (int i = 0; i < NR_DEATHS; i++) {
		mine->handles[i] = objects[i].handle;
		wire_put(&mine->wire, BC_INCREFS, &mine->handles[i]);
		wire_put(&mine->wire, BC_ACQUIRE, &mine->handles[i]);
		wire_write(&mine->wire);
	}
	wire_free(&mine->wire, &got);
	wire_write(&mine->wire);
}

static void put_notice(struct mourner *mine, uint32_t command, uint64_t number)
{
	struct binder_handle_cookie argument = { mine->handles[number], number };

	wire_put(&mine->wire, command, &argument);
	wire_write(&mine->wire);
}

static void bury(struct mourner *mine, uint64_t number)
{
	put_notice(mine, BC_CLEAR_DEATH_NOTIFICATION, number);
	wire_put(&mine->wire, BC_DEAD_BINDER_DONE, &number);
	wire_put(&mine->wire, BC_RELEASE, &mine->handles[number]);
	wire_put(&mine->wire, BC_DECREFS, &mine->handles[number]);
}

static void deaths_call(void *connection)
{
	struct mourner *mine = connection;
	struct returned item;

	for (uint64_t i = 0; i < NR_DEATHS; i++)
		put_notice(mine, BC_REQUEST_DEATH_NOTIFICATION, i);
	wire_close(&mine->owner);
	for (int left = NR_DEATHS; left;) {
		wire_next(&mine->wire, &item);
		if (item.cmd == BR_DEAD_BINDER)
			bury(mine, item.cookie);
		else if (item.cmd == BR_CLEAR_DEATH_NOTIFICATION_DONE)
			left--;
		else
			fail("unexpected return 0x%x", item.cmd);
	}
}

const struct peer peer_deaths = {
	.name = "deaths",
	.needs_address = true,
	.has_no_payload = true,
	.assist = registry_assist,
	.connect = deaths_connect,
	.before_call = deaths_before_call,
	.call = deaths_call,
};

struct opener {
	struct wire wire;
	const char *device;
};

static void *open_connect(void *state, const struct cell *cell, int pair)
{
	struct opener *new = memory(sizeof(*new));

	new->device = cell->address;
	return new;
}

static void open_call(void *connection)
{
	struct opener *mine = connection;

	wire_open(&mine->wire, mine->device, 0);
	wire_close(&mine->wire);
}

const struct peer peer_open = {
	.name = "open",
	.needs_address = true,
	.has_no_payload = true,
	.connect = open_connect,
	.call = open_call,
};
