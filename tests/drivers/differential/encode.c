// SPDX-License-Identifier: GPL-2.0
/*
 * A table has a function for each command of a script. It appends one BC_ command or, for those
 * that answer all that has arrived, several. The state of the client changes only when the driver
 * has consumed the command, which is known later: until then an effect is recorded with the
 * position in the stream after which it applies.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "differential.h"
#include "test.h"

#define OUT_ROOM (16 * 1024)
#define MAX_EFFECTS 1024
#define COOKIE_OF_HANDLE_0 0xd000u

struct effect {
	size_t end; /* applies when this many bytes are consumed */
	enum { EFFECT_FREED, EFFECT_ANSWERED, EFFECT_REPLIED, EFFECT_CALLED } what;
	uint64_t at; /* of the freed buffer */
};

/* The stream under construction. It belongs to the one process that acts now. */
static struct {
	struct world *world;
	struct client *client;
	unsigned int client_index, thread;
	struct commands commands;
	struct effect effects[MAX_EFFECTS];
	size_t nr_effects;
	size_t answered; /* notices acknowledged in this stream */
	size_t replied;
	bool called;
} out;

static void note(int what, uint64_t at)
{
	struct effect *effect = &out.effects[out.nr_effects];

	if (out.nr_effects == MAX_EFFECTS)
		return;
	out.nr_effects++;
	effect->end = out.commands.size;
	effect->what = what;
	effect->at = at;
}

uint32_t resolve_handle(const struct client *client, int64_t value)
{
	if (value < 0)
		return client->handles[PICKED(value) % client->nr_handles];
	return (uint32_t)value;
}

static uint64_t resolve_buffer(int64_t value)
{
	const struct client *client = out.client;

	if (value < 0 && client->nr_live)
		return client->live[PICKED(value) % client->nr_live].at;
	if (value >= FREED_BASE && client->nr_freed)
		return client->freed[(size_t)(value - FREED_BASE) % client->nr_freed];
	if (value < 0 || value >= FREED_BASE)
		return 0;
	return (uint64_t)(uintptr_t)client->map + (uint64_t)value;
}

/* Address of a buffer in the transcript: relative to the mapping. */
static void say_place(uint64_t at)
{
	if (at)
		say(out.world, " %+lld", (long long)(at - (uint64_t)(uintptr_t)out.client->map));
	else
		say(out.world, " null");
}

static void put_free(uint64_t at)
{
	say(out.world, "  > BC_FREE_BUFFER");
	say_place(at);
	say(out.world, "\n");
	commands_put_u64(&out.commands, BC_FREE_BUFFER, at);
	note(EFFECT_FREED, at);
}

static void put_pair(uint32_t cmd, uint64_t ptr, uint64_t cookie)
{
	say(out.world, "  > %s %llx %llx\n", command_name(cmd), (unsigned long long)ptr,
	    (unsigned long long)cookie);
	commands_put_ref(&out.commands, cmd, ptr, cookie);
}

static void put_cookie(uint32_t cmd, uint64_t cookie)
{
	say(out.world, "  > %s %llx\n", command_name(cmd), (unsigned long long)cookie);
	commands_put_u64(&out.commands, cmd, cookie);
}

/* Is it certain to be refused? */
static bool is_rude(const struct command *command)
{
	bool waits = out.called || out.client->waiting[out.thread];

	if (command->op == COMMAND_REPLY)
		return waits || out.replied >= out.client->serving[out.thread];
	return waits && !(command->field[TXN_FLAGS] & TF_ONE_WAY);
}

static void put_txn(const struct binder_transaction_data_sg *td, bool is_reply, bool is_sg)
{
	if (is_reply && is_sg)
		commands_put_reply_sg(&out.commands, td);
	else if (is_reply)
		commands_put_reply(&out.commands, &td->transaction_data);
	else if (is_sg)
		commands_put_call_sg(&out.commands, td);
	else
		commands_put_call(&out.commands, &td->transaction_data);
}

static void do_txn(const struct command *command, uint32_t cmd)
{
	bool is_reply = command->op == COMMAND_REPLY;
	struct binder_transaction_data_sg td = { 0 };

	if (command->field[TXN_POLITE] && is_rude(command))
		return;
	if (!is_reply)
		td.transaction_data.target.handle =
			resolve_handle(out.client, command->field[TXN_HANDLE]);
	td.transaction_data.code = (uint32_t)command->field[TXN_CODE];
	td.transaction_data.flags = (uint32_t)command->field[TXN_FLAGS];
	payload_build(out.world, out.client_index, command, &td);
	say(out.world, "  > %s to %u\n", command_name(is_reply ? BC_REPLY : BC_TRANSACTION),
	    td.transaction_data.target.handle);
	put_txn(&td, is_reply, command->field[TXN_SG]);
	for (unsigned int i = 0; i < command->nr_objects; i++)
		out.client->told[out.thread] |= strchr("bw", command->objects[i].kind) != NULL;
	if (is_reply) {
		note(EFFECT_REPLIED, 0);
		out.replied++;
	} else if (!(command->field[TXN_FLAGS] & TF_ONE_WAY)) {
		note(EFFECT_CALLED, 0);
		out.called = true;
	}
}

static void do_free(const struct command *command, uint32_t cmd)
{
	put_free(resolve_buffer(command->field[0]));
}

static void do_bare(const struct command *command, uint32_t cmd)
{
	say(out.world, "  > %s\n", command_name(cmd));
	commands_put(&out.commands, cmd, NULL);
}

static void put_handle(uint32_t cmd, uint32_t handle)
{
	say(out.world, "  > %s %u\n", command_name(cmd), handle);
	commands_put_u32(&out.commands, cmd, handle);
}

static void do_handle(const struct command *command, uint32_t cmd)
{
	put_handle(cmd, resolve_handle(out.client, command->field[0]));
}

static void do_pair(const struct command *command, uint32_t cmd)
{
	int64_t node = command->field[PAIR_NODE];

	put_pair(cmd, node_ptr(out.client_index, node),
		 node_cookie(out.client_index, node, command->field[PAIR_COOKIE]));
}

static void do_notice(const struct command *command, uint32_t cmd)
{
	struct binder_handle_cookie request = {
		.handle = resolve_handle(out.client, command->field[NOTICE_HANDLE]),
		.cookie = (uint64_t)command->field[NOTICE_COOKIE],
	};

	if (command->field[NOTICE_COOKIE] < 0)
		request.cookie = COOKIE_OF_HANDLE_0 + request.handle;

	say(out.world, "  > %s %u %llx\n", command_name(cmd), request.handle,
	    (unsigned long long)request.cookie);
	commands_put(&out.commands, cmd, &request);
}

static void do_cookie(const struct command *command, uint32_t cmd)
{
	put_cookie(cmd, (uint64_t)command->field[0]);
}

static void do_raw(const struct command *command, uint32_t cmd)
{
	static const uint8_t zeros[16];
	const uint32_t number = (uint32_t)command->field[0];

	commands_put_bytes(&out.commands, &number, sizeof(number));
	commands_put_bytes(&out.commands, zeros, sizeof(zeros));
}

static void do_notices(const struct command *command, uint32_t cmd)
{
	for (; out.answered < out.client->nr_notices; out.answered++) {
		const struct notice *notice = &out.client->notices[out.answered];

		if (notice->answer == BC_INCREFS_DONE || notice->answer == BC_ACQUIRE_DONE)
			put_pair(notice->answer, notice->ptr, notice->cookie);
		else
			put_cookie(notice->answer, notice->cookie);
		note(EFFECT_ANSWERED, 0);
	}
}

static void do_serve(const struct command *command, uint32_t cmd)
{
	static const struct command empty_reply = {
		.op = COMMAND_REPLY,
		.field = { [TXN_POLITE] = 1 },
	};

	do_txn(&empty_reply, 0);
}

/* Libraries do this before they free the buffer that the handle arrived in. */
static void do_keep(const struct command *command, uint32_t cmd)
{
	for (size_t i = 0; i < out.client->nr_fresh; i++) {
		put_handle(out.client->fresh[i].weak ? BC_INCREFS : BC_ACQUIRE,
			   out.client->fresh[i].handle);
	}
	out.client->nr_fresh = 0;
}

static void do_free_all(const struct command *command, uint32_t cmd)
{
	for (size_t i = 0; i < out.client->nr_live; i++)
		put_free(out.client->live[i].at);
}

static const struct {
	void (*make)(const struct command *command, uint32_t cmd);
	uint32_t cmd; /* where one is enough to know */
} makers[COMMAND_OPS] = {
	[COMMAND_TXN] = { do_txn },
	[COMMAND_REPLY] = { do_txn },
	[COMMAND_FREE] = { do_free },
	[COMMAND_INCREFS] = { do_handle, BC_INCREFS },
	[COMMAND_ACQUIRE] = { do_handle, BC_ACQUIRE },
	[COMMAND_RELEASE] = { do_handle, BC_RELEASE },
	[COMMAND_DECREFS] = { do_handle, BC_DECREFS },
	[COMMAND_INCREFS_DONE] = { do_pair, BC_INCREFS_DONE },
	[COMMAND_ACQUIRE_DONE] = { do_pair, BC_ACQUIRE_DONE },
	[COMMAND_DEATH] = { do_notice, BC_REQUEST_DEATH_NOTIFICATION },
	[COMMAND_CLEAR_DEATH] = { do_notice, BC_CLEAR_DEATH_NOTIFICATION },
	[COMMAND_DEAD_DONE] = { do_cookie, BC_DEAD_BINDER_DONE },
	[COMMAND_FREEZE_NOTICE] = { do_notice, BC_REQUEST_FREEZE_NOTIFICATION },
	[COMMAND_CLEAR_FREEZE] = { do_notice, BC_CLEAR_FREEZE_NOTIFICATION },
	[COMMAND_FREEZE_DONE] = { do_cookie, BC_FREEZE_NOTIFICATION_DONE },
	[COMMAND_ENTER] = { do_bare, BC_ENTER_LOOPER },
	[COMMAND_REGISTER] = { do_bare, BC_REGISTER_LOOPER },
	[COMMAND_LEAVE] = { do_bare, BC_EXIT_LOOPER },
	[COMMAND_RAW] = { do_raw },
	[COMMAND_NOTICES] = { do_notices },
	[COMMAND_SERVE] = { do_serve },
	[COMMAND_KEEP] = { do_keep },
	[COMMAND_FREE_ALL] = { do_free_all },
};

uint8_t *encode(struct world *world, const struct step *step, size_t *size)
{
	memset(&out, 0, sizeof(out));
	out.world = world;
	out.client = &world->clients[step->client];
	out.client_index = step->client;
	out.thread = step->thread;
	out.commands = (struct commands){ payload_alloc(world, OUT_ROOM), .room = OUT_ROOM };
	for (unsigned int i = 0; i < step->nr_commands; i++) {
		const struct command *command = &step->commands[i];

		makers[command->op].make(command, makers[command->op].cmd);
	}
	if (out.commands.overflowed)
		FAIL("a step's commands are too long");
	*size = out.commands.size;
	return out.commands.bytes;
}

/* The files of the buffer's arrays are closed with it; write how many are. */
static void freed(struct client *client, uint64_t at)
{
	for (size_t i = 0; i < client->nr_live; i++) {
		const struct live_buffer *live = &client->live[i];
		unsigned int closed = 0;

		if (live->at != at)
			continue;
		for (unsigned int n = 0; n < live->nr_fds; n++)
			closed += fcntl(live->fds[n], F_GETFD) < 0 && errno == EBADF;
		if (live->nr_fds)
			say(out.world, "  closed %u of %u files\n", closed, live->nr_fds);
		client->nr_live--;
		memmove(&client->live[i], &client->live[i + 1],
			(client->nr_live - i) * sizeof(*live));
		memmove(&client->freed[1], &client->freed[0],
			(MAX_FREED - 1) * sizeof(client->freed[0]));
		client->freed[0] = at;
		if (client->nr_freed < MAX_FREED)
			client->nr_freed++;
		return;
	}
}

void encode_consumed(struct world *world, const struct step *step, size_t consumed)
{
	struct client *client = &world->clients[step->client];
	size_t answered = 0;

	for (size_t i = 0; i < out.nr_effects && out.effects[i].end <= consumed; i++) {
		const struct effect *effect = &out.effects[i];

		if (effect->what == EFFECT_FREED)
			freed(client, effect->at);
		else if (effect->what == EFFECT_ANSWERED)
			answered++;
		else if (effect->what == EFFECT_CALLED)
			client->waiting[step->thread] = ++client->calls[step->thread];
		else if (client->serving[step->thread])
			client->serving[step->thread]--;
	}
	client->nr_notices -= answered;
	memmove(&client->notices[0], &client->notices[answered],
		client->nr_notices * sizeof(client->notices[0]));
}
