// SPDX-License-Identifier: GPL-2.0
/*
 * host/state.h for the test host, whose processes and files stay where they are while the engine is
 * written and restored: their numbers lead to them.
 */
#include "state.h"

#include "core.h"
#include "common/stats.h"
#include "entities/context.h"
#include "entities/world.h"
#include "host.h"

#include <stdlib.h>
#include <string.h>

struct kept_file {
	struct host_file *file;
	struct kept_file *next;
};

struct binder_context *sim_device;
struct sim_thread *(*sim_thread_of)(struct sim_proc *proc, s32 tid);

static struct kept_file *kept_files;

u64 host_state_context_id(const struct binder_context *context)
{
	return context == sim_device;
}

u64 host_state_proc_id(const struct host_proc *proc)
{
	return proc->sim->id;
}

u64 host_state_file_id(const struct host_file *file)
{
	struct kept_file *kept = calloc(1, sizeof(*kept));

	kept->file = (struct host_file *)file;
	kept->file->refs++;
	kept->next = kept_files;
	kept_files = kept;
	return file->id;
}

struct binder_context *host_state_context_restore(u64 id, const char *name)
{
	return id == 1 && !strcmp(name, sim_device->name) ? sim_device : NULL;
}

int host_state_proc_restore(struct host_proc *proc, struct host_map *map, u64 id, size_t size)
{
	struct sim_proc *sim = sim_proc_by_id(id);

	sim_may_sleep("host_state_proc_restore");
	if (!sim || size > sim->map_size)
		return -ENOENT;
	proc->sim = sim;
	map->sim = sim;
	sim->restored = proc;
	return sim_fails(SIM_PROC_INIT);
}

int host_state_thread_restore(struct host_thread *thread, struct host_proc *proc, s32 tid)
{
	sim_may_sleep("host_state_thread_restore");
	thread->sim = sim_thread_of(proc->sim, tid);
	return thread->sim ? sim_fails(SIM_THREAD_INIT) : -ENOENT;
}

struct host_file *host_state_file_restore(u64 id)
{
	struct kept_file *kept = kept_files;

	while (kept && kept->file->id != id)
		kept = kept->next;
	if (!kept)
		return NULL;
	kept->file->refs++;
	return kept->file;
}

static u32 references_to_file(const struct host_file *file)
{
	const struct sim_proc *proc;
	const struct kept_file *kept;
	u32 nr = 0, fd;

	for (kept = kept_files; kept; kept = kept->next)
		nr += kept->file == file;
	for (proc = sim_procs; proc; proc = proc->next)
		for (fd = 0; fd < SIM_FDS; fd++)
			nr += proc->fds[fd] == file;
	return nr;
}

/* Ends the references to files that the engine had. */
static void forget_files(void)
{
	struct host_file *file, *next;
	u32 lost;

	for (file = sim_files; file; file = next) {
		next = file->next;
		for (lost = file->refs - references_to_file(file); lost; lost--)
			sim_file_put(file);
	}
}

void sim_state_forget(void)
{
	struct kept_file *kept;

	while ((kept = kept_files)) {
		kept_files = kept->next;
		sim_file_put(kept->file);
		free(kept);
	}
}

void sim_state_keep(struct binder_state *state)
{
	u8 *bytes = malloc(state->size);

	memcpy(bytes, state->bytes, state->size);
	host_free(state->bytes);
	state->bytes = bytes;
}

void sim_state_drop(void)
{
	const bool may_fail = !sim_never_fails;
	struct sim_proc *proc;
	char name[BINDER_NAME_MAX + 1] = "";

	if (sim_device)
		strcpy(name, sim_device->name);
	for (proc = sim_procs; proc; proc = proc->next)
		proc->restored = NULL;
	sim_heap_drop();
	sim_stats.secctxs = 0;
	forget_files();
	binder_stats_world = (struct binder_stats){ 0 };
	memset(&binder_world, 0xdd, sizeof(binder_world));
	binder_world_init();
	binder_world.last_serial = 0;
	host_atomic_set(&binder_world.last_id, 0);
	sim_never_fails = true;
	if (sim_device)
		sim_device = binder_context_new(name);
	sim_never_fails = !may_fail;
}
