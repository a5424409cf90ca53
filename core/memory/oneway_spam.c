// SPDX-License-Identifier: GPL-2.0
/*
 * The buffers of one sender are counted by walking all buffers, which only happens while
 * space is short and the suspect was not reported yet.
 *
 * Tested in: core/memory/buffer_alloc_test.c
 */
#include "memory/oneway_spam.h"

#include "common/cover.h"
#include "memory/buffer_alloc.h"

#define SPAM_BUFFERS	   50
#define SPAM_SPACE_DIVISOR 4
#define SPAM_LOW_DIVISOR   10

/*
 * The new buffer counts only if the space was the same sender's before: the C driver
 * counts before it has recorded the sender of the new one.
 */
static bool exceeds_share_alocked(struct binder_alloc *alloc, const struct binder_buffer *buffer)
	REQUIRES(&alloc->lock)
{
	struct buffer_range *range;
	size_t bytes = 0;
	u32 nr = 0;

	binder_assert_held(&alloc->lock);
	for (range = range_first(&alloc->space); range; range = range_next(range)) {
		const struct binder_buffer *other =
			base_container_of(range, struct binder_buffer, range);

		if (!other->async || range->user != buffer->range.user ||
		    (other == buffer && range->earlier_user != range->user))
			continue;
		bytes += range->size;
		if (++nr > SPAM_BUFFERS || bytes > alloc->size / SPAM_SPACE_DIVISOR)
			return true;
	}
	return false;
}

void binder_oneway_spam_check(struct binder_alloc *alloc, struct binder_buffer *buffer)
{
	binder_lock(&alloc->lock);
	if (alloc->async_free >= alloc->size / SPAM_LOW_DIVISOR) {
		alloc->spam_reported = false;
	} else if (!alloc->spam_reported && exceeds_share_alocked(alloc, buffer)) {
		BINDER_COVER(ONEWAY_SPAM);
		alloc->spam_reported = true;
		buffer->oneway_spam_suspect = true;
	}
	binder_unlock(&alloc->lock);
}
