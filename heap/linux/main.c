// SPDX-License-Identifier: GPL-2.0
/*
 * Module parameters, and the order of initialisation.
 *
 * A kernel may have the dma-heap framework and the heap `system` built in. That heap is kept, and
 * only the missing heap is added, under its usual name.
 */
#include "body.h"
#include "debugfs.h"
#include "dma_heap.h"

#include <linux/module.h>
#include <linux/string.h>

static char *heaps[STORE_KINDS] = { "system", "system-uncached" };
static int nr_heaps;
module_param_array(heaps, charp, &nr_heaps, 0444);
MODULE_PARM_DESC(heaps, "names of the cached and the uncached heap in /dev/dma_heap; an empty "
			"name: no such heap (default: system,system-uncached)");

static const char *const locking_modes[] = { "lockless", "mutex" };

static int locking_set(const char *value, const struct kernel_param *param)
{
	int mode = sysfs_match_string(locking_modes, value);

	if (mode < 0) {
		pr_err("locking=%s is unknown; use locking=lockless or locking=mutex\n", value);
		return mode;
	}
	if (mode)
		static_branch_enable(&pages_locking_mutex);
	else
		static_branch_disable(&pages_locking_mutex);
	return 0;
}

static int locking_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n",
			  locking_modes[static_key_enabled(&pages_locking_mutex)]);
}

static const struct kernel_param_ops locking_ops = { .set = locking_set, .get = locking_get };
module_param_cb(locking, &locking_ops, NULL, 0644);
MODULE_PARM_DESC(locking, "pool lock: taken for removing only, each CPU having its own pools "
			  "(lockless, default), or also for adding (mutex)");

static bool is_wanted(const char *name, enum store_kind kind)
{
	if (!name || !*name)
		return false;
	if (kind == STORE_UNCACHED && !PAGES_UNCACHED) {
		pr_info("this architecture has no uncached memory: heap %s not added\n", name);
		return false;
	}
	if (IS_ENABLED(CONFIG_DMABUF_HEAPS_SYSTEM) && !strcmp(name, "system")) {
		pr_info("the kernel has a heap %s already: not added\n", name);
		return false;
	}
	return true;
}

static int add_devices(void)
{
	unsigned int kind, added = 0;
	int err;

	for (kind = 0; kind < STORE_KINDS; kind++) {
		if (!is_wanted(heaps[kind], kind))
			continue;
		err = heap_device_add(heaps[kind], kind);
		if (err) {
			pr_err("adding heap %s failed: error %d\n", heaps[kind], err);
			return err;
		}
		added++;
	}
	if (added)
		return 0;
	pr_err("no heap to add; check the parameter heaps=\n");
	return -ENODEV;
}

static int __init anybinder_heap_init(void)
{
	int err = body_init();

	if (err)
		return err;
	err = heap_devices_init();
	if (err)
		goto no_class;
	err = add_devices();
	if (err)
		goto no_devices;
	heap_debugfs_init();
	return 0;

no_devices:
	heap_devices_exit();
no_class:
	body_exit();
	return err;
}

static void __exit anybinder_heap_exit(void)
{
	heap_debugfs_exit();
	heap_devices_exit();
	body_exit();
}

module_init(anybinder_heap_init);
module_exit(anybinder_heap_exit);

MODULE_DESCRIPTION("DMA-BUF heaps with a lock-less page pool");
MODULE_LICENSE("GPL v2");
