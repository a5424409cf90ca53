// SPDX-License-Identifier: GPL-2.0
/*
 * `pools` has the format of ION: a line for each order and kind with the number of pooled blocks
 * and bytes. `contention` shows how often each pool was used and its lock found taken. `shrink`:
 * reading it gives the bytes that can be freed to the system, writing a number frees that many.
 */
#include "debugfs.h"

#include "body.h"
#include "buffer.h"

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

static const char *const kind_names[] = {
	[STORE_CACHED] = "cached",
	[STORE_UNCACHED] = "uncached",
};

static struct dentry *dir;

static int pools_show(struct seq_file *seq, void *unused)
{
	unsigned int kind, i;
	unsigned long nr;

	for (i = 0; i < STORE_ORDERS; i++) {
		for (kind = 0; kind < STORE_KINDS; kind++) {
			nr = store_blocks(&body_store, kind, i);
			seq_printf(seq, "%lu order %u %s pages %lu total\n", nr, store_orders[i],
				   kind_names[kind], (PAGE_SIZE << store_orders[i]) * nr);
		}
	}
	seq_printf(seq, "%lu in use\n%lu to be cleaned\n", body_used_pages() << PAGE_SHIFT,
		   body_uncleaned_pages() << PAGE_SHIFT);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(pools);

/* Blocks added, locks found taken; blocks removed, locks found taken. */
static void add_counts(const struct pool *pool, long row[4])
{
	row[0] += pool_host_read(&pool->adds);
	row[1] += pool_host_read(&pool->taken[POOL_ADD]);
	row[2] += pool_host_read(&pool->removes);
	row[3] += pool_host_read(&pool->taken[POOL_REMOVE]);
}

static int contention_show(struct seq_file *seq, void *unused)
{
	long sums[4] = { 0 };
	unsigned int kind, i, nr;

	for (i = 0; i < STORE_ORDERS; i++) {
		for (kind = 0; kind < STORE_KINDS; kind++) {
			long row[4] = { 0 };

			for (nr = 0; nr < STORE_POOLS; nr++)
				add_counts(&body_store.pools[kind][i][nr], row);
			seq_printf(seq, "order %u %s: added %ld taken %ld removed %ld taken %ld\n",
				   store_orders[i], kind_names[kind], row[0], row[1], row[2],
				   row[3]);
			for (int column = 0; column < 4; column++)
				sums[column] += row[column];
		}
	}
	seq_printf(seq, "total: added %ld taken %ld removed %ld taken %ld\n", sums[0], sums[1],
		   sums[2], sums[3]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(contention);

static int buffers_show(struct seq_file *seq, void *unused)
{
	buffer_report(seq);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(buffers);

static int shrink_get(void *unused, u64 *bytes)
{
	*bytes = (u64)(body_uncleaned_pages() + store_pages(&body_store)) << PAGE_SHIFT;
	return 0;
}

static int shrink_set(void *unused, u64 bytes)
{
	if (bytes)
		body_shrink((unsigned long)((bytes - 1) >> PAGE_SHIFT) + 1);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(shrink_fops, shrink_get, shrink_set, "%llu\n");

/* Errors are ignored: the heaps work without debugfs. */
void heap_debugfs_init(void)
{
	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("pools", 0444, dir, NULL, &pools_fops);
	debugfs_create_file("contention", 0444, dir, NULL, &contention_fops);
	debugfs_create_file("buffers", 0400, dir, NULL, &buffers_fops);
	debugfs_create_file_unsafe("shrink", 0600, dir, NULL, &shrink_fops);
}

void heap_debugfs_exit(void)
{
	debugfs_remove_recursive(dir);
}
