// SPDX-License-Identifier: GPL-2.0
/*
 * KCOV for one module, on kernels that are built without it: /sys/kernel/debug/kcov with the ioctls
 * of the kernel's Documentation/dev-tools/kcov.rst, without comparisons and remote coverage. Code
 * that is compiled with -fsanitize-coverage=trace-pc calls __sanitizer_cov_trace_pc() here.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>

#define KCOV_INIT_TRACE _IOR('c', 1, unsigned long)
#define KCOV_ENABLE _IO('c', 100)
#define KCOV_DISABLE _IO('c', 101)
#define KCOV_TRACE_PC 0

#define SLOT_BITS 14
#define MAX_WORDS (1UL << 21)

/* An open file. The first word of what it has mapped is the number of addresses behind it. */
struct area {
	struct mutex lock;
	unsigned long *words;
	unsigned long size; /* in words */
	struct task_struct *task; /* whose addresses are stored; it is only compared */
};

/* The areas that are enabled, each in the slot of its task; others with that slot are refused. */
static struct area *slots[1 << SLOT_BITS];
static struct dentry *file, *covered_file;
static struct tracepoint *task_exits;

static struct area **slot_of(struct task_struct *task)
{
	return &slots[hash_ptr(task, SLOT_BITS)];
}

/* The basic blocks that any task has reached, by their addresses: the module is smaller. */
#define NR_BLOCKS (1UL << 24)
static unsigned long covered[BITS_TO_LONGS(NR_BLOCKS)];

void __sanitizer_cov_trace_pc(void);

notrace void __sanitizer_cov_trace_pc(void)
{
	unsigned long block = _RET_IP_ % NR_BLOCKS;
	struct area *area;

	if (!test_bit(block, covered))
		set_bit(block, covered);
	if (!in_task())
		return;
	/* Not preempt_disable(), which calls: the caller may be in the middle of a user copy. */
	__preempt_count_add(1);
	barrier();
	area = READ_ONCE(*slot_of(current));
	if (area && area->task == current && area->words[0] + 1 < area->size)
		area->words[++area->words[0]] = _RET_IP_;
	barrier();
	__preempt_count_sub(1);
}
EXPORT_SYMBOL_GPL(__sanitizer_cov_trace_pc);

static int open_area(struct inode *inode, struct file *filp)
{
	struct area *area = kzalloc(sizeof(*area), GFP_KERNEL);

	if (!area)
		return -ENOMEM;
	mutex_init(&area->lock);
	filp->private_data = area;
	return nonseekable_open(inode, filp);
}

static void disable_area(struct area *area)
{
	struct task_struct *task = READ_ONCE(area->task);

	if (!task)
		return;
	cmpxchg(slot_of(task), area, NULL);
	synchronize_rcu();
	WRITE_ONCE(area->task, NULL);
}

/* A task ends, and its area can be enabled for another one. Runs where one cannot sleep. */
static void release_area(void *data, struct task_struct *task)
{
	struct area *area = READ_ONCE(*slot_of(task));

	if (area && READ_ONCE(area->task) == task && cmpxchg(slot_of(task), area, NULL) == area)
		WRITE_ONCE(area->task, NULL);
}

static void find_task_exits(struct tracepoint *tracepoint, void *data)
{
	if (!strcmp(tracepoint->name, "sched_process_exit"))
		task_exits = tracepoint;
}

static int close_area(struct inode *inode, struct file *filp)
{
	struct area *area = filp->private_data;

	disable_area(area);
	vfree(area->words);
	kfree(area);
	return 0;
}

static int enable_area(struct area *area, unsigned long mode)
{
	if (mode != KCOV_TRACE_PC)
		return -EOPNOTSUPP;
	if (!area->words || area->task)
		return -EINVAL;
	area->task = current;
	if (cmpxchg(slot_of(current), NULL, area)) {
		area->task = NULL;
		return -EBUSY;
	}
	return 0;
}

static int init_area(struct area *area, unsigned long size)
{
	if (area->words)
		return -EBUSY;
	if (size < 2 || size > MAX_WORDS)
		return -EINVAL;
	area->words = vmalloc_user(size * sizeof(*area->words));
	area->size = size;
	return area->words ? 0 : -ENOMEM;
}

static long area_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct area *area = filp->private_data;
	long result = -ENOTTY;

	mutex_lock(&area->lock);
	if (cmd == KCOV_INIT_TRACE)
		result = init_area(area, arg);
	else if (cmd == KCOV_ENABLE)
		result = enable_area(area, arg);
	else if (cmd == KCOV_DISABLE) {
		result = area->task == current ? 0 : -EINVAL;
		if (!result)
			disable_area(area);
	}
	mutex_unlock(&area->lock);
	return result;
}

static int mmap_area(struct file *filp, struct vm_area_struct *vma)
{
	struct area *area = filp->private_data;

	return area->words ? remap_vmalloc_range(vma, area->words, vma->vm_pgoff) : -EINVAL;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open_area,
	.release = close_area,
	.unlocked_ioctl = area_ioctl,
	.mmap = mmap_area,
};

static int count_covered(void *data, u64 *nr)
{
	*nr = bitmap_weight(covered, NR_BLOCKS);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(covered_operations, count_covered, NULL, "%llu\n");

static int __init kcov_begin(void)
{
	int result;

	for_each_kernel_tracepoint(find_task_exits, NULL);
	if (!task_exits)
		return -ENOENT;
	result = tracepoint_probe_register(task_exits, release_area, NULL);
	if (result)
		return result;
	file = debugfs_create_file_unsafe("kcov", 0600, NULL, NULL, &operations);
	covered_file = debugfs_create_file("kcov-covered", 0400, NULL, NULL, &covered_operations);
	return 0;
}

static void __exit kcov_end(void)
{
	debugfs_remove(file);
	debugfs_remove(covered_file);
	tracepoint_probe_unregister(task_exits, release_area, NULL);
	tracepoint_synchronize_unregister();
}

module_init(kcov_begin);
module_exit(kcov_end);
MODULE_DESCRIPTION("KCOV for one module");
MODULE_LICENSE("GPL");
