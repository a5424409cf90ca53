// SPDX-License-Identifier: GPL-2.0
/* The ring of events by itself: order, what is lost, and many writers at a time. */
#include "base/daemon_state.h"
#include "check.h"
#include "events/events_ring.h"
#include "host.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ALL ((1u << EVENT_KINDS) - 1)
#define ROOM 512

static struct event_record records[ROOM];
static u64 now_ns;
static struct daemon test_daemon;

static void put(u32 kind, u64 value)
{
	struct event_ioctl fields = { .arg = value, .cmd = (u32)value };

	events_ring_put(++now_ns, kind, false, 7, &fields, sizeof(fields));
}

static struct events_position start_reading(u32 mask)
{
	return (struct events_position){ .number = events_ring_end(), .mask = mask };
}

static size_t copy(struct events_position *position)
{
	return events_ring_copy(position, now_ns, records, ROOM);
}

TEST(ring_events_come_in_order_with_their_fields)
{
	struct events_position position = start_reading(ALL);

	CHECK(!copy(&position));
	for (u64 i = 0; i < 10; i++)
		put(EVENT_IOCTL, i);
	REQUIRE(copy(&position) == 10);
	for (u64 i = 0; i < 10; i++) {
		CHECK(records[i].kind == EVENT_IOCTL && records[i].thread == 7);
		CHECK(records[i].ioctl.arg == i && records[i].ioctl.cmd == i);
		CHECK(!i || records[i].time_ns > records[i - 1].time_ns);
		CHECK(!i || records[i].number == records[i - 1].number + 1);
	}
	CHECK(!copy(&position));
}

TEST(ring_a_reader_gets_the_kinds_it_wants)
{
	struct events_position position = start_reading(1u << EVENT_COMMAND);

	put(EVENT_IOCTL, 1);
	put(EVENT_COMMAND, 2);
	put(EVENT_RETURN, 3);
	REQUIRE(copy(&position) == 1);
	CHECK(records[0].kind == EVENT_COMMAND && records[0].ioctl.arg == 2);
}

TEST(ring_data_is_in_portions)
{
	enum { SIZE = 70, PORTION = 32 };
	static const u8 objects[] = { 1, 0x81, 0x10 };
	struct events_position position = start_reading(ALL);
	u8 bytes[3 * PORTION] = { 0 };
	struct host_trace_data data = {
		.id = 0x89abcdef, .size = SIZE, .bytes = bytes, .objects = objects,
	};

	for (u32 i = 0; i < SIZE; i++)
		bytes[i] = (u8)(i + 1);
	events_ring_put_data(++now_ns, 7, &data);
	REQUIRE(copy(&position) == 3);
	for (u32 i = 0; i < 3; i++) {
		const struct event_record *one = &records[i];

		CHECK(one->kind == EVENT_DATA && one->thread == 7 && one->time_ns == now_ns);
		CHECK(one->data.id == 0x89abcdef && one->data.offset == i * PORTION);
		CHECK(one->data.size == (i < 2 ? PORTION : SIZE - 2 * PORTION));
		CHECK(one->data.objects == objects[i]);
		CHECK(!memcmp(one->data.bytes, bytes + (size_t)i * PORTION, PORTION));
	}
	data.to_clear = true;
	events_ring_put_data(++now_ns, 7, &data);
	REQUIRE(copy(&position) == 3);
	for (u32 i = 0; i < 3; i++)
		CHECK(records[i].kind == EVENT_DATA_TO_CLEAR);
}

TEST(ring_lost_events_are_counted_before_the_next_one)
{
	struct events_position position = start_reading(ALL);
	u64 first = position.number;

	for (u64 i = 0; i < EVENTS_SLOTS + 100; i++)
		put(EVENT_IOCTL, i);
	REQUIRE(copy(&position) == ROOM - 1);
	CHECK(records[0].kind == EVENT_LOST && records[0].lost.count == 100);
	CHECK(records[1].number == first + 100 && records[1].ioctl.arg == 100);
	put(EVENT_IOCTL, 0);
	REQUIRE(copy(&position) == ROOM - 1);
	CHECK(records[0].kind == EVENT_IOCTL);
}

TEST(ring_given_back_memory_holds_nothing_old)
{
	struct events_position position = start_reading(ALL);

	for (u64 i = 0; i < 5; i++)
		put(EVENT_IOCTL, i);
	events_ring_stop();
	CHECK(!copy(&position));
	put(EVENT_IOCTL, 6);
	/* the events whose memory is gone never become complete */
	CHECK(!copy(&position));
	now_ns += 2 * EVENTS_STALL_NS;
	u64 lost = 0;
	size_t count = 0;

	for (int i = 0; i < 10 && !count; i++) {
		count = copy(&position);
		now_ns += 2 * EVENTS_STALL_NS;
		for (size_t k = 0; k < count; k++)
			lost += records[k].kind == EVENT_LOST ? records[k].lost.count : 0;
		if (count && records[count - 1].kind == EVENT_LOST)
			count = 0;
	}
	REQUIRE(count);
	CHECK(lost == 5);
	CHECK(records[count - 1].kind == EVENT_IOCTL && records[count - 1].ioctl.arg == 6);
}

#define WRITERS 4
#define EVENTS_OF_ONE 200000u

/* Each event of writer W has W in its kind's place of choice, and the same number in all words. */
static void *write_many(void *arg)
{
	u32 writer = (u32)(uintptr_t)arg;

	daemon_self = &test_daemon;
	for (u32 i = 1; i <= EVENTS_OF_ONE; i++) {
		u64 value = (u64)writer << 32 | i;
		struct event_buffer fields = { value, value, value, i };

		events_ring_put(value, EVENT_BUFFER_FREED, writer & 1, (s32)writer, &fields,
				sizeof(fields));
	}
	return NULL;
}

/* Checks that a record is one writer's, and later than the last one of it. */
static bool is_whole(const struct event_record *record, u64 *last)
{
	u64 value = record->time_ns;
	u32 writer = (u32)(value >> 32);

	if (writer >= WRITERS || value <= last[writer])
		return false;
	last[writer] = value;
	return record->thread == (s32)writer && record->reply == (writer & 1) &&
	       record->buffer.data_size == value && record->buffer.offsets_size == value &&
	       record->buffer.extra_size == value && record->buffer.id == (u32)value;
}

TEST(ring_threads_write_at_a_time)
{
	struct events_position position = start_reading(ALL);
	u64 end = position.number + (u64)WRITERS * EVENTS_OF_ONE;
	u64 got = 0, lost = 0, whole = 0, clock_ns = 1;
	u64 last[WRITERS] = { 0 };
	pthread_t threads[WRITERS];

	for (uintptr_t i = 0; i < WRITERS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, write_many, (void *)i));
	while (position.number < end || position.lost) {
		size_t count = events_ring_copy(&position, clock_ns += 1000, records, ROOM);

		for (size_t i = 0; i < count; i++) {
			if (records[i].kind == EVENT_LOST) {
				lost += records[i].lost.count;
				continue;
			}
			got++;
			whole += is_whole(&records[i], last);
		}
	}
	for (u32 i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	CHECK(got && whole == got);
	CHECK(got + lost == (u64)WRITERS * EVENTS_OF_ONE);
}

static void before(void)
{
	CHECK(events_ring_start());
}

static void after(void)
{
	events_ring_stop();
}

int main(int argc, char **argv)
{
	daemon_self = &test_daemon;
	events_ring_init();
	return unit_run(argv + 1, before, after);
}
