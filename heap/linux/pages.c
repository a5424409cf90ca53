// SPDX-License-Identifier: GPL-2.0
/*
 * On x86 all mappings of a page must agree on how it is cached, and the kernel has one of every
 * page. So a page is made uncached (write-combining) as a whole when it comes from the kernel, and
 * becomes cached again before it goes back. Both are slow, as every CPU has to forget what it knows
 * of the mapping: that is why uncached pages rest in pools of their own.
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

DEFINE_STATIC_KEY_FALSE(pages_regime_mutex);

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

	/* An error is better than the out-of-memory killer; a smaller block better than waiting. */
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
	/* One that stays uncached would be a trap for its next owner. */
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
