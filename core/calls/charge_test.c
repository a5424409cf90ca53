// SPDX-License-Identifier: GPL-2.0
/* To which open memory is charged, and what happens when its owner may have no more. */
#include "calls/transaction.h"
#include "entities/node.h"
#include "entities/ref.h"
#include "pair.h"
#include "check.h"

/* Sends an object, and has the client read all that comes of it. */
static u32 send_object(struct pair *p, u64 ptr)
{
	u32 handle = pair_send_object(p, ptr, 1);

	world_poll_read(p->c);
	while (world_next(p->c, NULL))
		;
	return handle;
}

TEST(charge_nodes_to_the_sender_and_references_to_the_receiver)
{
	size_t client, server;
	struct pair p;

	pair_begin(&p);
	REQUIRE(send_object(&p, 0x10)); /* allocates what is kept for later calls */
	client = p.client->sim->charged;
	server = p.server->sim->charged;
	REQUIRE(send_object(&p, 0x20));
	/* It does not free the buffer of the reply. */
	CHECK(p.client->sim->charged ==
	      client + sizeof(struct binder_node) + sizeof(struct binder_buffer));
	CHECK(p.server->sim->charged == server + sizeof(struct binder_ref));
	world_kill(p.server);
	CHECK(p.server->sim->charged == 0);
	CHECK(pair_end(&p));
}

TEST(charge_of_a_call_to_the_sender)
{
	size_t queued;
	struct pair p;

	pair_begin(&p);
	CHECK(pair_call(&p, 0, 1, TF_ONE_WAY, "x") == 0);
	CHECK(pair_call(&p, 0, 2, TF_ONE_WAY, "y") == 0);
	world_poll_read(p.c);
	queued = p.client->sim->charged;
	world_kill(p.server);
	CHECK(p.client->sim->charged == queued - 2 * sizeof(struct binder_transaction));
	CHECK(pair_end(&p));
}

static void send_in_vain(struct pair *p)
{
	struct flat_binder_object object = pair_binder(0x30, 1, 0);
	struct world_call call = pair_object_call(&object, sizeof(object), 0);
	struct binder_extended_error ee;

	world_call(p->c, &call);
	CHECK(world_write_read(p->c, true) == 0);
	CHECK(pair_expect(p->c, BR_FAILED_REPLY, NULL));
	CHECK(world_ioctl(p->c, BINDER_GET_EXTENDED_ERROR, &ee) == 0);
	CHECK(ee.command == BR_FAILED_REPLY && ee.param == -ENOMEM);
}

/* The next call succeeds once there is memory again. */
static void check_limit(struct pair *p, struct world_proc *poor)
{
	size_t before;

	REQUIRE(send_object(p, 0x10));
	before = poor->sim->charged;
	poor->sim->max_charged = before + sizeof(u64);
	send_in_vain(p);
	CHECK(poor->sim->charged <= before);
	poor->sim->max_charged = 0;
	CHECK(send_object(p, 0x30) == 2);
	CHECK(pair_end(p));
}

TEST(charge_limit_of_the_sender)
{
	struct pair p;

	pair_begin(&p);
	check_limit(&p, p.client);
}

TEST(charge_limit_of_the_receiver)
{
	struct pair p;

	pair_begin(&p);
	check_limit(&p, p.server);
}
