// SPDX-License-Identifier: GPL-2.0
/*
 * The index of a counter and of its name is ABI_IOC_NR() of the command or return.
 *
 * Tested in: core/reports/report_test.c
 */
#include "common/stats.h"

#include "common/abi_list.h"

struct binder_stats binder_stats_world;

#define NAME(code) [ABI_IOC_NR(code)] = #code,

static const char *const command_names[BINDER_NR_COMMANDS] = { BINDER_COMMANDS(NAME) };
static const char *const return_names[BINDER_NR_RETURNS] = { BINDER_RETURNS(NAME) };

const char *binder_command_name(u32 nr)
{
	return nr < BINDER_NR_COMMANDS ? command_names[nr] : NULL;
}

const char *binder_return_name(u32 nr)
{
	return nr < BINDER_NR_RETURNS ? return_names[nr] : NULL;
}

void binder_stats_created(enum binder_stat what)
{
	binder_stats_created_by(&binder_stats_world, what);
}

void binder_stats_deleted(enum binder_stat what)
{
	binder_stats_deleted_by(&binder_stats_world, what);
}

static void add_all(struct host_atomic *to, const struct host_atomic *from, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		host_atomic_add(&to[i], host_atomic_read(&from[i]));
}

void binder_stats_add(struct binder_stats *to, const struct binder_stats *from)
{
	add_all(to->bc, from->bc, BINDER_NR_COMMANDS);
	add_all(to->br, from->br, BINDER_NR_RETURNS);
	add_all(to->created, from->created, STAT_COUNT);
	add_all(to->deleted, from->deleted, STAT_COUNT);
}
