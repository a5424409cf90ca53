// SPDX-License-Identifier: GPL-2.0
/*
 * A purely random script would consist of refused operations. So each seed chooses: how many
 * clients, how large their mappings, how often something is wrong on purpose, how often a process
 * dies. A script begins by making all clients known to the context manager, and from time to time
 * completes all pending work (STEP_PUMP).
 */
#include <string.h>

#include "differential.h"
#include "tests/lib/uapi.h"

#define NR_SENT_FILES 4 /* as in fixed_memory.h; one more is not open */
#define TF_UPDATE_TXN 0x40

struct traits {
	unsigned int clients, threads;
	unsigned int pages;    /* of a mapping */
	unsigned int wrong;    /* percent of invalid arguments */
	unsigned int objects;  /* percent of transactions with objects */
	unsigned int oneway;   /* percent of transactions */
	unsigned int large;    /* percent of transactions */
	unsigned int answers;  /* percent of steps that answer what has arrived */
	unsigned int rude;     /* percent of calls and replies that are certain to fail */
	unsigned int weak;     /* percent of handles in objects */
	unsigned int leaves;   /* weight of exits of threads */
	unsigned int cramped;  /* percent of reads that are small, or to bad memory */
	bool spam;	       /* one-way calls flood an object; most clients ask for detection */
};

static struct {
	uint64_t state;
	struct traits traits;
	const struct omissions *omit;
	bool open[MAX_CLIENTS];
} gen;

static uint64_t random_word(void)
{
	uint64_t z = gen.state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* 0 <= below. */
static unsigned int below(unsigned int limit)
{
	return (unsigned int)(random_word() >> 33) % limit;
}

static bool percent(unsigned int chance)
{
	return below(100) < chance;
}

static bool wrong(void)
{
	return percent(gen.traits.wrong);
}

/* An index by weights, which end with 0 entries beyond nr. */
static unsigned int weighted(const uint8_t *weights, unsigned int nr)
{
	unsigned int total = 0, at, i;

	for (i = 0; i < nr; i++)
		total += weights[i];
	at = below(total);
	for (i = 0; at >= weights[i]; i++)
		at -= weights[i];
	return i;
}

static int64_t any_handle(void)
{
	static const int64_t odd[] = { 1, 2, 3, 7, 99, 0xffffffff };

	if (wrong())
		return odd[below(sizeof(odd) / sizeof(odd[0]))];
	return percent(25) ? 0 : PICK(below(8));
}

static int64_t any_cookie(void)
{
	if (percent(75))
		return PICK(0);
	return 0xd000 + below(4);
}

static int64_t data_size(void)
{
	unsigned int bytes = gen.traits.pages * 4096;

	if (percent(gen.traits.large))
		return below(bytes + bytes / 8);
	return percent(20) ? 0 : below(200);
}

static struct object_spec node_object(void)
{
	struct object_spec object = { .kind = percent(80) ? 'b' : 'w' };

	object.field[OBJ_NODE] = below(6);
	object.field[OBJ_COOKIE] = wrong() ? 1 : 0;
	object.field[OBJ_FLAGS] = percent(70) ? 0x100 : below(0x200);
	return object;
}

static struct object_spec handle_object(void)
{
	struct object_spec object = { .kind = percent(gen.traits.weak) ? 'v' : 'h' };

	object.field[OBJ_NODE] = any_handle();
	object.field[OBJ_FLAGS] = percent(50) ? 0 : below(0x200);
	return object;
}

static struct object_spec file_object(void)
{
	struct object_spec object = { .kind = 'f' };

	object.field[0] = wrong() ? NR_SENT_FILES : below(NR_SENT_FILES);
	return object;
}

static struct object_spec pointer_object(int64_t length)
{
	struct object_spec object = { .kind = 'p' };

	object.field[OBJ_LENGTH] = length;
	return object;
}

/* A group of objects with pointers, valid unless something is wrong on purpose. */
static void add_pointers(struct command *command)
{
	int64_t parent = command->nr_objects;
	struct object_spec *object = &command->objects[command->nr_objects++];
	unsigned int children = below(MAX_SPECS - command->nr_objects + 1);
	int64_t at = 8 * below(4);

	*object = pointer_object(percent(10) ? 0 : 16 + below(gen.traits.large ? 2000 : 100));
	command->field[TXN_SG] = !wrong();
	for (unsigned int i = 0; i < children; i++, at += 8 + 8 * below(3)) {
		object = &command->objects[command->nr_objects++];
		if (wrong())
			at = below(200);
		if (percent(35)) {
			*object = (struct object_spec){ .kind = 'a' };
			object->field[OBJ_COUNT] = wrong() ? below(40) : below(4);
			object->field[OBJ_FDA_PARENT] = wrong() ? below(5) : parent;
			object->field[OBJ_FDA_OFFSET] = at;
			at += 16;
			continue;
		}
		*object = pointer_object(below(64));
		object->field[OBJ_HAS_PARENT] = 1;
		object->field[OBJ_PARENT] = wrong() ? below(5) : parent;
		object->field[OBJ_PARENT_OFFSET] = at;
		if (percent(30)) {
			parent = command->nr_objects - 1;
			at = 0;
		}
	}
}

static void add_objects(struct command *command)
{
	static const uint8_t lengths[MAX_SPECS] = { 50, 25, 15, 10 };
	unsigned int nr = 1 + weighted(lengths, MAX_SPECS);

	while (command->nr_objects < nr) {
		struct object_spec *object = &command->objects[command->nr_objects];
		static const uint8_t weights[] = { 45, 25, 12, 15, 1 };

		switch (weighted(weights, sizeof(weights))) {
		case 0:
			*object = node_object();
			break;
		case 1:
			*object = handle_object();
			break;
		case 2:
			*object = file_object();
			break;
		case 3:
			add_pointers(command);
			continue;
		default:
			*object = (struct object_spec){ .kind = wrong() ? 'u' : 'b' };
		}
		command->nr_objects++;
	}
}

static void make_txn(struct command *command)
{
	command->field[TXN_HANDLE] = command->op == COMMAND_TXN ? any_handle() : 0;
	command->field[TXN_CODE] = below(16);
	command->field[TXN_SIZE] = data_size();
	command->field[TXN_FLAGS] = percent(80) ? TF_ACCEPT_FDS : 0;
	if (command->op == COMMAND_TXN && percent(gen.traits.oneway))
		command->field[TXN_FLAGS] |= TF_ONE_WAY | (percent(15) ? TF_UPDATE_TXN : 0);
	if (percent(5))
		command->field[TXN_FLAGS] |= percent(50) ? 0x20 : 1 + below(0x1000);
	if (command->op == COMMAND_REPLY && !wrong())
		command->field[TXN_FLAGS] &= ~(int64_t)TF_ONE_WAY;
	if (command->op == COMMAND_REPLY && gen.omit->deferral)
		command->field[TXN_FLAGS] &= ~(int64_t)TF_DEFER_COMPLETE;
	else if (command->op == COMMAND_REPLY && percent(25))
		command->field[TXN_FLAGS] |= TF_DEFER_COMPLETE;
	command->field[TXN_SG] = percent(10);
	command->field[TXN_POLITE] = !percent(gen.traits.rude);
	if (percent(gen.traits.objects))
		add_objects(command);
	if (wrong() && percent(50))
		command->field[TXN_TWIST] = 1 + below(TWISTS - 1);
}

static void make_free(struct command *command)
{
	if (!wrong())
		command->field[0] = PICK(below(6));
	else
		command->field[0] = percent(50) ? FREED(below(3)) : 8 * below(2000);
}

static void make_handle(struct command *command)
{
	command->field[0] = any_handle();
}

static void make_pair(struct command *command)
{
	command->field[PAIR_NODE] = below(6);
	command->field[PAIR_COOKIE] = wrong();
}

static void make_notice(struct command *command)
{
	command->field[NOTICE_HANDLE] = any_handle();
	command->field[NOTICE_COOKIE] = any_cookie();
}

static void make_cookie(struct command *command)
{
	command->field[0] = any_cookie();
}

static void make_bare(struct command *command)
{
}

static void make_raw(struct command *command)
{
	static const uint32_t cmds[] = { 0, 0xffffffff, BC_ACQUIRE_RESULT, BC_ATTEMPT_ACQUIRE,
					 BR_NOOP, _IOW('c', 40, uint32_t) };

	command->field[0] = cmds[below(sizeof(cmds) / sizeof(cmds[0]))];
}

static const struct {
	void (*make)(struct command *command);
	uint8_t weight;
	bool odd;    /* only where something is to be wrong */
	bool newest; /* freeze notifications */
} makers[COMMAND_OPS] = {
	[COMMAND_TXN] = { make_txn, 45 },
	[COMMAND_REPLY] = { make_txn, 18 },
	[COMMAND_FREE] = { make_free, 14 },
	[COMMAND_INCREFS] = { make_handle, 4 },
	[COMMAND_ACQUIRE] = { make_handle, 8 },
	[COMMAND_RELEASE] = { make_handle, 6 },
	[COMMAND_DECREFS] = { make_handle, 4 },
	[COMMAND_INCREFS_DONE] = { make_pair, 4, .odd = true },
	[COMMAND_ACQUIRE_DONE] = { make_pair, 4, .odd = true },
	[COMMAND_DEATH] = { make_notice, 8 },
	[COMMAND_CLEAR_DEATH] = { make_notice, 4 },
	[COMMAND_DEAD_DONE] = { make_cookie, 3, .odd = true },
	[COMMAND_FREEZE_NOTICE] = { make_notice, 6, .newest = true },
	[COMMAND_CLEAR_FREEZE] = { make_notice, 3, .newest = true },
	[COMMAND_FREEZE_DONE] = { make_cookie, 3, .odd = true, .newest = true },
	[COMMAND_ENTER] = { make_bare, 2 },
	[COMMAND_REGISTER] = { make_bare, 2 },
	[COMMAND_LEAVE] = { make_bare, 1 },
	[COMMAND_RAW] = { make_raw, 2, .odd = true },
	[COMMAND_NOTICES] = { make_bare, 14 },
	[COMMAND_SERVE] = { make_bare, 16 },
	[COMMAND_KEEP] = { make_bare, 10 },
	[COMMAND_FREE_ALL] = { make_bare, 4 },
};

static void add_command(struct step *step)
{
	struct command *command = &step->commands[step->nr_commands++];
	uint8_t weights[COMMAND_OPS];

	for (unsigned int i = 0; i < COMMAND_OPS; i++) {
		weights[i] = makers[i].weight;
		if ((makers[i].odd && !wrong()) ||
		    (makers[i].newest && gen.omit->freeze_notices))
			weights[i] = 0;
	}
	command->op = weighted(weights, COMMAND_OPS);
	makers[command->op].make(command);
}

static void make_wr(struct step *step)
{
	static const uint16_t rooms[] = { 0,  4,  8,  12, 16, 20, 24, 40,
					  44, 48, 64, 68, 72, 76, 100 };
	static const uint8_t lengths[MAX_COMMANDS + 1] = { 22, 45, 16, 8, 5, 3, 1 };
	unsigned int nr = weighted(lengths, MAX_COMMANDS + 1);

	if (percent(gen.traits.answers)) {
		step->commands[0].op = COMMAND_NOTICES;
		step->commands[1].op = COMMAND_SERVE;
		step->commands[2].op = COMMAND_KEEP;
		step->nr_commands = 3;
	}
	while (step->nr_commands < nr)
		add_command(step);
	/* What was done before the error stays done. */
	if (step->nr_commands && step->nr_commands < MAX_COMMANDS && wrong() && percent(20)) {
		step->commands[step->nr_commands].op = COMMAND_RAW;
		make_raw(&step->commands[step->nr_commands++]);
	}
	if (!percent(gen.traits.cramped))
		step->field[WR_ROOM] = 4096;
	else if (percent(60))
		step->field[WR_ROOM] = rooms[below(sizeof(rooms) / sizeof(rooms[0]))];
	if (percent(gen.traits.cramped) && percent(10))
		step->field[WR_BAD_READ] = 1;
	if (wrong() && percent(20))
		step->field[WR_CUT] = 1 + below(40);
	if (wrong() && percent(10))
		step->field[WR_OLD_WRITE] = 4 * below(12);
	if (wrong() && percent(10))
		step->field[WR_BAD] = 1;
	if (wrong() && percent(10))
		step->field[WR_OLD_READ] =
			4 * below((unsigned int)step->field[WR_ROOM] / 4 % 20 + 1);
}

static unsigned int mapping_pages(void)
{
	return gen.traits.pages / 2 + 1 + below(gen.traits.pages);
}

static void make_spawn(struct step *step)
{
	step->field[SPAWN_PAGES] = mapping_pages();
	if (percent(20))
		step->field[SPAWN_IN] = 1 + below(gen.traits.clients);
	step->field[SPAWN_UNMAPPED] = wrong() && percent(20);
	gen.open[step->client] = true;
}

static void make_end(struct step *step)
{
	gen.open[step->client] = false;
}

static void make_pump(struct step *step)
{
	step->field[0] = 1 + below(3);
}

/*
 * Not FLAT_BINDER_FLAG_TXN_SECURITY_CTX: without a security module the C driver fails every
 * call to such a node; this one does not, on purpose (docs/PROTOCOL.md).
 */
static void make_manager_ext(struct step *step)
{
	step->field[OBJ_NODE] = below(6);
	step->field[OBJ_COOKIE] = wrong();
	step->field[OBJ_FLAGS] = 0x100;
}

static void make_small(struct step *step)
{
	step->field[0] = below(4);
}

static void make_freeze(struct step *step)
{
	step->field[FREEZE_CLIENT] = wrong() ? 99 : below(gen.traits.clients);
	step->field[FREEZE_ENABLE] = percent(60);
	step->field[FREEZE_MS] = percent(5);
}

/* Only the manager may query it, which is mostly the first client. */
static void make_ref_info(struct step *step)
{
	if (percent(70))
		step->client = 0;
	step->field[0] = any_handle();
	step->field[1] = wrong();
}

static void make_ioctl(struct step *step)
{
	static const uint32_t cmds[] = {
		BINDER_SET_IDLE_TIMEOUT, BINDER_SET_IDLE_PRIORITY, _IOWR('b', 1, uint32_t),
		_IOWR('b', 42, uint64_t), _IO('x', 9), _IOW('b', 5, uint64_t),
	};

	step->field[0] = cmds[below(sizeof(cmds) / sizeof(cmds[0]))];
}

static void make_exit(struct step *step)
{
	step->field[EXIT_UNREAD] = percent(70) ? UNREAD_OTHERS : UNREAD_NONE;
}

static void make_plain(struct step *step)
{
}

static const struct {
	void (*make)(struct step *step);
	uint8_t weight;
	bool odd;
} step_makers[STEP_OPS] = {
	[STEP_SPAWN] = { make_spawn, 3 },
	[STEP_CLOSE] = { make_end, 1 },
	[STEP_KILL] = { make_end, 2 },
	[STEP_WR] = { make_wr, 180 },
	[STEP_DRAIN] = { make_plain, 6 },
	[STEP_PUMP] = { make_pump, 6 },
	[STEP_EXIT] = { make_exit, 0 /* traits.leaves */ },
	[STEP_MANAGER] = { make_plain, 2 },
	[STEP_MANAGER_EXT] = { make_manager_ext, 1 },
	[STEP_MAX_THREADS] = { make_small, 2 },
	[STEP_VERSION] = { make_plain, 1, .odd = true },
	[STEP_FREEZE] = { make_freeze, 6 },
	[STEP_FROZEN_INFO] = { make_freeze, 4 },
	[STEP_SPAM] = { make_small, 1 },
	[STEP_ERROR] = { make_plain, 6 },
	[STEP_NODE_INFO] = { make_small, 4 },
	[STEP_REF_INFO] = { make_ref_info, 4 },
	[STEP_POLL] = { make_plain, 4 },
	[STEP_IOCTL] = { make_ioctl, 1, .odd = true },
};

static void make_step(struct step *step)
{
	uint8_t weights[STEP_OPS];

	step->client = below(gen.traits.clients);
	step->thread = percent(60) ? 0 : below(gen.traits.threads);
	for (unsigned int i = 0; i < STEP_OPS; i++)
		weights[i] = step_makers[i].odd && !wrong() ? 0 : step_makers[i].weight;
	weights[STEP_EXIT] = gen.traits.leaves;
	/* A closed client mostly opens again; sometimes it tries something that is refused. */
	step->op = gen.open[step->client] || percent(3) ? weighted(weights, STEP_OPS) : STEP_SPAWN;
	step_makers[step->op].make(step);
}

/* All clients open the device, the first becomes manager, and each other one sends it a node. */
static size_t make_setup(struct script *script)
{
	size_t at = 0;

	for (unsigned int i = 0; i < gen.traits.clients && at < script->nr; i++) {
		struct step *step = &script->steps[at++];

		step->client = i;
		step->op = STEP_SPAWN;
		step->field[SPAWN_PAGES] = mapping_pages();
		gen.open[i] = true;
	}
	/* A manager set by BINDER_SET_CONTEXT_MGR accepts no files. */
	if (at < script->nr && percent(30))
		script->steps[at++] = (struct step){ .op = STEP_MANAGER };
	else if (at < script->nr)
		script->steps[at++] = (struct step){ STEP_MANAGER_EXT, .field = { 5, 0, 0x100 } };
	for (unsigned int i = 1; i < gen.traits.clients && at < script->nr; i++) {
		struct step *step = &script->steps[at++];

		step->client = i;
		step->op = STEP_WR;
		step->nr_commands = 1;
		step->commands[0].op = COMMAND_TXN;
		step->commands[0].field[TXN_FLAGS] = TF_ONE_WAY;
		step->commands[0].nr_objects = 1;
		step->commands[0].objects[0] = (struct object_spec){ 'b', { [OBJ_FLAGS] = 0x100 } };
	}
	for (unsigned int i = 0; gen.traits.spam && i < gen.traits.clients && at < script->nr; i++)
		script->steps[at++] = (struct step){ STEP_SPAM, i, .field = { percent(60) } };
	if (at < script->nr)
		script->steps[at++] = (struct step){ STEP_PUMP, .field = { 2 } };
	return at;
}

/*
 * Two clients send one-way calls to an object, mostly until its owner's space for them is full.
 * Who is a suspect of spam depends on their shares of the space and on how many calls they have in
 * it; who is notified, on what they have asked for.
 */
static size_t make_flood(struct script *script, size_t at)
{
	unsigned int senders[] = { 1 + below(gen.traits.clients - 1), below(gen.traits.clients) };
	unsigned int lead = 40 + below(60); /* percent of the steps that are the first sender's */
	unsigned int largest = gen.traits.pages * 4096 / (4 + below(28));
	bool many = percent(25); /* calls of the first sender, which are small */
	struct command call = { .op = COMMAND_TXN };
	size_t end = at + 4 + below(many ? 24 : 8);

	call.field[TXN_HANDLE] = percent(75) ? 0 : any_handle();
	call.field[TXN_CODE] = below(16);
	call.field[TXN_FLAGS] = TF_ONE_WAY | (percent(20) ? TF_UPDATE_TXN : 0);
	for (; at < end && at < script->nr; at++) {
		unsigned int who = !percent(lead);
		struct step *step = &script->steps[at];

		*step = (struct step){ STEP_WR, senders[who] };
		if (percent(15)) {
			step->op = percent(60) ? STEP_ERROR : STEP_SPAM;
			step->field[0] = step->op == STEP_SPAM && percent(70);
			continue;
		}
		step->field[WR_ROOM] = percent(90) ? 4096 : 0;
		step->nr_commands = many ? MAX_COMMANDS : 1 + below(MAX_COMMANDS);
		for (unsigned int i = 0; i < step->nr_commands; i++) {
			call.field[TXN_SIZE] = below(many && !who ? 16 : largest);
			step->commands[i] = call;
		}
	}
	if (at < script->nr && percent(70))
		script->steps[at++] = (struct step){ STEP_PUMP, .field = { 1 + below(6) } };
	return at;
}

static void choose_traits(void)
{
	static const uint8_t pages[] = { 1, 2, 4, 16, 64 };
	static const uint8_t wrongs[] = { 0, 2, 8, 25 };

	gen.traits = (struct traits){
		.clients = 2 + below(MAX_CLIENTS - 1),
		.threads = 1 + below(MAX_THREADS),
		.pages = pages[below(sizeof(pages))],
		.wrong = wrongs[below(sizeof(wrongs))],
		.objects = 20 + below(60),
		.oneway = 10 + below(60),
		.large = percent(50) ? 0 : 5 + below(30),
		.answers = 10 + below(60),
		.rude = percent(50) ? 5 : below(60),
		.weak = percent(50) ? 20 : 20 + below(60),
		.leaves = percent(60) ? 2 : 2 + below(20),
		.cramped = percent(50) ? 25 : 25 + below(30),
		.spam = percent(15),
	};
}

struct script *generate(uint64_t seed, size_t steps, const struct omissions *omit)
{
	struct script *script;
	size_t at;

	memset(&gen, 0, sizeof(gen));
	gen.state = seed * 0x2545f4914f6cdd1du + 1;
	gen.omit = omit;
	choose_traits();
	/* Floods, a quarter of the steps, are not to make the others rarer. */
	script = script_new(gen.traits.spam ? steps + steps / 2 : steps);
	at = make_setup(script);
	while (at < script->nr) {
		if (gen.traits.spam && percent(3))
			at = make_flood(script, at);
		else
			make_step(&script->steps[at++]);
	}
	return script;
}
