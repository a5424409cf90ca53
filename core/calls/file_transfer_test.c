// SPDX-License-Identifier: GPL-2.0
/* Files in transactions, passed and refused. */
#include "pair.h"
#include "check.h"

static struct binder_fd_object fd_object(u32 fd)
{
	return (struct binder_fd_object){ .hdr.type = BINDER_TYPE_FD, .fd = fd };
}

/* A pair whose context manager accepts files. */
static void begin_with_files(struct pair *p)
{
	pair_make(p);
	pair_start(p, FLAT_BINDER_FLAG_ACCEPTS_FDS);
}

/* The client opens a file and sends it. */
static u32 send_file(struct pair *p)
{
	u32 fd = sim_file_open(p->client->sim);
	const struct binder_fd_object object = fd_object(fd);
	struct world_call call = pair_object_call(&object, sizeof(object), TF_ACCEPT_FDS);

	world_call(p->c, &call);
	CHECK(world_write_read(p->c, true) == BINDER_WOULD_BLOCK);
	world_run(&p->w);
	return fd;
}

TEST(files_are_passed_in_the_next_call)
{
	struct binder_transaction_data tr;
	struct binder_fd_object object;
	struct pair p;
	u32 fd;

	begin_with_files(&p);
	p.server->sim->fds_later = true;
	fd = send_file(&p);
	REQUIRE(pair_expect(p.s, BR_TRANSACTION, &tr));
	REQUIRE(!sim_read(p.server->sim, &object, tr.data.ptr.buffer, sizeof(object)));
	CHECK(object.hdr.type == BINDER_TYPE_FD);
	CHECK(sim_file_id(p.server->sim, object.fd) == sim_file_id(p.client->sim, fd));
	world_free_buffer(p.s, &tr);
	pair_reply(&p, "");
	CHECK(sim_file_id(p.server->sim, object.fd)); /* the receiver closes it */
	CHECK(pair_end(&p));
}

/*
 * An error that the caller has not read stops its commands. Its read delivers the error and finds a
 * reply with a file, so that the call is made again, which must not execute the commands.
 */
TEST(files_that_are_installed_later_leave_the_commands_behind_an_error)
{
	const struct world_call bad = { .handle = 55 };
	const struct world_call call = { .flags = TF_ACCEPT_FDS };
	struct binder_fd_object object;
	struct binder_transaction_data tr;
	struct world_call reply = pair_object_call(&object, sizeof(object), 0);
	struct pair p;

	begin_with_files(&p);
	p.client->sim->fds_later = true;
	world_call(p.c, &call);
	world_call(p.c, &bad);
	CHECK(world_write_read(p.c, false) == 0);
	world_run(&p.w);
	CHECK(pair_expect(p.s, BR_TRANSACTION, &tr));
	object = fd_object(sim_file_open(p.server->sim));
	world_free_buffer(p.s, &tr);
	world_reply(p.s, &reply);
	CHECK(world_write_read(p.s, false) == 0);

	world_call(p.c, &bad);
	CHECK(world_write_read(p.c, true) == 0);
	CHECK(p.c->arg.bwr.write_consumed == 0);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.c, BR_FAILED_REPLY, NULL));
	CHECK(pair_expect(p.c, BR_REPLY, NULL));
	CHECK(p.c->in_len == 0);
	CHECK(pair_end(&p));
}

TEST(files_for_a_dying_process)
{
	struct pair p;

	begin_with_files(&p);
	p.server->sim->dying = true;
	send_file(&p);
	CHECK(pair_expect(p.c, BR_TRANSACTION_COMPLETE, NULL));
	CHECK(pair_expect(p.c, BR_DEAD_REPLY, NULL));
	CHECK(pair_end(&p));
}

/* The test host fails with -EBUSY here. */
TEST(files_that_the_host_cannot_take_in_time_fail_as_for_lack_of_memory)
{
	struct binder_fd_object object = fd_object(0);
	struct world_call call = pair_object_call(&object, sizeof(object), TF_ACCEPT_FDS);
	struct binder_extended_error ee = { 0 };
	struct pair p;

	begin_with_files(&p);
	sim_file_open(p.client->sim);
	world_call(p.c, &call);
	sim_arm(SIM_FILE_GET, 1);
	CHECK(world_write_read(p.c, true) == 0);
	sim_arm(SIM_ANY, 0);
	CHECK(pair_expect(p.c, BR_FAILED_REPLY, NULL));
	CHECK(world_ioctl(p.c, BINDER_GET_EXTENDED_ERROR, &ee) == 0);
	CHECK(ee.command == BR_FAILED_REPLY && ee.param == -ENOMEM);
	CHECK(pair_end(&p));
}
