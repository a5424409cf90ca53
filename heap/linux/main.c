// SPDX-License-Identifier: GPL-2.0
/*
 * The module: its parameters, and what is set up in which order.
 *
 * A kernel may have the framework for heaps and a heap `system` built in. That one is left alone;
 * what such a kernel lacks is brought beside it, under the name that everybody looks for.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "body.h"
#include "device.h"
#include "report.h"

#include <linux/module.h>
#include <linux/string.h>

static char *heaps[STORE_KINDS] = { "system", "system-uncached" };
static int nr_heaps;
module_param_array(heaps, charp, &nr_heaps, 0444);
MODULE_PARM_DESC(heaps, "names of the cached and the uncached heap in /dev/dma_heap; an empty "
			"name: no such heap (default: system,system-uncached)");

static const char *const regimes[] = { "lockless", "mutex" };

static int regime_set(const char *value, const struct kernel_param *param)
{
	int regime = sysfs_match_string(regimes, value);

	if (regime < 0)
		return regime;
	if (regime)
		static_branch_enable(&pages_regime_mutex);
	else
		static_branch_disable(&pages_regime_mutex);
	return 0;
}

static int regime_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", regimes[static_key_enabled(&pages_regime_mutex)]);
}

static const struct kernel_param_ops regime_ops = { .set = regime_set, .get = regime_get };
module_param_cb(regime, &regime_ops, NULL, 0644);
MODULE_PARM_DESC(regime, "how pools are locked: lockless (default); mutex: also by those who free");

static bool is_wanted(const char *name, enum store_kind kind)
{
	if (!name || !*name)
		return false;
	if (kind == STORE_UNCACHED && !PAGES_UNCACHED) {
		pr_info("memory cannot be made uncached on this architecture: no heap %s\n", name);
		return false;
	}
	if (IS_ENABLED(CONFIG_DMABUF_HEAPS_SYSTEM) && !strcmp(name, "system")) {
		pr_info("the kernel has a heap %s of its own, which stays\n", name);
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
			pr_err("no heap %s: error %d\n", heaps[kind], err);
			return err;
		}
		added++;
	}
	if (added)
		return 0;
	pr_err("there is no heap to add\n");
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
	report_init();
	return 0;

no_devices:
	heap_devices_exit();
no_class:
	body_exit();
	return err;
}

static void __exit anybinder_heap_exit(void)
{
	report_exit();
	heap_devices_exit();
	body_exit();
}

module_init(anybinder_heap_init);
module_exit(anybinder_heap_exit);

MODULE_DESCRIPTION("DMA-BUF heaps with a lock-less page pool");
MODULE_LICENSE("GPL v2");
