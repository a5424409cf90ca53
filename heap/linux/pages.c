// SPDX-License-Identifier: GPL-2.0
/*
 * On x86 all mappings of a page must have the same cache attribute, and the kernel's direct mapping
 * covers every page. So the direct mapping of a page is made write-combining when the page is
 * allocated, and cached again before it is freed. Both are slow, because every CPU has to flush its
 * TLB; therefore uncached pages have pools of their own.
 */
#include "pages.h"

#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sched.h>
#ifdef CONFIG_X86
#include <asm/set_memory.h>
#endif

DEFINE_STATIC_KEY_FALSE(pages_locking_mutex);

#ifdef CONFIG_X86
static int make_uncached(struct page *page, unsigned int order)
{
	return set_memory_wc((unsigned long)page_address(page), 1 << order);
}

static int make_cached(struct page *page, unsigned int order)
{
	return set_memory_wb((unsigned long)page_address(page), 1 << order);
}
#else
static int make_uncached(struct page *page, unsigned int order)
{
	return -EOPNOTSUPP;
}

static int make_cached(struct page *page, unsigned int order)
{
	return 0;
}
#endif

struct page *pages_alloc(bool uncached, unsigned int order, bool patient, bool charged)
{
	gfp_t gfp = (uncached ? GFP_USER : GFP_HIGHUSER) | __GFP_ZERO | __GFP_COMP | __GFP_NOWARN;
	struct page *page;

	/* Prefer an error to the out-of-memory killer, and a smaller block to waiting. */
	if (patient)
		gfp |= __GFP_RETRY_MAYFAIL;
	else
		gfp = (gfp | __GFP_NORETRY) & ~__GFP_RECLAIM;
	if (charged)
		gfp |= __GFP_ACCOUNT;
	page = alloc_pages(gfp, order);
	if (page && uncached && make_uncached(page, order)) {
		pages_free(page, true, order);
		return NULL;
	}
	return page;
}

void pages_free(struct page *page, bool uncached, unsigned int order)
{
	/* A page that stays uncached must not be reused by the kernel. */
	if (uncached && make_cached(page, order)) {
		pr_warn_ratelimited("%u uncached pages lost\n", 1u << order);
		return;
	}
	__free_pages(page, order);
}

void pages_clean(struct page *page, unsigned int order)
{
	unsigned int i;

	for (i = 0; i < 1u << order; i++) {
		clear_highpage(page + i);
		cond_resched();
	}
}

pgprot_t pages_protection(bool uncached, pgprot_t prot)
{
	return uncached ? pgprot_writecombine(prot) : prot;
}
