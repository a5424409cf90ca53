// SPDX-License-Identifier: GPL-2.0
/*
 * Failure notices: failed transactions are reported over generic netlink, family `binder`
 * (Documentation/netlink/specs/binder.yaml). The director listens; notices about processes outside
 * the test are ignored.
 */
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "expect.h"
#include "test.h"

/* <linux/android/binder_netlink.h>, which systems before 6.18 do not have. */
enum {
	A_ERROR = 1,
	A_CONTEXT,
	A_FROM_PID,
	A_FROM_TID,
	A_TO_PID,
	A_TO_TID,
	A_IS_REPLY,
	A_FLAGS,
	A_CODE,
	A_DATA_SIZE,
	NR_ATTRIBUTES,
};
#define CMD_REPORT 1
#define NONE	   0 /* an attribute that must not be there */

struct family {
	uint16_t id;
	uint32_t version;
	uint32_t group; /* `report` */
};

struct listener {
	int fd;
	struct family family;
};

/* Attributes by number; NULL: not there. */
struct message {
	char bytes[8192];
	const struct nlattr *attributes[32];
};

static void sort_attributes(const void *bytes, size_t size, const struct nlattr **attributes,
			    size_t nr)
{
	const struct nlattr *at = bytes;

	memset(attributes, 0, nr * sizeof(*attributes));
	while (size >= sizeof(*at) && at->nla_len >= sizeof(*at) && at->nla_len <= size) {
		size_t step = NLA_ALIGN(at->nla_len);

		if ((at->nla_type & NLA_TYPE_MASK) < nr)
			attributes[at->nla_type & NLA_TYPE_MASK] = at;
		if (step >= size)
			break;
		size -= step;
		at = (const void *)((const char *)at + step);
	}
}

static const void *value_of(const struct nlattr *at)
{
	return at + 1;
}

static size_t size_of(const struct nlattr *at)
{
	return at->nla_len - sizeof(*at);
}

static uint32_t u32_of(const struct nlattr *at)
{
	uint32_t value;

	EXPECT(at);
	EXPECT_EQ(size_of(at), sizeof(value));
	memcpy(&value, value_of(at), sizeof(value));
	return value;
}

/* Reads one message; its command, or -errno. */
static int receive(int fd, int flags, struct message *message)
{
	const struct nlmsghdr *header = (const void *)message->bytes;
	const struct genlmsghdr *genl = NLMSG_DATA(header);
	ssize_t size = recv(fd, message->bytes, sizeof(message->bytes), flags);

	if (size < 0)
		return -errno;
	EXPECT(NLMSG_OK(header, (size_t)size));
	if (header->nlmsg_type == NLMSG_ERROR)
		return ((const struct nlmsgerr *)NLMSG_DATA(header))->error ?: -ENOMSG;
	sort_attributes((const char *)genl + GENL_HDRLEN, NLMSG_PAYLOAD(header, GENL_HDRLEN),
			message->attributes, 32);
	return genl->cmd;
}

/* The number of the group `report` among the groups of a family. */
static uint32_t report_group(const struct nlattr *groups)
{
	const struct nlattr *list[8], *group[CTRL_ATTR_MCAST_GRP_MAX + 1];

	EXPECT(groups);
	sort_attributes(value_of(groups), size_of(groups), list, 8);
	for (int i = 0; i < 8; i++) {
		if (!list[i])
			continue;
		sort_attributes(value_of(list[i]), size_of(list[i]), group,
				CTRL_ATTR_MCAST_GRP_MAX + 1);
		EXPECT(group[CTRL_ATTR_MCAST_GRP_NAME]);
		if (!strcmp(value_of(group[CTRL_ATTR_MCAST_GRP_NAME]), "report"))
			return u32_of(group[CTRL_ATTR_MCAST_GRP_ID]);
	}
	FAIL("the family has no group `report`");
}

/* A driver beside another has a family of its own, which the caller of the suite then names. */
static struct family find_family(int fd)
{
	const char *name = getenv("BINDER_NETLINK_FAMILY") ?: "binder";
	struct {
		struct nlmsghdr header;
		struct genlmsghdr genl;
		struct nlattr attribute;
		char name[16];
	} request = {
		.header = { 0, GENL_ID_CTRL, NLM_F_REQUEST, 1, 0 },
		.genl = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
		.attribute = { NLA_HDRLEN + strlen(name) + 1, CTRL_ATTR_FAMILY_NAME },
	};
	struct message answer;
	struct family family;

	EXPECT(strlen(name) < sizeof(request.name));
	strcpy(request.name, name);
	request.header.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN + NLA_ALIGN(request.attribute.nla_len));
	EXPECT_EQ(send(fd, &request, request.header.nlmsg_len, 0), request.header.nlmsg_len);
	EXPECT_EQ(receive(fd, 0, &answer), CTRL_CMD_NEWFAMILY);
	EXPECT(answer.attributes[CTRL_ATTR_FAMILY_ID]);
	memcpy(&family.id, value_of(answer.attributes[CTRL_ATTR_FAMILY_ID]), sizeof(family.id));
	family.version = u32_of(answer.attributes[CTRL_ATTR_VERSION]);
	family.group = report_group(answer.attributes[CTRL_ATTR_MCAST_GROUPS]);
	return family;
}

static struct listener listen_to_reports(void)
{
	const struct sockaddr_nl self = { .nl_family = AF_NETLINK };
	struct listener l = { .fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC) };

	EXPECT(l.fd >= 0);
	EXPECT_EQ(bind(l.fd, (const struct sockaddr *)&self, sizeof(self)), 0);
	l.family = find_family(l.fd);
	EXPECT_EQ(setsockopt(l.fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &l.family.group,
			     sizeof(l.family.group)), 0);
	return l;
}

/* The next notice about a transaction that this client sent. */
static struct message *next_report(const struct listener *l, const struct client *from)
{
	static struct message message;
	struct pollfd pollfd = { .fd = l->fd, .events = POLLIN };

	do {
		EXPECT_EQ(poll(&pollfd, 1, EXPECT_TIMEOUT_MS), 1);
		EXPECT_EQ(receive(l->fd, 0, &message), CMD_REPORT);
		EXPECT_EQ(((const struct nlmsghdr *)message.bytes)->nlmsg_type, l->family.id);
	} while (u32_of(message.attributes[A_FROM_PID]) != (uint32_t)actor_pid(from->by));
	return &message;
}

/* What a notice must contain. */
struct report {
	uint32_t error;
	const struct client *from, *to; /* NULL: not contained */
	bool to_thread, is_reply;
	uint32_t code, flags, data_size;
};

#define expect_report(listener, ...) expect_report_at(listener, (struct report){ __VA_ARGS__ })
static void expect_report_at(const struct listener *l, struct report want)
{
	const char *device = strrchr(test_device(), '/') + 1;
	const struct nlattr **got = next_report(l, want.from)->attributes;

	EXPECT_EQ(u32_of(got[A_ERROR]), want.error);
	EXPECT(got[A_CONTEXT]);
	EXPECT_EQ(size_of(got[A_CONTEXT]), strlen(device) + 1);
	EXPECT(!strcmp(value_of(got[A_CONTEXT]), device));
	EXPECT_EQ(u32_of(got[A_FROM_TID]), actor_tid(want.from->by));
	EXPECT_EQ(got[A_TO_PID] ? u32_of(got[A_TO_PID]) : NONE,
		  want.to ? actor_pid(want.to->by) : NONE);
	EXPECT_EQ(got[A_TO_TID] ? u32_of(got[A_TO_TID]) : NONE,
		  want.to_thread ? actor_tid(want.to->by) : NONE);
	EXPECT_EQ(got[A_IS_REPLY] != NULL, want.is_reply);
	EXPECT_EQ(u32_of(got[A_FLAGS]), want.flags);
	EXPECT_EQ(u32_of(got[A_CODE]), want.code);
	EXPECT_EQ(u32_of(got[A_DATA_SIZE]), want.data_size);
}

TEST(report_family,
     "Family `binder` of generic netlink, version 1, has a group `report`.",
     "transaction_report")
{
	struct listener l = listen_to_reports();

	EXPECT(l.family.id >= NLMSG_MIN_TYPE);
	EXPECT_EQ(l.family.version, 1);
}

TEST(report_feature, "features/ lists the failure notices.", "binderfs transaction_report")
{
	char path[512], text[4] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/features/transaction_report", test_device_dir());
	file = fopen(path, "r");
	EXPECT(file);
	EXPECT(fgets(text, sizeof(text), file));
	EXPECT(!strcmp(text, "1\n"));
	fclose(file);
}

TEST(report_of_a_call_to_no_node,
     "A call to an unknown handle is reported without a target.", "transaction_report")
{
	struct listener l = listen_to_reports();
	struct client *client = client_new();

	call_fails(client, 7, .code = 12, .flags = TF_ACCEPT_FDS, .data = "abc", .size = 3);
	expect_report(&l, BR_FAILED_REPLY, client, .code = 12, .flags = TF_ACCEPT_FDS,
		      .data_size = 3);
}

TEST(report_of_a_call_to_the_dead,
     "A call to a dead process is reported without a target, as is a one-way call.",
     "transaction_report")
{
	struct listener l = listen_to_reports();
	struct client *manager = manager_new(), *server = client_new();
	uint32_t handle = give(server, manager, 0x10, 0x20, 0);

	client_kill_and_wait(server);
	call(manager, handle, .code = 3);
	expect(manager, BR_DEAD_REPLY);
	expect_report(&l, BR_DEAD_REPLY, manager, .code = 3);
	call_oneway(manager, handle, .code = 4);
	expect(manager, BR_DEAD_REPLY);
	expect_report(&l, BR_DEAD_REPLY, manager, .code = 4, .flags = TF_ONE_WAY);
}

TEST(report_of_a_call_that_is_too_big,
     "A call that does not fit its receiver's space is reported with that process and the size.",
     "transaction_report")
{
	struct listener l = listen_to_reports();
	struct client *manager = manager_open((struct client_options){ .map_size = page_size() });
	struct client *client = client_new();
	size_t size = page_size() + 8;

	call_fails(client, 0, .code = 5, .size = size);
	expect_report(&l, BR_FAILED_REPLY, client, manager, .code = 5, .data_size = size);
}

TEST(report_of_a_failed_reply,
     "A reply that fails is reported as one, with the thread that waits for it.",
     "transaction_report")
{
	struct listener l = listen_to_reports();
	struct client *manager = manager_new();
	struct client *client = client_open((struct client_options){ .map_size = page_size() });

	call_received(client, 0, manager, .code = 6);
	reply(manager, .code = 7, .size = page_size() + 8);
	expect(manager, BR_TRANSACTION_COMPLETE);
	expect_sent(client, BR_FAILED_REPLY);
	expect_report(&l, BR_FAILED_REPLY, manager, client, .to_thread = true, .is_reply = true,
		      .code = 7, .data_size = page_size() + 8);
}

TEST(report_of_a_reply_without_a_caller,
     "A reply to a dead caller, and one without a call, are reported without a target.",
     "transaction_report")
{
	struct listener l = listen_to_reports();
	struct client *manager = manager_new(), *client = client_new();

	call_received(client, 0, manager);
	client_kill_and_wait(client);
	reply(manager, .code = 8);
	expect(manager, BR_TRANSACTION_COMPLETE);
	expect_report(&l, BR_DEAD_REPLY, manager, .is_reply = true, .code = 8);
	reply(manager, .code = 9);
	expect_report(&l, BR_FAILED_REPLY, manager, .is_reply = true, .code = 9);
}

TEST(report_of_calls_to_the_frozen,
     "A call to a frozen process is reported, and a one-way call that waits there.",
     "transaction_report pending_frozen")
{
	struct listener l = listen_to_reports();
	struct client *manager = manager_new(), *client = client_new();

	EXPECT_OK(freeze(client, manager, true, 0));
	call(client, 0, .code = 10);
	expect(client, BR_FROZEN_REPLY);
	expect_report(&l, BR_FROZEN_REPLY, client, manager, .code = 10);
	call_oneway(client, 0, .code = 11);
	expect(client, BR_TRANSACTION_PENDING_FROZEN);
	expect_report(&l, BR_TRANSACTION_PENDING_FROZEN, client, manager, .code = 11,
		      .flags = TF_ONE_WAY);
}

/* In shared memory. */
struct turns {
	struct client *sender, *receiver, *freezer;
	atomic_bool over;
};

static void send_in_turns(void *arg)
{
	struct turns *turns = arg;
	const struct binder_transaction_data call = { .flags = TF_ONE_WAY };
	struct returned got;
	struct looper looper;

	looper_init(&looper, turns->sender->port);
	for (int i = 0; i < 300; i++) {
		commands_put_call(&looper.out, &call);
		looper_next(&looper, &got);
	}
	atomic_store(&turns->over, true);
}

static void receive_in_turns(void *arg)
{
	struct turns *turns = arg;
	struct returned got;
	struct looper looper;

	looper_init(&looper, turns->receiver->port);
	while (!atomic_load(&turns->over)) {
		if (!looper_next(&looper, &got) && returned_is_payload(&got))
			looper_free(&looper, &got.txn);
	}
}

static void freeze_in_turns(void *arg)
{
	struct turns *turns = arg;
	struct binder_freeze_info info = { .pid = (uint32_t)actor_pid(turns->receiver->by) };

	for (; !atomic_load(&turns->over); info.enable ^= 1)
		port_ioctl(turns->freezer->port, BINDER_FREEZE, &info);
}

TEST(report_beside_thaws, "A receiver may be frozen and thawed while calls to it are reported.",
     "transaction_report pending_frozen")
{
	struct turns *turns = shared_alloc(sizeof(*turns));
	struct actor *all[3];

	listen_to_reports();
	turns->receiver = manager_new();
	turns->sender = client_new();
	turns->freezer = client_new();
	all[0] = turns->receiver->by;
	all[1] = turns->freezer->by;
	all[2] = turns->sender->by;
	actor_start(all[0], receive_in_turns, turns);
	actor_start(all[1], freeze_in_turns, turns);
	actor_start(all[2], send_in_turns, turns);
	for (int i = 0; i < 3; i++)
		EXPECT(actor_wait(all[i], STEP_TIMEOUT_MS));
	EXPECT_OK(freeze(turns->sender, turns->receiver, false, 0));
}

TEST(report_of_spam,
     "The one-way call that makes its sender a suspect is reported.",
     "transaction_report")
{
	struct listener l = listen_to_reports();
	struct client *manager = manager_open((struct client_options){ .map_size = 256 * 1024 });
	struct client *client = client_new();
	uint32_t yes = 1, cmd = BR_TRANSACTION_COMPLETE;

	EXPECT_OK(client_ioctl(client, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &yes));
	for (int i = 0; i < 40 && cmd == BR_TRANSACTION_COMPLETE; i++) {
		call_oneway(client, 0, .code = 13, .size = 4000);
		cmd = peek(client)->cmd;
		expect(client, cmd);
	}
	EXPECT_EQ(cmd, BR_ONEWAY_SPAM_SUSPECT);
	expect_report(&l, BR_ONEWAY_SPAM_SUSPECT, client, manager, .code = 13, .flags = TF_ONE_WAY,
		      .data_size = 4000);
}

TEST(report_of_spam_to_the_frozen,
     "A suspect's call that waits at a frozen process is reported twice, first as spam.",
     "transaction_report pending_frozen")
{
	struct listener l = listen_to_reports();
	struct client *manager = manager_open((struct client_options){ .map_size = 256 * 1024 });
	struct client *client = client_new();
	uint32_t error = BR_TRANSACTION_PENDING_FROZEN;

	EXPECT_OK(freeze(client, manager, true, 0));
	for (int i = 0; i < 40 && error == BR_TRANSACTION_PENDING_FROZEN; i++) {
		call_oneway(client, 0, .code = 14, .size = 4000);
		expect(client, BR_TRANSACTION_PENDING_FROZEN);
		error = u32_of(next_report(&l, client)->attributes[A_ERROR]);
	}
	EXPECT_EQ(error, BR_ONEWAY_SPAM_SUSPECT);
	expect_report(&l, BR_TRANSACTION_PENDING_FROZEN, client, manager, .code = 14,
		      .flags = TF_ONE_WAY, .data_size = 4000);
}

TEST(report_of_success_is_not_made,
     "A delivered transaction is not reported.", "transaction_report")
{
	struct listener l = listen_to_reports();
	struct client *manager = manager_new(), *client = client_new();

	round_trip(client, 0, manager);
	call_oneway(client, 0);
	expect(client, BR_TRANSACTION_COMPLETE);
	call_fails(client, 7, .code = 99);
	expect_report(&l, BR_FAILED_REPLY, client, .code = 99);
}

TEST(report_stays_in_the_first_network,
     "A listener in another network namespace finds the family, but receives nothing.",
     "transaction_report")
{
	struct listener first = listen_to_reports(), other;
	struct client *client = client_new();
	struct message message;

	if (unshare(CLONE_NEWNET))
		test_skip("needs the right to make a network namespace");
	other = listen_to_reports();
	call_fails(client, 7);
	expect_report(&first, BR_FAILED_REPLY, client);
	EXPECT_EQ(receive(other.fd, MSG_DONTWAIT, &message), -EAGAIN);
}
