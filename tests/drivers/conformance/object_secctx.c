// SPDX-License-Identifier: GPL-2.0
/*
 * Security contexts: an object that was sent with FLAT_BINDER_FLAG_TXN_SECURITY_CTX gets calls as
 * BR_TRANSACTION_SEC_CTX, with its caller's context behind the payload. Where no security module
 * has contexts the C driver fails such calls; back ends with secctx_optional deliver an empty
 * string, so that service managers work.
 */
#include <string.h>

#include "spaces.h"
#include "expect.h"
#include "test.h"

static struct client *asking_server(struct client *manager)
{
	struct client *server = client_new();

	give(server, manager, 0x10, 0x20, FLAT_BINDER_FLAG_TXN_SECURITY_CTX);
	return server;
}

TEST(secctx_is_delivered,
     "A node that requests it gets its caller's security context with a call.", "security_context")
{
	struct client *manager = manager_new(), *server = asking_server(manager);
	const struct returned *got;

	call(manager, 1, .code = 3, .data = "payload", .size = 7);
	got = expect(server, BR_TRANSACTION_SEC_CTX);
	EXPECT_EQ(got->txn.code, 3);
	EXPECT_EQ(got->txn.data_size, 7);
	EXPECT_EQ(got->txn.target.ptr, 0x10);
	EXPECT(!memcmp(got->data, "payload", 7));
	EXPECT(got->secctx != NULL);
	EXPECT(strlen(got->secctx) > 0);
	complete_call(server, got, manager);
}

TEST(secctx_stands_behind_the_buffers,
     "The context follows payload, offsets and scatter-gather buffers.", "security_context")
{
	struct client *manager = manager_new(), *server = asking_server(manager);
	const struct returned *got;

	call(manager, 1, .sg = true, .data = "a header", .size = 8,
	     .objects = { OBJ_PTR(shared_copy("sixteen bytes...", 16), 16) });
	got = expect(server, BR_TRANSACTION_SEC_CTX);
	EXPECT_EQ(object_at(got, 0)->ptr.buffer, got->txn.data.ptr.offsets + 8);
	EXPECT_EQ(got->with_secctx.secctx, object_at(got, 0)->ptr.buffer + 16);
	EXPECT(strlen(got->secctx) > 0);
}

/* A call of handle 0, whose node requests contexts, arrives with that of a domain. */
static void expect_context(struct client *client, struct client *manager, const char *domain)
{
	const struct returned *got;

	call(client, 0);
	got = expect(manager, BR_TRANSACTION_SEC_CTX);
	if (!got->secctx || strcmp(got->secctx, context_of(domain)))
		FAIL("the context is \"%s\", expected \"%s\"", got->secctx ? got->secctx : "",
		     context_of(domain));
	complete_call(manager, got, client);
}

static struct client *asking_manager(void)
{
	struct flat_binder_object object = {
		.hdr = { BINDER_TYPE_BINDER },
		.flags = FLAT_BINDER_FLAG_TXN_SECURITY_CTX,
	};
	struct client *manager = client_new();

	EXPECT_OK(ask_to_manage(manager, BINDER_SET_CONTEXT_MGR_EXT, &object));
	return manager;
}

TEST(secctx_tells_callers_apart, "Each call has the context of its own caller.",
     "security_context selinux_domains")
{
	struct client *manager = asking_manager();
	struct client *app = client_in("app");
	struct client *other = client_in("other");

	expect_context(app, manager, "app");
	expect_context(other, manager, "other");
	expect_context(app, manager, "app");
}

TEST(secctx_is_that_of_the_open,
     "The context is that which the process had as it opened the device; another open has its own.",
     "security_context selinux_domains")
{
	struct client *manager = asking_manager();
	struct client *client = client_in("app");
	struct client *later;

	expect_context(client, manager, "app");
	enter_domain(client, "other");
	expect_context(client, manager, "app");
	later = client_again(client);
	expect_context(later, manager, "other");
	expect_context(client, manager, "app");
}

TEST(secctx_empty_where_there_is_none,
     "Without a security module that has contexts, a node that requests one gets an empty one.",
     "secctx_optional")
{
	struct client *manager = manager_new(), *server = asking_server(manager);
	const struct returned *got;

	call(manager, 1, .code = 4, .data = "payload", .size = 7);
	got = expect(server, BR_TRANSACTION_SEC_CTX);
	EXPECT_EQ(got->txn.code, 4);
	EXPECT_EQ(got->txn.data_size, 7);
	EXPECT(got->secctx != NULL);
	EXPECT_EQ(strlen(got->secctx), 0);
	complete_call(server, got, manager);
}

TEST(secctx_of_manager,
     "A context manager requests contexts by BINDER_SET_CONTEXT_MGR_EXT.", "secctx_optional")
{
	struct client *manager = asking_manager(), *client = client_new();

	call(client, 0);
	complete_call(manager, expect(manager, BR_TRANSACTION_SEC_CTX), client);
}

TEST(secctx_in_oneway, "One-way calls carry the context, too.", "secctx_optional")
{
	struct client *manager = manager_new(), *server = asking_server(manager);

	call_oneway(manager, 1, .code = 9);
	EXPECT_EQ(expect(server, BR_TRANSACTION_SEC_CTX)->txn.code, 9);
}

TEST(secctx_only_if_asked, "A node that does not request a context gets plain BR_TRANSACTION.")
{
	struct client *manager = manager_new(), *server = client_new();

	give(server, manager, 0x10, 0x20, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	round_trip(manager, 1, server);
}

TEST(secctx_first_flags_hold,
     "The request of a node is that of its first transfer; later flags change nothing.")
{
	struct client *manager = manager_new(), *server = client_new();

	give(server, manager, 0x10, 0x20, 0);
	give(server, manager, 0x10, 0x20, FLAT_BINDER_FLAG_TXN_SECURITY_CTX);
	round_trip(manager, 1, server);
}
