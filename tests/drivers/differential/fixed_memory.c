// SPDX-License-Identifier: GPL-2.0
/*
 * A transcript must not depend on addresses. What would differ from run to run either gets a fixed
 * address or number (memory, descriptors) or a name (processes).
 */
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixed_memory.h"
#include "test.h"

/* 6.12's user-mode Linux has 39 bits. */
#define WORLD_AT ((uintptr_t)(sizeof(uintptr_t) > 4 ? 0x2000000000 : 0x40000000))
#define TEXT_ROOM ((size_t)32 << 20)
#define WORLD_ROOM ((size_t)1 << 20)
#define MAX_PIDS 512

/* In this order from WORLD_AT on: world, what is sent, what is read, copies, transcript. */
#define PAYLOAD_AT (WORLD_AT + WORLD_ROOM)
#define READ_AT (PAYLOAD_AT + PAYLOAD_ROOM)
#define COPY_AT (READ_AT + PAYLOAD_ROOM)
#define TEXT_AT (COPY_AT + PAYLOAD_ROOM)
#define TOTAL_ROOM (TEXT_AT + TEXT_ROOM - WORLD_AT)

/* All processes of the run, also dead ones, in shared memory after the world. */
struct pids {
	size_t nr;
	struct {
		pid_t pid;
		unsigned int proc, generation;
	} each[MAX_PIDS];
};

static struct pids *pids;

static void make_files(void)
{
	for (int i = 0; i < NR_FILES; i++) {
		int fd = memfd_create("differential", 0);

		if (fd < 0 || ftruncate(fd, i + 1) || dup2(fd, FIRST_FILE + i) < 0)
			FAIL("making a file: %s", test_errno_name(errno));
		close(fd);
	}
}

struct world *world_new(void)
{
	struct world *world = mmap((void *)WORLD_AT, TOTAL_ROOM, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE |
					   MAP_FIXED_NOREPLACE,
				   -1, 0);

	if (world == MAP_FAILED)
		FAIL("no memory at %lx: %s", (unsigned long)WORLD_AT, test_errno_name(errno));
	pids = (struct pids *)(world + 1);
	if (sizeof(*world) + sizeof(*pids) > WORLD_ROOM)
		FAIL("WORLD_ROOM is too small");
	make_files();
	return world;
}

void say(struct world *world, const char *format, ...)
{
	size_t room = TEXT_ROOM - world->text_used;
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf((char *)TEXT_AT + world->text_used, room, format, args);
	va_end(args);
	if (size < 0 || (size_t)size >= room)
		FAIL("the transcript has grown too long");
	world->text_used += (size_t)size;
}

const char *world_text(const struct world *world)
{
	(void)world;
	return (const char *)TEXT_AT;
}

void *payload_alloc(struct world *world, size_t size)
{
	void *at = (void *)(PAYLOAD_AT + world->payload_used);

	size = (size + 15) & ~(size_t)15;
	if (size > PAYLOAD_ROOM - world->payload_used)
		FAIL("a step sends more than there is room for");
	world->payload_used += size;
	return memset(at, 0, size);
}

uint8_t *world_read_room(struct world *world)
{
	(void)world;
	return (uint8_t *)READ_AT;
}

uint8_t *world_copy_room(struct world *world)
{
	(void)world;
	return (uint8_t *)COPY_AT;
}

struct actor *world_actor(struct world *world, unsigned int proc, unsigned int thread)
{
	struct process *process = &world->processes[proc];

	if (!process->actors[0]) {
		process->actors[0] = actor_process();
		process->generation++;
		if (pids->nr == MAX_PIDS)
			FAIL("too many processes in one run");
		pids->each[pids->nr].pid = actor_pid(process->actors[0]);
		pids->each[pids->nr].proc = proc;
		pids->each[pids->nr].generation = process->generation;
		pids->nr++;
	}
	if (!process->actors[thread])
		process->actors[thread] = actor_thread(process->actors[0]);
	return process->actors[thread];
}

void client_forget(struct client *client)
{
	unsigned int proc = client->proc;

	memset(client, 0, sizeof(*client));
	client->proc = proc;
	client->fd = -1;
	client->nr_handles = 1;
}

void world_kill(struct world *world, unsigned int proc)
{
	struct process *process = &world->processes[proc];

	if (!process->actors[0])
		return;
	actor_kill(process->actors[0]);
	memset(process->actors, 0, sizeof(process->actors));
	for (int i = 0; i < MAX_CLIENTS; i++) {
		if (world->clients[i].proc == proc)
			client_forget(&world->clients[i]);
	}
}

const char *world_pid_name(pid_t pid)
{
	static char name[32];

	if (!pid)
		return "0";
	for (size_t i = pids->nr; i--;) {
		if (pids->each[i].pid != pid)
			continue;
		snprintf(name, sizeof(name), "P%u.%u", pids->each[i].proc,
			 pids->each[i].generation);
		return name;
	}
	return "?";
}

pid_t world_pid(const struct world *world, unsigned int client)
{
	const struct actor *actor = world->processes[world->clients[client].proc].actors[0];

	return actor ? actor_pid(actor) : 0;
}

uint64_t node_ptr(unsigned int client, int64_t node)
{
	return 0x10000u * (client + 1) + 0x40u * (uint64_t)node;
}

uint64_t node_cookie(unsigned int client, int64_t node, int64_t cookie)
{
	return node_ptr(client, node) + 0x1000000u + (uint64_t)cookie;
}
