/* SPDX-License-Identifier: GPL-2.0 */
/* pages: allocating, freeing and cleaning the pages of a block. */
#ifndef HEAP_LINUX_PAGES_H
#define HEAP_LINUX_PAGES_H

#include <linux/jump_label.h>
#include <linux/pgtable.h>
#include <linux/types.h>

struct page;

/* True if this architecture can map memory uncached. */
#define PAGES_UNCACHED IS_ENABLED(CONFIG_X86)

/* Enabled in locking mode `mutex` of the pools. */
DECLARE_STATIC_KEY_FALSE(pages_locking_mutex);

/* See pool_host_block_alloc(). */
struct page *pages_alloc(bool uncached, unsigned int order, bool patient, bool charged);
void pages_free(struct page *page, bool uncached, unsigned int order);

/* Zeroes the pages; reschedules between them. */
void pages_clean(struct page *page, unsigned int order);

/* The protection for mapping them, in a process or in the kernel. */
pgprot_t pages_protection(bool uncached, pgprot_t prot);

#endif
