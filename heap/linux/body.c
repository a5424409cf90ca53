// SPDX-License-Identifier: GPL-2.0
/*
 * Closing the last file of a buffer should not be slowed down by zeroing its pages: the process may
 * be one that is being killed because memory is short. The memory is added to a lock-free list, and
 * a thread of low priority cleans it. If that thread falls behind, the freeing process cleans its
 * pages itself, which throttles it.
 *
 * Pages to be cleaned count as reclaimable, as pooled pages do; freed to the system they need not
 * be cleaned at all.
 */
#include "body.h"

#include "compat/compat.h"

#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/wait.h>

/* Limit of pages waiting for the thread; the default is a few frame buffers. */
static unsigned int deferred_mib = 64;
module_param(deferred_mib, uint, 0644);
MODULE_PARM_DESC(deferred_mib, "limit of freed memory that waits for a thread to clean it; above "
			       "it the freeing process cleans (default: 64)");

struct store body_store;
static atomic_long_t used_pages, uncleaned_pages;
static LLIST_HEAD(uncleaned);
static DECLARE_WAIT_QUEUE_HEAD(cleaner_wait);
static struct task_struct *thread;
static struct shrinker *shrinker;

struct body *body_new(enum store_kind kind, unsigned long nr_pages, bool charged)
{
	struct body *body = kzalloc(sizeof(*body), GFP_KERNEL_ACCOUNT);
	int err;

	if (!body)
		return ERR_PTR(-ENOMEM);
	body->kind = kind;
	body->nr_pages = nr_pages;
	body->charged = charged;
	err = store_take(&body_store, kind, nr_pages, charged, &body->chain);
	if (err) {
		kfree(body);
		return ERR_PTR(err);
	}
	atomic_long_add((long)nr_pages, &used_pages);
	return body;
}

static void body_clean(struct body *body)
{
	struct page *page;

	for (page = body_first(body); page; page = body_next(page))
		pages_clean(page, compound_order(page));
	store_give(&body_store, body->kind, &body->chain);
	kfree(body);
}

static unsigned long free_uncleaned(struct body *body)
{
	unsigned long nr_pages = store_chain_free(body->kind, &body->chain);

	kfree(body);
	return nr_pages;
}

static long uncleaned_pages_max(void)
{
	return (long)READ_ONCE(deferred_mib) << (ilog2(SZ_1M) - PAGE_SHIFT);
}

void body_free(struct body *body)
{
	long nr_pages = (long)body->nr_pages;

	atomic_long_sub(nr_pages, &used_pages);
	if (body->charged) {
		free_uncleaned(body);
	} else if (atomic_long_add_return(nr_pages, &uncleaned_pages) > uncleaned_pages_max()) {
		atomic_long_sub(nr_pages, &uncleaned_pages);
		body_clean(body);
	} else if (llist_add(&body->link, &uncleaned)) {
		wake_up(&cleaner_wait);
	}
}

static int body_cleaner(void *unused)
{
	struct llist_node *all;
	struct body *body, *next;
	long nr_pages;

	while (true) {
		wait_event_idle(cleaner_wait, !llist_empty(&uncleaned) || kthread_should_stop());
		all = llist_del_all(&uncleaned);
		if (!all && kthread_should_stop())
			return 0;
		llist_for_each_entry_safe(body, next, all, link) {
			/* uncleaned until it is pooled */
			nr_pages = (long)body->nr_pages;
			body_clean(body);
			atomic_long_sub(nr_pages, &uncleaned_pages);
		}
	}
}

static unsigned long shrink_uncleaned(unsigned long nr_pages)
{
	struct llist_node *all = llist_del_all(&uncleaned);
	struct body *body, *next;
	unsigned long freed = 0;

	llist_for_each_entry_safe(body, next, all, link) {
		if (freed >= nr_pages) {
			llist_add(&body->link, &uncleaned);
			continue;
		}
		atomic_long_sub((long)body->nr_pages, &uncleaned_pages);
		freed += free_uncleaned(body);
	}
	if (!llist_empty(&uncleaned))
		wake_up(&cleaner_wait);
	return freed;
}

unsigned long body_used_pages(void)
{
	return (unsigned long)atomic_long_read(&used_pages);
}

unsigned long body_uncleaned_pages(void)
{
	return (unsigned long)atomic_long_read(&uncleaned_pages);
}

unsigned long body_shrink(unsigned long nr_pages)
{
	unsigned long freed = shrink_uncleaned(nr_pages);

	if (freed < nr_pages)
		freed += store_shrink(&body_store, nr_pages - freed);
	return freed;
}

static unsigned long body_count(struct shrinker *unused, struct shrink_control *control)
{
	return body_uncleaned_pages() + store_pages(&body_store) ?: SHRINK_EMPTY;
}

static unsigned long body_scan(struct shrinker *unused, struct shrink_control *control)
{
	return body_shrink(control->nr_to_scan) ?: SHRINK_STOP;
}

int body_init(void)
{
	store_init(&body_store);
	thread = kthread_run(body_cleaner, NULL, "anybinder_heap");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	sched_set_normal(thread, MAX_NICE);
	shrinker = compat_shrinker_start("anybinder-heap", body_count, body_scan);
	if (!shrinker) {
		kthread_stop(thread);
		return -ENOMEM;
	}
	return 0;
}

void body_exit(void)
{
	compat_shrinker_stop(shrinker);
	kthread_stop(thread);
	store_shrink(&body_store, ULONG_MAX);
}
