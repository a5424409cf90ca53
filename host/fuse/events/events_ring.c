// SPDX-License-Identifier: GPL-2.0
/*
 * The ring of events.
 *
 * A writer draws a number from a counter, which selects the slot, and claims the slot: it changes
 * the slot's state, its first word, from that of a complete record to that of an unfinished one. If
 * another writer is still at work there, since the ring was filled once while that thread did not
 * run, the event is dropped instead. So no record is ever a mixture of two. The last store makes
 * the state that of the complete record with this number.
 *
 * A reader copies a record if the state is the wanted one before and after. A later state means
 * that the ring has overtaken the reader. An earlier one means that the writer is at work, or has
 * dropped its event: the reader stops there, and skips the record when that lasts.
 *
 * Numbers are never used twice, so whatever a late writer leaves in the ring is never what a later
 * reader wants. That is why the memory can be given back without asking who is still writing.
 */
#include "events/events_ring.h"

#include "base/daemon_state.h"
#include "host.h"

#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define WORDS 8u
#define STATE 0u	/* index of the word; those after it are words of the record */
#define RING_BYTES ((size_t)EVENTS_SLOTS * WORDS * sizeof(u64))
/*
 * A slot whose event is this much later is fetched for writing meanwhile: its last reader's
 * processor has it, and claiming it would wait for that.
 */
#define AHEAD 8u
/* What one EVENT_DATA has at most, in bytes: four words. */
#define PORTION ((u32)sizeof(((struct event_data *)0)->bytes))

/* The words are atomic because a reader may copy them while they are written. */
typedef _Atomic u64 slot_words[WORDS];

struct events_ring {
	slot_words *slots;	/* NULL: not started yet */
	_Atomic u64 next;	/* number of the next event */
};

void events_ring_init(void)
{
	daemon_part(events_ring);
}

/* States; 0: never written. */
static u64 state_unfinished(u64 number)
{
	return 2 * number + 1;
}

static u64 state_complete(u64 number)
{
	return 2 * number + 2;
}

bool events_ring_start(void)
{
	void *memory;

	if (!daemon_self->events_ring->slots) {
		memory = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			return false;
		daemon_self->events_ring->slots = memory;
	}
	/* Page faults are the opener's, not those of the calls; where it fails, they are. */
	madvise(daemon_self->events_ring->slots, RING_BYTES, MADV_POPULATE_WRITE);
	return true;
}

void events_ring_stop(void)
{
	if (daemon_self->events_ring->slots)
		madvise(daemon_self->events_ring->slots, RING_BYTES, MADV_DONTNEED);
}

u64 events_ring_end(void)
{
	return atomic_load_explicit(&daemon_self->events_ring->next, memory_order_acquire);
}

void events_ring_set_end(u64 number)
{
	atomic_store(&daemon_self->events_ring->next, number);
}

static u64 events_ring_reserve(struct events_ring *ring, u32 count)
{
	return atomic_fetch_add_explicit(&ring->next, count, memory_order_relaxed);
}

static inline void store_word(_Atomic u64 *slot, const u8 *bytes)
{
	u64 word;

	memcpy(&word, bytes, sizeof(word));
	atomic_store_explicit(slot, word, memory_order_relaxed);
}

/*
 * Writes a record: the three words of @head, behind the number, and the four of @tail. Without a
 * copy in between and without loops, since this is most of what the data of a call costs.
 */
static inline void put_at(struct events_ring *ring, u64 number, const u64 *head, const u8 *tail)
{
	_Atomic u64 *slot = ring->slots[number % EVENTS_SLOTS];
	u64 before = atomic_load_explicit(&slot[STATE], memory_order_relaxed);

	__builtin_prefetch((const void *)ring->slots[(number + AHEAD) % EVENTS_SLOTS], 1);
	if (before % 2 || before > state_unfinished(number) ||
	    !atomic_compare_exchange_strong_explicit(&slot[STATE], &before,
						     state_unfinished(number), memory_order_acquire,
						     memory_order_relaxed))
		return;
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&slot[1], head[0], memory_order_relaxed);
	atomic_store_explicit(&slot[2], head[1], memory_order_relaxed);
	atomic_store_explicit(&slot[3], head[2], memory_order_relaxed);
	store_word(&slot[4], tail);
	store_word(&slot[5], tail + 8);
	store_word(&slot[6], tail + 16);
	store_word(&slot[7], tail + 24);
	atomic_store_explicit(&slot[STATE], state_complete(number), memory_order_release);
}

/* The words of a record behind its number. */
union words {
	struct event_record record;
	u64 all[WORDS];
};

void events_ring_put(u64 now_ns, u32 kind, bool reply, s32 thread, const void *fields, size_t size)
{
	struct events_ring *ring = daemon_self->events_ring;
	union words words = { .record = {
		.time_ns = now_ns,
		.kind = (uint16_t)kind,
		.reply = reply,
		.thread = thread,
	} };

	memcpy(words.record.words, fields, size);
	put_at(ring, events_ring_reserve(ring, 1), &words.all[1], (const u8 *)&words.all[4]);
}

/*
 * The first word of struct event_data. Made in a register, since a processor is slow to load what
 * it just stored in parts.
 */
static inline u64 data_head(u32 id, u32 offset, u32 size, u32 objects)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return id | (u64)offset << 32 | (u64)size << 48 | (u64)objects << 56;
#else
	return (u64)id << 32 | offset << 16 | size << 8 | objects;
#endif
}

void events_ring_put_data(u64 now_ns, s32 thread, const struct host_trace_data *data)
{
	struct events_ring *ring = daemon_self->events_ring;
	u32 count = (data->size + PORTION - 1) / PORTION;
	u64 number = events_ring_reserve(ring, count);
	union words words = { .record = {
		.time_ns = now_ns,
		.kind = data->to_clear ? EVENT_DATA_TO_CLEAR : EVENT_DATA,
		.thread = thread,
	} };

	for (u32 i = 0; i < count; i++) {
		u32 left = data->size - i * PORTION;

		words.all[3] = data_head(data->id, i * PORTION, left < PORTION ? left : PORTION,
					 data->objects[i]);
		put_at(ring, number + i, &words.all[1], data->bytes + (size_t)i * PORTION);
	}
}

enum found { FOUND, OVERWRITTEN, UNFINISHED };

static enum found copy_one(u64 number, struct event_record *record)
{
	_Atomic u64 *slot = daemon_self->events_ring->slots[number % EVENTS_SLOTS];
	u64 state = atomic_load_explicit(&slot[STATE], memory_order_acquire);
	u64 words[WORDS];

	if (state != state_complete(number))
		return state > state_complete(number) ? OVERWRITTEN : UNFINISHED;
	words[0] = number;
	for (u32 i = 1; i < WORDS; i++)
		words[i] = atomic_load_explicit(&slot[i], memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&slot[STATE], memory_order_relaxed) != state)
		return OVERWRITTEN;
	memcpy(record, words, sizeof(*record));
	return FOUND;
}

/* May the reader go on behind an event that is not finished? */
static bool has_stalled(struct events_position *position, u64 now_ns)
{
	if (!position->stalled_ns)
		position->stalled_ns = now_ns;
	return now_ns - position->stalled_ns > EVENTS_STALL_NS;
}

static void tell_lost(struct events_position *position, u64 now_ns, struct event_record *record)
{
	*record = (struct event_record){
		.number = position->number,
		.time_ns = now_ns,
		.kind = EVENT_LOST,
		.lost.count = position->lost,
	};
	position->lost = 0;
}

size_t events_ring_copy(struct events_position *position, u64 now_ns, struct event_record *records,
			size_t room)
{
	u64 end = events_ring_end();
	size_t count = 0;

	if (end - position->number > EVENTS_SLOTS) {
		position->lost += end - EVENTS_SLOTS - position->number;
		position->number = end - EVENTS_SLOTS;
		position->stalled_ns = 0;
	}
	/* room for the event and for a record of those that are missing before it */
	while (position->number < end && count + 1 < room) {
		struct event_record record;
		enum found found = copy_one(position->number, &record);

		if (found == UNFINISHED && !has_stalled(position, now_ns))
			break;
		position->stalled_ns = 0;
		position->number++;
		if (found != FOUND) {
			position->lost++;
		} else if (position->mask & (1u << record.kind)) {
			if (position->lost)
				tell_lost(position, now_ns, &records[count++]);
			records[count++] = record;
		}
	}
	if (position->lost && count < room)
		tell_lost(position, now_ns, &records[count++]);
	return count;
}
