// SPDX-License-Identifier: GPL-2.0
/*
 * A buffer is allocated in three steps: its sizes are added up with checks (they come from a
 * client), space is reserved under alloc->lock, and missing pages are populated outside it.
 * In the steady state the pages exist and the struct is the one that the last free left
 * behind, so a call costs one short locked section for allocating and one for freeing.
 */
#include "memory/buffer_alloc.h"

#include "common/cover.h"
#include "common/limits.h"

#define MIN_BUFFER_SIZE 8

static struct binder_buffer *of_range(struct buffer_range *range)
{
	return range ? base_container_of(range, struct binder_buffer, range) : NULL;
}

void binder_alloc_init(struct binder_alloc *alloc)
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

int binder_alloc_attach(struct binder_alloc *alloc, const struct host_proc *proc, u64 base,
			size_t size)
{
	struct binder_page *page;
	int err = 0;

	binder_assert_unlocked();
	if (size > BINDER_MAP_MAX_SIZE)
		size = BINDER_MAP_MAX_SIZE;
	size -= size % HOST_PAGE_SIZE;
	if (!size)
		return -EINVAL;
	page = binder_pages_alloc(proc, size / HOST_PAGE_SIZE);
	if (!page)
		return -ENOMEM;
	binder_lock(&alloc->lock);
	if (alloc->size) {
		err = -EBUSY;
	} else {
		alloc->base = base;
		alloc->async_free = size / 2;
		range_space_init(&alloc->space, size);
		binder_pages_attach(&alloc->pages, page, size / HOST_PAGE_SIZE);
		page = NULL;
		/* After base, which is then read without the lock. */
		host_store_release(&alloc->size, size);
	}
	binder_unlock(&alloc->lock);
	host_free(page);
	return err;
}

bool binder_alloc_is_attached(const struct binder_alloc *alloc)
{
	return host_load_acquire(&alloc->size) != 0;
}

/* Makes sure that a mapping is known and still exists. */
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
	err = binder_alloc_attach(alloc, proc, base, size);
	if (err != -EBUSY)
		return err;
	BINDER_COVER(MAP_FOUND_TWICE); /* by another thread meanwhile */
	return 0;
}

/* Bytes of the three sections; false if they are too many. */
static bool total_size(const struct binder_buffer_request *request, size_t *total)
{
	size_t sum;

	/* Sizes up to this bound do not overflow when they are added. */
	if (request->data_size > BINDER_MAP_MAX_SIZE ||
	    request->offsets_size > BINDER_MAP_MAX_SIZE ||
	    request->extra_size > BINDER_MAP_MAX_SIZE)
		return false;
	sum = binder_buffer_align(request->data_size) +
	      binder_buffer_align(request->offsets_size) +
	      binder_buffer_align(request->extra_size);
	*total = sum < MIN_BUFFER_SIZE ? MIN_BUFFER_SIZE : sum;
	return sum <= BINDER_MAP_MAX_SIZE;
}

/* Reserves @size bytes for @buffer; *@todo: what its pages need. */
static int reserve_alocked(struct binder_alloc *alloc, struct binder_buffer *buffer, size_t size,
			   struct binder_pages_todo *todo) REQUIRES(&alloc->lock)
{
	binder_assert_held(&alloc->lock);
	if (alloc->nr_buffers >= BINDER_MAX_BUFFERS)
		return -ENOSPC;
	if (buffer->async && size > alloc->async_free)
		return -ENOSPC;
	if (!range_reserve(&alloc->space, &buffer->range, size))
		return -ENOSPC;
	if (buffer->async)
		alloc->async_free -= size;
	alloc->nr_buffers++;
	*todo = binder_pages_claim(&alloc->pages, range_all_pages(&buffer->range));
	return 0;
}

static void release_alocked(struct binder_alloc *alloc, struct binder_buffer *buffer)
	REQUIRES(&alloc->lock)
{
	binder_assert_held(&alloc->lock);
	if (buffer->async)
		alloc->async_free += buffer->range.size;
	alloc->nr_buffers--;
	binder_pages_release(&alloc->pages, range_release(&alloc->space, &buffer->range));
}

/* The struct that the last free left behind, or a new one; NULL: no memory. */
static struct binder_buffer *get_struct(struct binder_alloc *alloc, const struct host_proc *proc)
{
	struct binder_buffer *buffer = host_xchg(&alloc->spare, NULL);

	return buffer ? buffer : host_alloc(proc, sizeof(*buffer));
}

/* Keeps the struct for the next buffer in place of the one that was kept, which is freed. */
static void put_struct(struct binder_alloc *alloc, struct binder_buffer *buffer)
{
	host_free(host_xchg(&alloc->spare, buffer));
}

/* The range is set when it is reserved. */
static void init_struct(struct binder_buffer *buffer, const struct binder_buffer_request *request)
{
	buffer->range.user = (u32)request->pid;
	buffer->debug_id = request->debug_id;
	buffer->data_size = request->data_size;
	buffer->offsets_size = request->offsets_size;
	buffer->extra_size = request->extra_size;
	buffer->async = request->async;
	buffer->clear_on_free = false;
	buffer->user_free = false;
	buffer->claimed = false;
	buffer->released = false;
	buffer->oneway_spam_suspect = false;
	BINDER_WRITE_ONCE(buffer->transaction, NULL);
	buffer->target_node = NULL;
	buffer->resources = NULL;
	buffer->nr_resources = 0;
}

static struct binder_buffer *alloc_reserve(struct binder_alloc *alloc, const struct host_proc *proc,
					   const struct binder_buffer_request *request, size_t size,
					   struct binder_pages_todo *todo, int *err)
{
	struct binder_buffer *buffer = get_struct(alloc, proc);

	if (!buffer) {
		*err = -ENOMEM;
		return NULL;
	}
	init_struct(buffer, request);
	binder_lock(&alloc->lock);
	*err = reserve_alocked(alloc, buffer, size, todo);
	binder_unlock(&alloc->lock);
	if (!*err)
		return buffer;
	put_struct(alloc, buffer);
	return NULL;
}

/* Populates the pages of a reserved buffer; releases it if that fails. */
static int alloc_populate(struct binder_alloc *alloc, struct binder_buffer *buffer,
			  const struct binder_pages_todo *todo)
{
	int err = binder_pages_populate(&alloc->pages, &alloc->map, todo);

	binder_lock(&alloc->lock);
	if (err) {
		BINDER_COVER(BUFFER_WITHOUT_PAGES);
		release_alocked(alloc, buffer);
	} else {
		binder_pages_populated(&alloc->pages, todo->populate);
	}
	binder_unlock(&alloc->lock);
	if (err)
		put_struct(alloc, buffer);
	return err;
}

struct binder_buffer *binder_alloc_new_buffer(struct binder_alloc *alloc, struct host_proc *proc,
					      const struct binder_buffer_request *request, int *err)
{
	struct binder_pages_todo todo;
	struct binder_buffer *buffer;
	size_t size;

	binder_assert_unlocked();
	*err = find_map(alloc, proc);
	if (*err)
		return NULL;
	if (!total_size(request, &size)) {
		*err = -ENOSPC;
		return NULL;
	}
	buffer = alloc_reserve(alloc, proc, request, size, &todo, err);
	if (buffer && todo.populate.nr)
		*err = alloc_populate(alloc, buffer, &todo);
	return *err ? NULL : buffer;
}

void binder_alloc_free_buffer(struct binder_alloc *alloc, struct binder_buffer *buffer)
{
	binder_assert_unlocked();
	if (!buffer->released) {
		if (buffer->clear_on_free)
			host_map_zero(&alloc->map, buffer->range.off, buffer->range.size);
		binder_lock(&alloc->lock);
		release_alocked(alloc, buffer);
		binder_unlock(&alloc->lock);
	}
	host_free(buffer->resources);
	put_struct(alloc, buffer);
}

static bool may_user_free(const struct binder_buffer *buffer)
{
	return host_load_acquire(&buffer->user_free);
}

/* Takes the buffer from its receiver. Its space is free now unless it has to be zeroed first. */
static void claim_alocked(struct binder_alloc *alloc, struct binder_buffer *buffer)
	REQUIRES(&alloc->lock)
{
	binder_assert_held(&alloc->lock);
	buffer->claimed = true;
	if (buffer->clear_on_free)
		return;
	release_alocked(alloc, buffer);
	buffer->released = true;
}

struct binder_buffer *binder_alloc_claim_buffer(struct binder_alloc *alloc, u64 ptr, u32 most,
						int *err)
{
	struct binder_buffer *buffer = NULL;

	*err = -ENOENT;
	binder_lock(&alloc->lock);
	if (ptr >= alloc->base && ptr - alloc->base < alloc->size)
		buffer = of_range(range_find(&alloc->space, (size_t)(ptr - alloc->base)));
	if (buffer && (!may_user_free(buffer) || buffer->claimed)) {
		BINDER_COVER(BUFFER_NOT_FREEABLE);
		*err = -EPERM;
		buffer = NULL;
	} else if (buffer && buffer->nr_resources > most) {
		*err = -E2BIG;
		buffer = NULL;
	} else if (buffer) {
		*err = 0;
		claim_alocked(alloc, buffer);
	}
	binder_unlock(&alloc->lock);
	return buffer;
}

struct binder_buffer *binder_alloc_first_delivered(struct binder_alloc *alloc)
{
	struct buffer_range *range;

	binder_lock(&alloc->lock);
	range = range_first(&alloc->space);
	while (range && !may_user_free(of_range(range)))
		range = range_next(range);
	binder_unlock(&alloc->lock);
	return of_range(range);
}

void binder_alloc_destroy(struct binder_alloc *alloc)
{
	binder_assert_private(&alloc->lock);
#ifdef BINDER_DEBUG
	if (alloc->nr_buffers)
		__builtin_trap(); /* a buffer was leaked */
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

u32 binder_alloc_list(struct binder_alloc *alloc, size_t from, struct binder_buffer_info *info,
		      u32 max)
{
	struct buffer_range *range;
	u32 nr = 0;

	binder_lock(&alloc->lock);
	range = range_find_from(&alloc->space, from);
	for (; range && nr < max; range = range_next(range)) {
		const struct binder_buffer *buffer = of_range(range);

		info[nr++] = (struct binder_buffer_info){
			.debug_id = buffer->debug_id,
			.off = range->off,
			.data_size = buffer->data_size,
			.offsets_size = buffer->offsets_size,
			.extra_size = buffer->extra_size,
			.delivered = !BINDER_READ_ONCE(buffer->transaction),
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
