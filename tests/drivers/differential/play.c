// SPDX-License-Identifier: GPL-2.0
/*
 * The director goes through the steps. It starts and ends processes itself; the actor that a step
 * names does the others, in its process, while all other actors wait.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "differential.h"
#include "test.h"
#include "tests/lib/uapi.h"

#define PAGE 4096
#define DRAIN_READS 64
#define PUMP_ROOM 4096
#define BAD_ADDRESS 0x1000u

static struct world *world;
static const struct target *target;
static FILE *transcript;

static void say_result(int ret)
{
	say(world, "  = %s", ret < 0 ? test_errno_name(errno) : "0");
}

/* One BINDER_WRITE_READ; true when something was read. */
static bool write_read(const struct step *step, struct binder_write_read *bwr)
{
	const struct client *client = &world->clients[step->client];
	uint64_t read_from = bwr->read_consumed;
	int ret = ioctl(client->fd, BINDER_WRITE_READ, bwr);

	say_result(ret);
	say(world, " wrote %llu/%llu read %llu\n", (unsigned long long)bwr->write_consumed,
	    (unsigned long long)bwr->write_size, (unsigned long long)bwr->read_consumed);
	if (bwr->write_size)
		encode_consumed(world, step, bwr->write_consumed);
	if (bwr->read_consumed <= read_from || bwr->read_consumed > bwr->read_size)
		return false;
	decode(world, step->client, step->thread, world_read_room(world) + read_from,
	       bwr->read_consumed - read_from);
	return true;
}

/*
 * A read at an unmapped address where there is something to read: without, this driver waits and
 * the C driver fails (docs/PROTOCOL.md).
 */
static void read_badly(const struct step *step)
{
	struct pollfd poll_fd = { .fd = world->clients[step->client].fd, .events = POLLIN };
	struct binder_write_read bwr = {
		.read_buffer = BAD_ADDRESS,
		.read_size = (binder_size_t)step->field[WR_ROOM],
	};

	if (poll(&poll_fd, 1, 0) == 1 && bwr.read_size)
		write_read(step, &bwr);
}

static void do_wr(const struct step *step)
{
	struct binder_write_read bwr = { 0 };
	size_t size, cut = (size_t)step->field[WR_CUT];
	uint8_t *bytes = encode(world, step, &size);

	bwr.write_buffer = (uintptr_t)bytes;
	bwr.write_size = size > cut ? size - cut : size;
	bwr.write_consumed = (binder_size_t)step->field[WR_OLD_WRITE];
	if (step->field[WR_BAD])
		bwr.write_buffer = BAD_ADDRESS;
	bwr.read_buffer = (uintptr_t)world_read_room(world);
	bwr.read_size = (binder_size_t)step->field[WR_ROOM];
	bwr.read_consumed = (binder_size_t)step->field[WR_OLD_READ];
	if (step->field[WR_BAD_READ])
		bwr.read_size = 0;
	write_read(step, &bwr);
	if (step->field[WR_BAD_READ])
		read_badly(step);
}

static void do_drain(const struct step *step)
{
	struct client *client = &world->clients[step->client];

	for (int i = 0; i < DRAIN_READS; i++) {
		struct binder_write_read bwr = {
			.read_buffer = (uintptr_t)world_read_room(world),
			.read_size = PUMP_ROOM,
		};

		if (!write_read(step, &bwr)) {
			client->told[step->thread] &= client->waiting[step->thread];
			return;
		}
	}
}

/* An ioctl; the caller writes its argument when it succeeds. */
static int do_ioctl(const struct step *step, unsigned long cmd, void *arg)
{
	int ret = ioctl(world->clients[step->client].fd, cmd, arg);

	say_result(ret);
	return ret;
}

static void do_value(const struct step *step)
{
	static const unsigned long cmds[STEP_OPS] = {
		[STEP_MANAGER] = BINDER_SET_CONTEXT_MGR,
		[STEP_MAX_THREADS] = BINDER_SET_MAX_THREADS,
		[STEP_SPAM] = BINDER_ENABLE_ONEWAY_SPAM_DETECTION,
	};
	uint32_t value = (uint32_t)step->field[0];

	do_ioctl(step, cmds[step->op], &value);
	say(world, "\n");
}

static void do_exit(const struct step *step)
{
	struct client *client = &world->clients[step->client];
	int64_t unread = step->field[EXIT_UNREAD];
	int zero = 0;

	/*
	 * An unread call or reply of an exiting thread keeps its buffer on the C driver, and what
	 * it is told of its objects is lost (docs/PROTOCOL.md). A thread that cannot be waiting for
	 * a reply has no unread one; one that is may not be able to read the other.
	 */
	if (unread == UNREAD_NONE || (unread == UNREAD_OTHERS && (client->calls[step->thread] ||
								  client->told[step->thread])))
		do_drain(step);
	if (unread != UNREAD_CALLS && client->told[step->thread] && client->waiting[step->thread])
		return;
	do_ioctl(step, BINDER_THREAD_EXIT, &zero);
	say(world, "\n");
	client->serving[step->thread] = 0;
	client->waiting[step->thread] = false;
	client->calls[step->thread] = 0;
	client->told[step->thread] = false;
	client->entered[step->thread] = false;
}

static void do_manager_ext(const struct step *step)
{
	struct flat_binder_object object = {
		.hdr.type = BINDER_TYPE_BINDER,
		.flags = (uint32_t)step->field[OBJ_FLAGS],
		.binder = node_ptr(step->client, step->field[OBJ_NODE]),
		.cookie = node_cookie(step->client, step->field[OBJ_NODE],
				      step->field[OBJ_COOKIE]),
	};

	do_ioctl(step, BINDER_SET_CONTEXT_MGR_EXT, &object);
	say(world, "\n");
}

static void do_version(const struct step *step)
{
	struct binder_version version = { 0 };

	do_ioctl(step, BINDER_VERSION, &version);
	say(world, " %d\n", version.protocol_version);
}

static pid_t pid_of(int64_t client)
{
	return client < MAX_CLIENTS ? world_pid(world, (unsigned int)client) : 1;
}

static void do_freeze(const struct step *step)
{
	struct binder_freeze_info info = {
		.pid = (uint32_t)pid_of(step->field[FREEZE_CLIENT]),
		.enable = (uint32_t)step->field[FREEZE_ENABLE],
		.timeout_ms = (uint32_t)step->field[FREEZE_MS],
	};

	do_ioctl(step, BINDER_FREEZE, &info);
	say(world, "\n");
}

static void do_frozen_info(const struct step *step)
{
	struct binder_frozen_status_info info = {
		.pid = (uint32_t)pid_of(step->field[FREEZE_CLIENT]),
	};

	if (do_ioctl(step, BINDER_GET_FROZEN_INFO, &info) >= 0)
		say(world, " %s sync=%u async=%u", world_pid_name((pid_t)info.pid),
		    info.sync_recv, info.async_recv);
	say(world, "\n");
}

static void do_error(const struct step *step)
{
	struct binder_extended_error error = { 0 };

	if (do_ioctl(step, BINDER_GET_EXTENDED_ERROR, &error) >= 0)
		say(world, " %s %d", command_name(error.command), error.param);
	say(world, "\n");
}

static void do_node_info(const struct step *step)
{
	int64_t node = step->field[0];
	struct binder_node_debug_info info = {
		.ptr = node ? node_ptr(step->client, node - 1) : 0,
	};

	if (do_ioctl(step, BINDER_GET_NODE_DEBUG_INFO, &info) >= 0)
		say(world, " %llx %llx strong=%u weak=%u", (unsigned long long)info.ptr,
		    (unsigned long long)info.cookie, info.has_strong_ref, info.has_weak_ref);
	say(world, "\n");
}

static void do_ref_info(const struct step *step)
{
	struct binder_node_info_for_ref info = {
		.handle = resolve_handle(&world->clients[step->client], step->field[0]),
		.strong_count = (uint32_t)step->field[1],
	};

	if (do_ioctl(step, BINDER_GET_NODE_INFO_FOR_REF, &info) >= 0)
		say(world, " %u strong=%u weak=%u %u %u %u", info.handle, info.strong_count,
		    info.weak_count, info.reserved1, info.reserved2, info.reserved3);
	say(world, "\n");
}

static void do_poll(const struct step *step)
{
	struct pollfd poll_fd = { .fd = world->clients[step->client].fd, .events = POLLIN };
	int ret = poll(&poll_fd, 1, 0);

	say_result(ret);
	say(world, " %x\n", poll_fd.revents);
}

static void do_other_ioctl(const struct step *step)
{
	uint8_t zeros[64] = { 0 };

	do_ioctl(step, (unsigned long)step->field[0], zeros);
	say(world, "\n");
}

static void do_open(const struct step *step)
{
	struct client *client = &world->clients[step->client];

	client->fd = open(target->device, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (client->fd < 0)
		FAIL("open %s: %s", target->device, test_errno_name(errno));
	client->open = true;
	if (step->field[SPAWN_UNMAPPED])
		return;
	client->map_size = (size_t)step->field[SPAWN_PAGES] * PAGE;
	client->map = mmap(NULL, client->map_size, PROT_READ, MAP_PRIVATE | MAP_NORESERVE,
			   client->fd, 0);
	if (client->map == MAP_FAILED)
		FAIL("mmap %s: %s", target->device, test_errno_name(errno));
}

static void do_close(const struct step *step)
{
	struct client *client = &world->clients[step->client];

	if (client->map)
		munmap(client->map, client->map_size);
	close(client->fd);
	for (size_t i = 0; i < client->nr_live; i++) {
		for (unsigned int n = 0; n < client->live[i].nr_fds; n++)
			close(client->live[i].fds[n]);
	}
	client_forget(client);
}

/* What the actor does. */
static void (*const acts[STEP_OPS])(const struct step *step) = {
	[STEP_SPAWN] = do_open,
	[STEP_CLOSE] = do_close,
	[STEP_WR] = do_wr,
	[STEP_DRAIN] = do_drain,
	[STEP_EXIT] = do_exit,
	[STEP_MANAGER] = do_value,
	[STEP_MANAGER_EXT] = do_manager_ext,
	[STEP_MAX_THREADS] = do_value,
	[STEP_VERSION] = do_version,
	[STEP_FREEZE] = do_freeze,
	[STEP_FROZEN_INFO] = do_frozen_info,
	[STEP_SPAM] = do_value,
	[STEP_ERROR] = do_error,
	[STEP_NODE_INFO] = do_node_info,
	[STEP_REF_INFO] = do_ref_info,
	[STEP_POLL] = do_poll,
	[STEP_IOCTL] = do_other_ioctl,
};

static void act(void *arg)
{
	const struct step *step = arg;

	world->payload_used = 0;
	acts[step->op](step);
}

static void write_transcript(void)
{
	fwrite(world_text(world), 1, world->text_used, transcript);
	fclose(transcript);
}

/* Have the actor of this step do it. */
static void direct_one(const struct step *step)
{
	unsigned int proc = world->clients[step->client].proc;
	struct actor *actor = world_actor(world, proc, step->thread);

	world->step = *step;
	actor_start(actor, act, &world->step);
	if (actor_wait(actor, STEP_TIMEOUT_MS))
		return;
	say(world, "  hangs\n");
	write_transcript();
	FAIL("a step hangs");
}

/* The same; the thread enters the loop first if it is wanted there. */
static void direct(const struct step *step)
{
	const struct step enter = {
		.op = STEP_WR,
		.client = step->client,
		.thread = step->thread,
		.nr_commands = 1,
		.commands = { { .op = COMMAND_ENTER } },
	};
	struct client *client = &world->clients[step->client];

	if (target->in_loop && client->open && !client->entered[step->thread]) {
		client->entered[step->thread] = true;
		direct_one(&enter);
	}
	direct_one(step);
}

static void wait_for_closed_opens(void)
{
	unsigned int opens = 0;

	for (int i = 0; i < MAX_CLIENTS; i++)
		opens += world->clients[i].open;
	quiesce(target->stats, opens);
}

/* After all processes have ended, nothing may be left. */
static void say_left(void)
{
	static const char *const what[] = { "thread", "node", "ref", "death", "transaction" };

	say(world, "left:");
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++)
		say(world, " %s %u", what[i], quiesce_count(target->stats, what[i]));
	say(world, "\n");
}

static void direct_spawn(const struct step *step)
{
	struct client *client = &world->clients[step->client];
	unsigned int in = (unsigned int)step->field[SPAWN_IN];

	if (client->open || !step->field[SPAWN_PAGES])
		return;
	client->proc = in && in <= MAX_CLIENTS ? in - 1 : step->client;
	client_forget(client);
	direct(step);
}

static void direct_pump(const struct step *step)
{
	struct step each = {
		.op = STEP_WR,
		.field = { [WR_ROOM] = PUMP_ROOM },
		.nr_commands = 4,
		.commands = { { .op = COMMAND_NOTICES }, { .op = COMMAND_SERVE },
			      { .op = COMMAND_KEEP }, { .op = COMMAND_FREE_ALL } },
	};

	for (int64_t round = 0; round < step->field[0]; round++) {
		for (each.client = 0; each.client < MAX_CLIENTS; each.client++) {
			const struct client *client = &world->clients[each.client];
			const struct process *process = &world->processes[client->proc];

			for (each.thread = 0; client->open && each.thread < MAX_THREADS;
			     each.thread++) {
				if (!process->actors[each.thread])
					continue;
				say(world, " %u.%u\n", each.client, each.thread);
				direct(&each);
			}
		}
	}
}

static void direct_step(const struct step *step)
{
	struct client *client = &world->clients[step->client];

	if (step->op == STEP_SPAWN) {
		direct_spawn(step);
	} else if (step->op == STEP_PUMP) {
		direct_pump(step);
	} else if (!client->open) {
		say(world, "  absent\n");
	} else if (step->op == STEP_KILL) {
		world_kill(world, client->proc);
		wait_for_closed_opens();
	} else if (step->op == STEP_CLOSE) {
		direct(step);
		wait_for_closed_opens();
	} else {
		direct(step);
	}
}

void play(const struct script *script, const struct target *on, FILE *to)
{
	static char text[8192];

	target = on;
	transcript = to;
	world = world_new();
	for (unsigned int i = 0; i < MAX_CLIENTS; i++) {
		world->clients[i].proc = i;
		client_forget(&world->clients[i]);
	}
	for (size_t i = 0; i < script->nr; i++) {
		step_print(&script->steps[i], text, sizeof(text));
		say(world, "#%zu %s\n", i, text);
		direct_step(&script->steps[i]);
	}
	for (unsigned int i = 0; i < MAX_CLIENTS; i++)
		world_kill(world, i);
	wait_for_closed_opens();
	say_left();
	write_transcript();
}
