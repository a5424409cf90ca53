// SPDX-License-Identifier: GPL-2.0
/*
 * Compares the scatter-gather plan with another model: all buffers are kept, each knows its
 * parent, and every patched byte is recorded. A parent may be patched if it is an ancestor of the
 * buffer that counts as the last.
 */
#include "pure/sg_plan.h"
#include "targets.h"

#include <stdlib.h>
#include <string.h>

#define SPACE	  0x1000 /* where the extra space starts */
#define SPACE_MAX 4096
#define OBJECTS	  64

struct model_buffer {
	struct binder_buffer_object object;
	u64 off;     /* in the map */
	u64 min_off; /* end of the last patch */
	u64 index;
	int parent; /* -1: none */
};

struct model {
	struct sg_plan plan;
	u64 size;
	struct model_buffer buffers[OBJECTS];
	int nr, last;
	bool taken[SPACE_MAX], patched[SPACE_MAX];
};

/* Which buffer may be patched as the one at @index of the offsets array; -1: none. */
static int model_parent(const struct model *m, u64 index)
{
	int i = m->last;

	while (i >= 0 && m->buffers[i].index != index)
		i = m->buffers[i].parent;
	return i;
}

/* Sets @taken for @len bytes at @off of the map; false if one of them is set or outside. */
static bool claim(const struct model *m, bool *taken, u64 off, u64 len)
{
	if (off < SPACE || off - SPACE > m->size || len > m->size - (off - SPACE))
		return false;
	if (len && memchr(taken + (off - SPACE), true, len))
		return false;
	memset(taken + (off - SPACE), true, len);
	return true;
}

static bool inside(const struct model_buffer *buffer, u64 off, u64 len)
{
	return off >= buffer->min_off && len <= buffer->object.length &&
	       off <= buffer->object.length - len;
}

static u64 pick(struct choices *c, u64 sane)
{
	static const u64 odd[] = { 0,	       1,	   7,	       8,    4096,
				   1ull << 32, 1ull << 62, 1ull << 63, -8ull, -1ull };

	return choose(c, 12) == 11 ? odd[choose(c, sizeof(odd) / sizeof(odd[0]))] : sane;
}

/* The index of an existing buffer, most often the last. */
static u64 pick_parent(struct choices *c, const struct model *m)
{
	u32 back = choose(c, 4);

	if (!m->nr)
		return pick(c, 0);
	return pick(c, m->buffers[back >= (u32)m->nr ? 0 : (u32)m->nr - 1 - back].index);
}

static void make_room(struct model *m)
{
	u32 max = sg_next_max(&m->plan);

	if (sg_full(&m->plan))
		free(sg_grow(&m->plan, calloc(max, sizeof(struct sg_buffer)), max));
}

static bool add_buffer(struct choices *c, struct model *m, u64 index)
{
	struct model_buffer b = { .index = index, .parent = -1 };
	u64 off, patch, used = m->plan.off - SPACE;
	bool may;

	b.object.buffer = pick(c, 0x100000 * (index + 1) + choose(c, 4));
	b.object.length = pick(c, choose(c, 64));
	b.object.flags = choose(c, 2);
	b.object.parent = pick_parent(c, m);
	b.object.parent_offset = pick(c, choose(c, 64));
	may = b.object.length <= m->size - used;
	if (b.object.flags & BINDER_BUFFER_FLAG_HAS_PARENT) {
		b.parent = model_parent(m, b.object.parent);
		may = may && b.parent >= 0 &&
		      inside(&m->buffers[b.parent], b.object.parent_offset, 8);
	}
	make_room(m);
	if (!sg_add_buffer(&m->plan, index, &b.object, &off, &patch) != may)
		return fuzz_wrong("a buffer is taken if there is room and its parent is open");
	if (!may)
		return true;
	if (!claim(m, m->taken, off, b.object.length))
		return fuzz_wrong("buffers lie apart, inside the space");
	if ((b.parent >= 0) != (patch != SG_NO_PATCH))
		return fuzz_wrong("what has a parent is patched into it");
	if (b.parent >= 0) {
		if (patch != m->buffers[b.parent].off + b.object.parent_offset ||
		    !claim(m, m->patched, patch, 8))
			return fuzz_wrong("no byte is patched twice");
		m->buffers[b.parent].min_off = b.object.parent_offset + 8;
	}
	b.off = off;
	m->last = m->nr;
	m->buffers[m->nr++] = b;
	return true;
}

static bool add_fds(struct choices *c, struct model *m)
{
	struct binder_fd_array_object fda = {
		.num_fds = pick(c, choose(c, 8)),
		.parent = pick_parent(c, m),
		.parent_offset = pick(c, choose(c, 32) * 2),
	};
	int parent = model_parent(m, fda.parent);
	const struct model_buffer *in = &m->buffers[parent < 0 ? 0 : parent];
	u64 off, source;
	bool may = parent >= 0 && fda.parent_offset >= in->min_off;

	if (may && fda.num_fds)
		may = fda.num_fds <= SPACE_MAX && inside(in, fda.parent_offset, fda.num_fds * 4) &&
		      !((in->off + fda.parent_offset) % 4) &&
		      !((in->object.buffer + fda.parent_offset) % 4);
	if (!sg_add_fds(&m->plan, &fda, &off, &source) != may)
		return fuzz_wrong("an array is taken if its parent is open and has it");
	if (!may)
		return true;
	if (off != in->off + fda.parent_offset || source != in->object.buffer + fda.parent_offset)
		return fuzz_wrong("the numbers stand in the parent");
	if (fda.num_fds && !claim(m, m->patched, off, fda.num_fds * 4))
		return fuzz_wrong("no number lies over another patch");
	m->buffers[parent].min_off = fda.parent_offset + fda.num_fds * 4;
	m->last = parent;
	return true;
}

bool fuzz_sg(struct choices *c)
{
	struct model *m = calloc(1, sizeof(*m));
	bool right = true;
	u64 index;

	m->last = -1;
	m->size = 8 * choose(c, SPACE_MAX / 8 + 1);
	sg_init(&m->plan, SPACE, m->size);
	for (index = 0; index < OBJECTS && right && !choices_over(c); index++) {
		switch (choose(c, 16)) {
		case 15:
			sg_bar(&m->plan);
			m->last = -1;
			break;
		case 14:
		case 13:
		case 12:
			right = add_fds(c, m);
			break;
		default:
			right = add_buffer(c, m, index);
		}
	}
	free(sg_memory(&m->plan));
	free(m);
	return right;
}
