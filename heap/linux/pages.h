/* SPDX-License-Identifier: GPL-2.0 */
/* pages: the pages of a block: had from the kernel, given back, cleaned. */
#ifndef HEAP_LINUX_PAGES_H
#define HEAP_LINUX_PAGES_H

#include <linux/jump_label.h>
#include <linux/pgtable.h>
#include <linux/types.h>

struct page;

/* Can memory be made uncached here? */
#define PAGES_UNCACHED IS_ENABLED(CONFIG_X86)

/* The regime of the pools: on, where it is `mutex`. */
DECLARE_STATIC_KEY_FALSE(pages_regime_mutex);

/* See pool_host_block_alloc(). */
struct page *pages_alloc(bool uncached, unsigned int order, bool patient, bool charged);
void pages_free(struct page *page, bool uncached, unsigned int order);

/* Fills them with zeroes; may be slow, and lets others run in between. */
void pages_clean(struct page *page, unsigned int order);

/* How they are to be mapped, by a process or by the kernel. */
pgprot_t pages_protection(bool uncached, pgprot_t prot);

#endif
