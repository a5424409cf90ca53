// SPDX-License-Identifier: GPL-2.0
/*
 * What a driver does besides plain calls, each as a peer: one-way calls, objects, handles, calls
 * back, files, deaths, opens and empty calls. The commands, and which of them share a system call,
 * are those of libbinder.
 */
#include "bench/fail.h"
#include "bench/peer.h"
#include "bench/wire.h"

#include <fcntl.h>
#include <unistd.h>

/* The objects of a process that ends; `anybinder bench vm count` divides by their number. */
#define NR_DEATHS WIRE_OBJECTS
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
	struct binder_transaction_data message = wire_objects(code, objects, nr);

	message.flags = code == ONE_WAY ? TF_ONE_WAY : 0;
	return message;
}

/* ---- the server --------------------------------------------------------------------------- */

static void call_client(struct server *server, uint32_t code)
{
	struct binder_transaction_data message = message_of(code, NULL, 0), answer;

	message.target.handle = server->client;
	if (code == ONE_WAY) {
		/* The next read sends it. */
		commands_put_call(&server->wire.looper.out, &message);
	} else {
		wire_call(&server->wire, &message, &answer);
		looper_free(&server->wire.looper, &answer);
	}
}

static void serve_call(struct server *server, const struct binder_transaction_data *got)
{
	struct flat_binder_object object = wire_own_object(OBJECTS_FROM + server->nr_objects);
	struct binder_transaction_data reply = message_of(0, NULL, 0);
	struct wire *wire = &server->wire;

	if (got->code == HELLO) {
		server->client = wire_object(got, BINDER_TYPE_HANDLE)->handle;
		commands_put(&wire->looper.out, BC_ACQUIRE, &server->client);
	} else if (got->code == NEW_OBJECT) {
		reply = message_of(0, &object, 1);
		server->nr_objects++;
	} else if (got->code == OWN_OBJECT) {
		wire_object(got, BINDER_TYPE_BINDER);
	} else if (got->code == FILE_DESCRIPTOR) {
		if (close((int)wire_object(got, BINDER_TYPE_FD)->handle))
			fail_errno("a received file");
	}
	looper_free(&wire->looper, got);
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
	registry_publish(&server.wire, (uint32_t)pair);
	commands_put(&server.wire.looper.out, BC_ENTER_LOOPER, NULL);
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
	struct connection *new = new_zeroed(sizeof(*new));
	struct flat_binder_object mine = wire_own_object(1);
	struct binder_transaction_data hello = message_of(HELLO, &mine, 1), answer;

	wire_open(&new->wire, cell->address, 0);
	hello.target.handle = registry_lookup(&new->wire, (uint32_t)pair);
	wire_call(&new->wire, &hello, &answer);
	looper_free(&new->wire.looper, &answer);
	commands_put(&new->wire.looper.out, BC_ENTER_LOOPER, NULL);
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

	commands_put_call(&mine->wire.looper.out, &mine->request);
	wire_wait_call(&mine->wire, &got);
	looper_free(&mine->wire.looper, &got);
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
	handle = wire_object(&answer, BINDER_TYPE_HANDLE)->handle;
	for (int i = 0; i < 2; i++)
		commands_put(&mine->wire.looper.out, take[i], &handle);
	looper_free(&mine->wire.looper, &answer);
	for (int i = 0; i < 2; i++)
		commands_put(&mine->wire.looper.out, drop[i], &handle);
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
	looper_free(&mine->wire.looper, &answer);
}

static void *nested_connect(void *state, const struct cell *cell, int pair)
{
	return introduce(cell, pair, CALL_BACK);
}

static void nested_call(void *connection)
{
	struct binder_transaction_data got, reply = message_of(0, NULL, 0);
	struct connection *mine = connection;

	commands_put_call(&mine->wire.looper.out, &mine->request);
	wire_wait_call(&mine->wire, &got);
	looper_free(&mine->wire.looper, &got);
	wire_reply(&mine->wire, &reply);
	wire_wait_reply(&mine->wire, &got);
	looper_free(&mine->wire.looper, &got);
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
	uint32_t number;	/* in the registry */
	uint32_t handles[NR_DEATHS];
};

static void *deaths_connect(void *state, const struct cell *cell, int pair)
{
	struct mourner *new = new_zeroed(sizeof(*new));

	new->device = cell->address;
	new->number = (uint32_t)pair;
	wire_open(&new->wire, new->device, 0);
	registry_publish(&new->wire, new->number);
	commands_put(&new->wire.looper.out, BC_ENTER_LOOPER, NULL);
	return new;
}

static void send_objects(struct mourner *mine)
{
	struct flat_binder_object objects[NR_DEATHS];
	struct binder_transaction_data message;

	for (uint64_t i = 0; i < NR_DEATHS; i++)
		objects[i] = wire_own_object(OBJECTS_FROM + i);
	message = message_of(ONE_WAY, objects, NR_DEATHS);
	wire_open(&mine->owner, mine->device, 0);
	message.target.handle = registry_lookup(&mine->owner, mine->number);
	commands_put_call(&mine->owner.looper.out, &message);
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
		commands_put(&mine->wire.looper.out, BC_INCREFS, &mine->handles[i]);
		commands_put(&mine->wire.looper.out, BC_ACQUIRE, &mine->handles[i]);
		wire_write(&mine->wire);
	}
	looper_free(&mine->wire.looper, &got);
	wire_write(&mine->wire);
}

static void put_notice(struct mourner *mine, uint32_t command, uint64_t number)
{
	commands_put_notice(&mine->wire.looper.out, command, mine->handles[number], number);
	wire_write(&mine->wire);
}

static void bury(struct mourner *mine, uint64_t number)
{
	put_notice(mine, BC_CLEAR_DEATH_NOTIFICATION, number);
	commands_put(&mine->wire.looper.out, BC_DEAD_BINDER_DONE, &number);
	commands_put(&mine->wire.looper.out, BC_RELEASE, &mine->handles[number]);
	commands_put(&mine->wire.looper.out, BC_DECREFS, &mine->handles[number]);
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
	struct opener *new = new_zeroed(sizeof(*new));

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

/* ---- empty calls -------------------------------------------------------------------------- */

static void *entry_connect(void *state, const struct cell *cell, int pair)
{
	struct wire *new = new_zeroed(sizeof(*new));

	wire_open(new, cell->address, 0);
	return new;
}

/*
 * Over anybinderd this is the cost of one FUSE request and its reply without any work of binder: a
 * lower bound for a call, which is three requests. No data is moved and no server is called.
 */
static void entry_call(void *connection)
{
	struct wire *mine = connection;
	struct binder_version version;

	if (port_ioctl(&mine->port, BINDER_VERSION, &version))
		fail("BINDER_VERSION failed");
}

const struct peer peer_entry = {
	.name = "entry",
	.needs_address = true,
	.has_no_payload = true,
	.connect = entry_connect,
	.call = entry_call,
};
