// SPDX-License-Identifier: GPL-2.0
/*
 * Two tables list the names and the fields of the steps and the commands; printing and parsing
 * both use them, so that a printed script can be read again.
 */
#include <stdlib.h>
#include <string.h>

#include "script.h"

struct word {
	const char *name;
	const char *fields[MAX_FIELDS];
};

static const struct word step_words[STEP_OPS] = {
	[STEP_SPAWN] = { "spawn", { "pages", "in", "unmapped" } },
	[STEP_CLOSE] = { "close", { NULL } },
	[STEP_KILL] = { "kill", { NULL } },
	[STEP_WR] = { "wr", { "room", "cut", "old_read", "old_write", "bad", "bad_read" } },
	[STEP_DRAIN] = { "drain", { NULL } },
	[STEP_PUMP] = { "pump", { "rounds" } },
	[STEP_EXIT] = { "exit", { "unread" } },
	[STEP_MANAGER] = { "manager", { NULL } },
	[STEP_MANAGER_EXT] = { "manager_ext", { "node", "cookie", "flags" } },
	[STEP_MAX_THREADS] = { "max_threads", { "n" } },
	[STEP_VERSION] = { "version", { NULL } },
	[STEP_FREEZE] = { "freeze", { "client", "enable", "ms" } },
	[STEP_FROZEN_INFO] = { "frozen_info", { "client" } },
	[STEP_SPAM] = { "spam", { "enable" } },
	[STEP_ERROR] = { "error", { NULL } },
	[STEP_NODE_INFO] = { "node_info", { "node" } },
	[STEP_REF_INFO] = { "ref_info", { "h", "strong" } },
	[STEP_POLL] = { "poll", { NULL } },
	[STEP_IOCTL] = { "ioctl", { "cmd" } },
};

static const struct word command_words[COMMAND_OPS] = {
	[COMMAND_TXN] = { "txn", { "h", "code", "flags", "size", "sg", "twist", "polite" } },
	[COMMAND_REPLY] = { "reply", { "h", "code", "flags", "size", "sg", "twist", "polite" } },
	[COMMAND_FREE] = { "free", { "b" } },
	[COMMAND_INCREFS] = { "increfs", { "h" } },
	[COMMAND_ACQUIRE] = { "acquire", { "h" } },
	[COMMAND_RELEASE] = { "release", { "h" } },
	[COMMAND_DECREFS] = { "decrefs", { "h" } },
	[COMMAND_INCREFS_DONE] = { "increfs_done", { "node", "cookie" } },
	[COMMAND_ACQUIRE_DONE] = { "acquire_done", { "node", "cookie" } },
	[COMMAND_DEATH] = { "death", { "h", "cookie" } },
	[COMMAND_CLEAR_DEATH] = { "clear_death", { "h", "cookie" } },
	[COMMAND_DEAD_DONE] = { "dead_done", { "cookie" } },
	[COMMAND_FREEZE_NOTICE] = { "freeze_notice", { "h", "cookie" } },
	[COMMAND_CLEAR_FREEZE] = { "clear_freeze", { "h", "cookie" } },
	[COMMAND_FREEZE_DONE] = { "freeze_done", { "cookie" } },
	[COMMAND_ENTER] = { "enter", { NULL } },
	[COMMAND_REGISTER] = { "register", { NULL } },
	[COMMAND_LEAVE] = { "leave", { NULL } },
	[COMMAND_RAW] = { "raw", { "cmd" } },
	[COMMAND_NOTICES] = { "notices", { NULL } },
	[COMMAND_SERVE] = { "serve", { NULL } },
	[COMMAND_KEEP] = { "keep", { NULL } },
	[COMMAND_FREE_ALL] = { "free_all", { NULL } },
};

/* Kinds of objects: binder, weak binder, handle, weak handle, file, pointer, file array,
 * unknown. */
static const struct {
	char kind;
	unsigned int fields;
} object_words[] = {
	{ 'b', 3 }, { 'w', 3 }, { 'h', 3 }, { 'v', 3 },
	{ 'f', 1 }, { 'p', 4 }, { 'a', 3 }, { 'u', 1 },
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

struct script *script_new(size_t nr)
{
	struct script *script = calloc(1, sizeof(*script));

	if (script)
		script->steps = calloc(nr ? nr : 1, sizeof(*script->steps));
	if (!script || !script->steps) {
		perror("differential: no room for a script");
		exit(2);
	}
	script->nr = nr;
	return script;
}

void script_free(struct script *script)
{
	free(script->steps);
	free(script);
}

static void print_value(FILE *to, int64_t value)
{
	if (value < 0)
		fprintf(to, "@%zu", PICKED(value));
	else if (value >= FREED_BASE)
		fprintf(to, "!%lld", (long long)(value - FREED_BASE));
	else if (value >= 4096)
		fprintf(to, "0x%llx", (unsigned long long)value);
	else
		fprintf(to, "%lld", (long long)value);
}

static void print_fields(FILE *to, const struct word *word, const int64_t *fields)
{
	fprintf(to, "%s", word->name);
	for (size_t i = 0; i < MAX_FIELDS && word->fields[i]; i++) {
		if (!fields[i])
			continue;
		fprintf(to, " %s=", word->fields[i]);
		print_value(to, fields[i]);
	}
}

static unsigned int object_fields(char kind)
{
	for (size_t i = 0; i < NR(object_words); i++) {
		if (object_words[i].kind == kind)
			return object_words[i].fields;
	}
	return 0;
}

static void print_object(FILE *to, const struct object_spec *object)
{
	fprintf(to, " obj=%c", object->kind);
	for (unsigned int i = 0; i < object_fields(object->kind); i++) {
		fputc(':', to);
		print_value(to, object->field[i]);
	}
}

static void print_step(FILE *to, const struct step *step)
{
	fprintf(to, "%u.%u ", step->client, step->thread);
	print_fields(to, &step_words[step->op], step->field);
	for (unsigned int i = 0; i < step->nr_commands; i++) {
		const struct command *command = &step->commands[i];

		fprintf(to, " ; ");
		print_fields(to, &command_words[command->op], command->field);
		for (unsigned int n = 0; n < command->nr_objects; n++)
			print_object(to, &command->objects[n]);
	}
}

void step_print(const struct step *step, char *text, size_t size)
{
	FILE *to = fmemopen(text, size, "w");

	if (!to) {
		perror("differential: fmemopen");
		exit(2);
	}
	print_step(to, step);
	fclose(to);
}

void script_print(const struct script *script, FILE *to)
{
	for (size_t i = 0; i < script->nr; i++) {
		print_step(to, &script->steps[i]);
		fputc('\n', to);
	}
}

static bool parse_value(const char *text, int64_t *value)
{
	char *end;

	if (*text == '@')
		*value = PICK(strtoll(text + 1, &end, 10));
	else if (*text == '!')
		*value = FREED(strtoll(text + 1, &end, 10));
	else
		*value = strtoll(text, &end, 0);
	return end > text && !*end;
}

static int find_word(const struct word *words, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(words[i].name, name))
			return (int)i;
	}
	return -1;
}

/* "name=value" into the field of that name. */
static bool parse_field(const struct word *word, char *text, int64_t *fields)
{
	char *value = strchr(text, '=');

	if (!value)
		return false;
	*value++ = '\0';
	for (size_t i = 0; i < MAX_FIELDS && word->fields[i]; i++) {
		if (!strcmp(word->fields[i], text))
			return parse_value(value, &fields[i]);
	}
	return false;
}

/* "b:1:0:0" as the next object of the command. */
static bool parse_object(struct command *command, char *text)
{
	struct object_spec *object = &command->objects[command->nr_objects];
	unsigned int fields = object_fields(text[0]), n = 0;
	char *save, *part = strtok_r(text, ":", &save);

	if (!fields || command->nr_objects++ == MAX_SPECS)
		return false;
	object->kind = text[0];
	while ((part = strtok_r(NULL, ":", &save))) {
		if (n == fields || !parse_value(part, &object->field[n++]))
			return false;
	}
	return n == fields;
}

static bool parse_command(struct step *step, char *text)
{
	struct command *command = &step->commands[step->nr_commands];
	char *save, *part = strtok_r(text, " \n", &save);
	int op = part ? find_word(command_words, COMMAND_OPS, part) : -1;

	if (op < 0 || step->nr_commands++ == MAX_COMMANDS)
		return false;
	command->op = (enum command_op)op;
	while ((part = strtok_r(NULL, " \n", &save))) {
		bool good = strncmp(part, "obj=", 4) ?
				    parse_field(&command_words[op], part, command->field) :
				    parse_object(command, part + 4);

		if (!good)
			return false;
	}
	return true;
}

static bool parse_step(struct step *step, char *text)
{
	char *save, *rest, *part, *head = strtok_r(text, ";", &rest);
	int op;

	part = head ? strtok_r(head, " \n", &save) : NULL;
	if (!part || sscanf(part, "%u.%u", &step->client, &step->thread) != 2 ||
	    step->client >= MAX_CLIENTS || step->thread >= MAX_THREADS)
		return false;
	part = strtok_r(NULL, " \n", &save);
	op = part ? find_word(step_words, STEP_OPS, part) : -1;
	if (op < 0)
		return false;
	step->op = (enum step_op)op;
	while ((part = strtok_r(NULL, " \n", &save))) {
		if (!parse_field(&step_words[op], part, step->field))
			return false;
	}
	while ((part = strtok_r(NULL, ";", &rest))) {
		if (!parse_command(step, part))
			return false;
	}
	return true;
}

struct script *script_read(FILE *from, const char *name)
{
	struct script *script = script_new(0);
	size_t room = 0, number = 0;
	char *line = NULL;

	while (getline(&line, &room, from) > 0) {
		struct step *steps;

		number++;
		if (line[0] == '#' || line[0] == '\n')
			continue;
		steps = reallocarray(script->steps, script->nr + 1, sizeof(*steps));
		if (!steps) {
			perror("differential: no room for a script");
			exit(2);
		}
		script->steps = steps;
		memset(&steps[script->nr], 0, sizeof(*steps));
		if (!parse_step(&steps[script->nr++], line)) {
			fprintf(stderr, "%s:%zu: not a step\n", name, number);
			script_free(script);
			script = NULL;
			break;
		}
	}
	free(line);
	return script;
}
