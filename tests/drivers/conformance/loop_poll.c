// SPDX-License-Identifier: GPL-2.0
/* poll and epoll on a device: readable means that a read returns something. */
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "expect.h"
#include "test.h"

struct polling {
	struct client *client;
	int epoll;
	int timeout_ms;
	uint32_t edge;
	int count;
	uint32_t events;
};

static void do_poll(void *arg)
{
	struct polling *polling = arg;
	struct pollfd file = { .fd = polling->client->port->fd, .events = POLLIN | POLLOUT };

	polling->count = poll(&file, 1, polling->timeout_ms);
	polling->events = (uint32_t)file.revents;
}

static void do_epoll_create(void *arg)
{
	struct polling *polling = arg;
	struct epoll_event event = { .events = EPOLLIN | polling->edge };

	polling->epoll = epoll_create1(EPOLL_CLOEXEC);
	EXPECT(polling->epoll >= 0);
	EXPECT(!epoll_ctl(polling->epoll, EPOLL_CTL_ADD, polling->client->port->fd, &event));
}

static void do_epoll_wait(void *arg)
{
	struct polling *polling = arg;
	struct epoll_event event = { 0 };

	polling->count = epoll_wait(polling->epoll, &event, 1, polling->timeout_ms);
	polling->events = event.events;
}

static struct polling *polling_new(struct client *client)
{
	struct polling *polling = shared_alloc(sizeof(*polling));

	polling->client = client;
	return polling;
}

static struct polling *epoll_new(struct client *client, uint32_t edge)
{
	struct polling *polling = polling_new(client);

	polling->edge = edge;
	client_run(client, do_epoll_create, polling);
	return polling;
}

/* What the client's poll reports now, 0 for nothing. */
static uint32_t poll_now(struct client *client)
{
	struct polling *polling = polling_new(client);

	client_run(client, do_poll, polling);
	return polling->count ? polling->events : 0;
}

TEST(defer_poll, "poll(2) shows no deferred completion.", "kernel defer_complete")
{
	struct client *manager = manager_new(), *client = client_new();

	put_free(manager, call_received(client, 0, manager));
	reply(manager, .flags = TF_DEFER_COMPLETE);
	EXPECT_EQ(poll_now(manager) & POLLIN, 0);
	call(client_new(), 0);
	EXPECT_EQ(poll_now(manager) & POLLIN, POLLIN);
	expect_sent(manager, BR_TRANSACTION);
}

static uint32_t epoll_now(struct polling *polling)
{
	polling->timeout_ms = 50;
	client_run(polling->client, do_epoll_wait, polling);
	return polling->count ? polling->events : 0;
}

TEST(poll_shows_a_call, "A device is readable while a call waits, and not otherwise.", "kernel")
{
	struct client *manager = manager_new(), *client = client_new();

	EXPECT_EQ(poll_now(manager), 0);
	call(client, 0);
	EXPECT_EQ(poll_now(manager), POLLIN);
	EXPECT_EQ(poll_now(manager), POLLIN);
	answer(manager, expect(manager, BR_TRANSACTION));
	EXPECT_EQ(poll_now(manager), 0);
}

TEST(poll_first_of_a_thread_is_readable,
     "For a thread's first call the device is readable, because its first read returns at once.",
     "kernel")
{
	struct client *client = client_new();

	EXPECT_EQ(poll_now(client), POLLIN);
	EXPECT_OK(read_once(client, READ_SIZE));
	EXPECT_EQ(poll_now(client), 0);
}

TEST(poll_wakes_on_a_call, "A thread blocked in poll wakes when a call arrives.", "kernel")
{
	struct client *manager = manager_new(), *client = client_new();
	struct polling *polling = polling_new(manager);

	polling->timeout_ms = STEP_TIMEOUT_MS;
	actor_start(manager->by, do_poll, polling);
	EXPECT(!actor_wait(manager->by, 60));
	call(client, 0);
	EXPECT(actor_wait(manager->by, 2000));
	EXPECT_EQ(polling->events, POLLIN);
	expect(manager, BR_TRANSACTION);
}

TEST(poll_shows_the_caller_its_reply,
     "A waiting caller's device is readable when the reply is there, not before.", "kernel")
{
	struct client *manager = manager_new(), *client = client_new();

	call(client, 0);
	EXPECT_EQ(poll_now(client), 0);
	answer(manager, expect(manager, BR_TRANSACTION));
	EXPECT_EQ(poll_now(client), POLLIN);
	finish_call(client);
	EXPECT_EQ(poll_now(client), 0);
}

TEST(poll_shows_an_own_completion,
     "The completion of a one-way call makes the sender's device readable.", "kernel")
{
	struct client *manager = manager_new(), *client = client_new();

	(void)manager;
	call_oneway(client, 0);
	EXPECT_EQ(poll_now(client), POLLIN);
	expect(client, BR_TRANSACTION_COMPLETE);
	EXPECT_EQ(poll_now(client), 0);
}

TEST(epoll_level_keeps_notifying, "Level-triggered epoll reports a waiting call until it is read.",
     "kernel")
{
	struct client *manager = manager_new(), *client = client_new();
	struct polling *epoll = epoll_new(manager, 0);

	EXPECT_EQ(epoll_now(epoll), 0);
	call(client, 0);
	EXPECT_EQ(epoll_now(epoll), EPOLLIN);
	EXPECT_EQ(epoll_now(epoll), EPOLLIN);
	answer(manager, expect(manager, BR_TRANSACTION));
	EXPECT_EQ(epoll_now(epoll), 0);
}

TEST(epoll_edge_notifies_once_for_each, "Edge-triggered epoll reports each arriving call once.",
     "kernel")
{
	struct client *manager = manager_new(), *one = client_new(), *two = client_new();
	struct polling *epoll = epoll_new(manager, EPOLLET);

	EXPECT_EQ(epoll_now(epoll), 0);
	call(one, 0);
	EXPECT_EQ(epoll_now(epoll), EPOLLIN);
	EXPECT_EQ(epoll_now(epoll), 0);
	call(two, 0);
	EXPECT_EQ(epoll_now(epoll), EPOLLIN);
	EXPECT_EQ(epoll_now(epoll), 0);
	answer(manager, expect(manager, BR_TRANSACTION));
	answer(manager, expect(manager, BR_TRANSACTION));
}

TEST(epoll_wakes_on_a_call, "A thread blocked in epoll_wait wakes when a call arrives.", "kernel")
{
	struct client *manager = manager_new(), *client = client_new();
	struct polling *epoll = epoll_new(manager, 0);

	epoll->timeout_ms = STEP_TIMEOUT_MS;
	actor_start(manager->by, do_epoll_wait, epoll);
	EXPECT(!actor_wait(manager->by, 60));
	call(client, 0);
	EXPECT(actor_wait(manager->by, 2000));
	EXPECT_EQ(epoll->events, EPOLLIN);
	expect(manager, BR_TRANSACTION);
}

TEST(epoll_prefers_parked_readers, "A call goes to a parked thread; a polling thread is not woken.",
     "kernel")
{
	struct client *manager = manager_open((struct client_options){ .blocking = true });
	struct client *thread = client_thread(manager), *client = client_new();
	struct polling *epoll = epoll_new(manager, 0);

	EXPECT_EQ(epoll_now(epoll), 0);
	send_cmd(thread, BC_ENTER_LOOPER);
	read_begin(thread);
	EXPECT_EQ(read_end(thread, 60), -EINPROGRESS);
	call(client, 0);
	EXPECT_OK(read_end(thread, STEP_TIMEOUT_MS));
	expect(thread, BR_TRANSACTION);
	EXPECT_EQ(epoll_now(epoll), 0);
}

static void close_epolled(void *arg)
{
	struct polling *polling = arg;

	close(polling->client->port->fd);
	close(polling->epoll);
}

TEST(epoll_survives_close, "A device may be closed while it is in an epoll set.", "kernel")
{
	struct client *manager = manager_new(), *client = client_new();
	struct polling *epoll;

	round_trip(client, 0, manager);
	epoll = epoll_new(client, 0);
	EXPECT_EQ(epoll_now(epoll), 0);
	client_run(client, close_epolled, epoll);
	round_trip(client_new(), 0, manager);
}
