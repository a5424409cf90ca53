// SPDX-License-Identifier: GPL-2.0
/*
 * A buffer is made in three steps: sizes are added up with checks (they come from
 * a client), space is reserved under alloc->lock, and pages are populated outside
 * it if any were missing.  In the steady state pages are there already and the
 * struct is the one that the last free left behind, so a call costs one short
 * locked section each for reserving, allowing, claiming and freeing.
 *
 * base and size never change once known, so a buffer's address needs no lock.
 */
#include "memory/alloc.h"
#include "base/inline.h"
#include "base/unset.h"
#include "common/limits.h"
#include "common/cover.h"

/* Who holds so many one-way buffers, or so large a part of the whole space (one
 * divided by this), while less than a tenth of it is left, is a suspect. */
#define SPAM_BUFFERS	50
#define SPAM_SPACE_DIVISOR 4
#define SPAM_LOW_DIVISOR	10

#define MIN_BUFFER_SIZE 8

static struct binder_buffer *of_range(struct buffer_range *range)
{
	return range ? base_container_of(range, struct binder_buffer, range) : NULL;
}

void binder_alloc_init(struct binder_alloc *alloc) NO_TSA
{
	binder_lock_init(&alloc->lock, RANK_ALLOC);
	alloc->base = 0;
	alloc->size = 0;
	range_space_init(&alloc->space, 0);
	binder_pages_init(&alloc->pages);
	alloc->async_free = 0;
	alloc->spam_reported = false;
	alloc->nr_buffers = 0;
	alloc->spare = NULL;
}

int binder_alloc_attach(struct binder_alloc *alloc, u64 base, size_t size)
{
	struct binder_page *page;
	int err = 0;

	binder_assert_unlocked();
	if (size > BINDER_MAP_MAX_SIZE)
		size = BINDER_MAP_MAX_SIZE;
	size -= size % RANGE_PAGE_SIZE;
	if (!size)
		return -EINVAL;
	page = binder_pages_alloc(size / RANGE_PAGE_SIZE);
	if (!page)
		return -ENOMEM;
	binder_lock(&alloc->lock);
	if (alloc->size) {
		err = -EBUSY;
	} else {
		alloc->base = base;
		alloc->async_free = size / 2;
		range_space_init(&alloc->space, size);
		binder_pages_attach(&alloc->pages, page, size / RANGE_PAGE_SIZE);
		page = NULL;
		__atomic_store_n(&alloc->size, size, __ATOMIC_RELEASE);
	}
	binder_unlock(&alloc->lock);
	host_free(page);
	return err;
}

/* Once known, it stays so. */
bool binder_alloc_is_attached(struct binder_alloc *alloc) NO_TSA
{
	return __atomic_load_n(&alloc->size, __ATOMIC_ACQUIRE) != 0;
}

/* Sees that a mapping is known and still there. */
static int find_map(struct binder_alloc *alloc, struct host_proc *proc)
{
	u64 base;
	size_t size;
	int err;

	if (binder_alloc_is_attached(alloc))
		return host_map_present(&alloc->map) ? 0 : -ESRCH;
	err = host_map_find(&alloc->map, proc, &base, &size);
	if (err)
		return err;
	err = binder_alloc_attach(alloc, base, size);
	if (err != -EBUSY)
		return err;
	BINDER_COVER(MAP_FOUND_TWICE); /* another thread found it first */
	return 0;
}

/* What somebody wants a buffer for; sizes in bytes. */
struct wish {
	size_t data_size, offsets_size, extra_size;
	bool async;
	u32 user;
};

/* The bytes that the three parts take; false if they are too many. */
static bool total_size(const struct wish *wish, size_t *total)
{
	size_t sum;

	/* Sizes below this do not overflow when they are added. */
	if (wish->data_size > BINDER_MAP_MAX_SIZE || wish->offsets_size > BINDER_MAP_MAX_SIZE ||
	    wish->extra_size > BINDER_MAP_MAX_SIZE)
		return false;
	sum = binder_buffer_align(wish->data_size) + binder_buffer_align(wish->offsets_size) +
	      binder_buffer_align(wish->extra_size);
	*total = sum < MIN_BUFFER_SIZE ? MIN_BUFFER_SIZE : sum;
	return sum <= BINDER_MAP_MAX_SIZE;
}

/* Does the sender of @buffer, one-way and just reserved, hold too much?  Its new
 * buffer counts only if the one that was there before was its own, too: stock
 * looks before it has noted whose the new one is. */
static bool is_spam(struct binder_alloc *alloc, const struct binder_buffer *buffer)
	REQUIRES(&alloc->lock)
{
	struct buffer_range *range;
	size_t bytes = 0;
	u32 nr = 0;

	if (alloc->async_free >= alloc->size / SPAM_LOW_DIVISOR) {
		alloc->spam_reported = false;
		return false;
	}
	/* Said already, so the ranges need not be walked for each call. */
	if (alloc->spam_reported)
		return false;
	for (range = range_first(&alloc->space); range; range = range_next(range)) {
		const struct binder_buffer *other = of_range(range);

		if (!other->async || range->user != buffer->range.user ||
		    (other == buffer && range->earlier_user != range->user))
			continue;
		bytes += range->size;
		if (++nr > SPAM_BUFFERS || bytes > alloc->size / SPAM_SPACE_DIVISOR) {
			alloc->spam_reported = true;
			BINDER_COVER(ONEWAY_SPAM);
			return true;
		}
	}
	return false;
}

/* Cuts @size bytes for @buffer and tells what its pages need. */
static int reserve(struct binder_alloc *alloc, struct binder_buffer *buffer, size_t size,
		   struct binder_pages_todo *todo) REQUIRES(&alloc->lock)
{
	if (alloc->nr_buffers >= BINDER_MAX_BUFFERS)
		return -ENOSPC;
	if (buffer->async && size > alloc->async_free)
		return -ENOSPC;
	if (!range_reserve(&alloc->space, &buffer->range, size))
		return -ENOSPC;
	if (buffer->async) {
		alloc->async_free -= size;
		buffer->oneway_spam_suspect = is_spam(alloc, buffer);
	}
	alloc->nr_buffers++;
	*todo = binder_pages_claim(&alloc->pages, range_all_pages(&buffer->range));
	return 0;
}

static BINDER_INLINE void release(struct binder_alloc *alloc, struct binder_buffer *buffer)
	REQUIRES(&alloc->lock)
{
	if (buffer->async)
		alloc->async_free += buffer->range.size;
	alloc->nr_buffers--;
	binder_pages_release(&alloc->pages, range_release(&alloc->space, &buffer->range));
}

/* Keeps the struct for the next buffer.  Returns what there is no room for, to be freed. */
static struct binder_buffer *keep(struct binder_alloc *alloc, struct binder_buffer *buffer)
	REQUIRES(&alloc->lock)
{
	struct binder_buffer *more = alloc->spare ? buffer : NULL;

	if (!more)
		alloc->spare = buffer;
	return more;
}

/* The struct that the last free left, or a new one for which the lock is dropped; NULL: no
 * memory. */
static struct binder_buffer *take_struct(struct binder_alloc *alloc) REQUIRES(&alloc->lock)
{
	struct binder_buffer *buffer = alloc->spare;

	alloc->spare = NULL;
	if (buffer)
		return buffer;
	binder_unlock(&alloc->lock);
	buffer = host_alloc(sizeof(*buffer));
	binder_lock(&alloc->lock);
	return buffer;
}

/* The struct may have been another buffer's; its range is set when it is reserved. */
static void prepare(struct binder_buffer *buffer, const struct wish *wish)
{
	buffer->range.user = wish->user;
	buffer->debug_id = 0;
	buffer->data_size = wish->data_size;
	buffer->offsets_size = wish->offsets_size;
	buffer->extra_size = wish->extra_size;
	buffer->async = wish->async;
	buffer->clear_on_free = false;
	buffer->user_free = false;
	buffer->claimed = false;
	buffer->oneway_spam_suspect = false;
	buffer->transaction = NULL;
	buffer->target_node = NULL;
	buffer->resources = NULL;
	buffer->nr_resources = 0;
}

/* Cuts a buffer of @size bytes; *@todo: what its pages need. */
static struct binder_buffer *cut(struct binder_alloc *alloc, const struct wish *wish,
				 size_t size, struct binder_pages_todo *todo, int *err)
{
	struct binder_buffer *buffer, *dead = NULL;

	binder_lock(&alloc->lock);
	buffer = take_struct(alloc);
	if (buffer) {
		prepare(buffer, wish);
		*err = reserve(alloc, buffer, size, todo);
		if (*err)
			dead = keep(alloc, buffer);
	} else {
		*err = -ENOMEM;
	}
	binder_unlock(&alloc->lock);
	host_free(dead);
	return *err ? NULL : buffer;
}

/* Makes the pages of a reserved buffer; gives it up if that fails. */
static BINDER_ASIDE int populate(struct binder_alloc *alloc, struct binder_buffer *buffer,
				 const struct binder_pages_todo *todo)
{
	struct binder_buffer *dead = NULL;
	int err = binder_pages_populate(&alloc->pages, &alloc->map, *todo);

	binder_lock(&alloc->lock);
	if (err) {
		BINDER_COVER(BUFFER_WITHOUT_PAGES);
		release(alloc, buffer);
		dead = keep(alloc, buffer);
	} else {
		binder_pages_populated(&alloc->pages, todo->populate);
	}
	binder_unlock(&alloc->lock);
	host_free(dead);
	return err;
}

struct binder_buffer *binder_alloc_new_buffer(struct binder_alloc *alloc, struct host_proc *proc,
					size_t data_size, size_t offsets_size, size_t extra_size,
					bool async, s32 pid, int *err)
{
	const struct wish wish = {
		.user = (u32)pid,
		.data_size = data_size,
		.offsets_size = offsets_size,
		.extra_size = extra_size,
		.async = async,
	};
	struct binder_pages_todo todo BINDER_UNSET;
	struct binder_buffer *buffer;
	size_t size;

	binder_assert_unlocked();
	*err = find_map(alloc, proc);
	if (*err)
		return NULL;
	if (!total_size(&wish, &size)) {
		*err = -ENOSPC;
		return NULL;
	}
	buffer = cut(alloc, &wish, size, &todo, err);
	if (buffer && todo.populate.nr)
		*err = populate(alloc, buffer, &todo);
	return *err ? NULL : buffer;
}

void binder_alloc_free_buffer(struct binder_alloc *alloc, struct binder_buffer *buffer)
{
	struct binder_resource *resources = buffer->resources;
	struct binder_buffer *dead;

	binder_assert_unlocked();
	if (buffer->clear_on_free)
		host_map_zero(&alloc->map, buffer->range.off, buffer->range.size);
	binder_lock(&alloc->lock);
	release(alloc, buffer);
	dead = keep(alloc, buffer);
	binder_unlock(&alloc->lock);
	host_free(resources);
	host_free(dead);
}

static bool may_user_free(const struct binder_buffer *buffer)
{
	return __atomic_load_n(&buffer->user_free, __ATOMIC_ACQUIRE);
}

struct binder_buffer *binder_alloc_claim_buffer(struct binder_alloc *alloc, u64 ptr, int *err)
{
	struct binder_buffer *buffer = NULL;

	*err = -ENOENT;
	binder_lock(&alloc->lock);
	if (ptr >= alloc->base && ptr - alloc->base < alloc->size)
		buffer = of_range(range_find(&alloc->space, (size_t)(ptr - alloc->base)));
	if (buffer && (!may_user_free(buffer) || buffer->claimed)) {
		BINDER_COVER(BUFFER_NOT_YET_FREE);
		*err = -EPERM;
		buffer = NULL;
	} else if (buffer) {
		*err = 0;
		buffer->claimed = true;
	}
	binder_unlock(&alloc->lock);
	return buffer;
}

void binder_buffer_allow_user_free(struct binder_buffer *buffer)
{
	__atomic_store_n(&buffer->user_free, true, __ATOMIC_RELEASE);
}


u64 binder_buffer_address(struct binder_alloc *alloc, const struct binder_buffer *buffer) NO_TSA
{
	return alloc->base + buffer->range.off;
}

struct binder_buffer *binder_alloc_first_buffer(struct binder_alloc *alloc)
{
	struct buffer_range *range;

	binder_lock(&alloc->lock);
	range = range_first(&alloc->space);
	while (range && !may_user_free(of_range(range)))
		range = range_next(range);
	binder_unlock(&alloc->lock);
	return of_range(range);
}

void binder_alloc_destroy(struct binder_alloc *alloc) NO_TSA
{
#ifdef BINDER_DEBUG
	if (alloc->nr_buffers)
		__builtin_trap(); /* somebody forgot a buffer */
#endif
	host_free(alloc->spare);
	alloc->spare = NULL;
	binder_pages_destroy(&alloc->pages);
	binder_lock_destroy(&alloc->lock);
}

size_t binder_alloc_shrink(struct binder_alloc *alloc, size_t max)
{
	return binder_pages_shrink(&alloc->pages, &alloc->map, &alloc->lock, max);
}

/* A report looks at buffers that are being filled and at fields that belong to other
 * locks, one word each: what it says may be a moment old. */
__attribute__((no_sanitize("thread")))
u32 binder_alloc_list(struct binder_alloc *alloc, struct binder_buffer_info *info, u32 max)
{
	struct buffer_range *range;
	u32 nr = 0;

	binder_lock(&alloc->lock);
	for (range = range_first(&alloc->space); range && nr < max; range = range_next(range)) {
		const struct binder_buffer *buffer = of_range(range);

		info[nr++] = (struct binder_buffer_info){
			.debug_id = buffer->debug_id,
			.off = range->off,
			.data_size = buffer->data_size,
			.offsets_size = buffer->offsets_size,
			.extra_size = buffer->extra_size,
			.delivered = !__atomic_load_n(&buffer->transaction, __ATOMIC_RELAXED),
		};
	}
	binder_unlock(&alloc->lock);
	return nr;
}

void binder_alloc_get_stats(struct binder_alloc *alloc, struct binder_alloc_stats *stats)
{
	const u32 *count = alloc->pages.count;

	binder_lock(&alloc->lock);
	*stats = (struct binder_alloc_stats){
		.free_async = alloc->async_free,
		.buffers = alloc->nr_buffers,
		.pages_active = count[PAGE_USED] + count[PAGE_POPULATING] +
				count[PAGE_REFILLING],
		.pages_lru = count[PAGE_AVAILABLE],
		.pages_free = count[PAGE_FREE] + count[PAGE_EVICTING],
		.high = alloc->pages.high,
	};
	binder_unlock(&alloc->lock);
}
