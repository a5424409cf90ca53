// SPDX-License-Identifier: GPL-2.0
/* Handles and nodeids by themselves. */
#include "base/daemon_state.h"
#include "check.h"
#include "session/handles.h"

#define MANY (3 * HANDLE_CHUNK)
#define GENERATION 7

static struct daemon daemon;
static int objects[MANY];

TEST(handles_lead_to_their_objects_until_they_are_removed)
{
	uint64_t numbers[MANY];

	for (unsigned int i = 0; i < MANY; i++) {
		numbers[i] = handles_add(&objects[i], i & 1);
		CHECK(generation_of(numbers[i]) == GENERATION);
		CHECK(handle_is_device(numbers[i]) == (i & 1));
	}
	for (unsigned int i = 0; i < MANY; i++)
		CHECK(handles_find(numbers[i]) == &objects[i]);
	for (unsigned int i = 0; i < MANY; i += 2)
		handles_remove(numbers[i]);
	for (unsigned int i = 0; i < MANY; i++)
		CHECK(handles_find(numbers[i]) == (i & 1 ? &objects[i] : NULL));
	/* removed slots are used again: no further chunk */
	for (unsigned int i = 0; i < MANY; i += 2)
		CHECK(handles_find(handles_add(&objects[i], true)) == &objects[i]);
	CHECK(!atomic_load(&daemon.handles->chunks[MANY / HANDLE_CHUNK]));
}

TEST(handles_of_a_crashed_server_lead_nowhere)
{
	uint64_t number = handles_add(&objects[0], true);
	uint64_t other = number ^ (uint64_t)1 << GENERATION_SHIFT;

	CHECK(handle_index(other) == handle_index(number));
	CHECK(!handles_find(other));
	CHECK(!handles_find(UINT64_MAX));
	CHECK(!handles_find(0));
}

TEST(handles_of_a_predecessor_are_inserted_under_their_numbers)
{
	uint64_t old = (uint64_t)(GENERATION - 1) << GENERATION_SHIFT | 1500 << 1 | 1;
	uint64_t same_slot = (uint64_t)(GENERATION - 2) << GENERATION_SHIFT | 1500 << 1;

	CHECK(handles_insert(old, &objects[0]));
	CHECK(!handles_insert(same_slot, &objects[1]));
	CHECK(!handles_insert(1500 << 1, &objects[1]));	/* no generation */
	CHECK(handles_find(old) == &objects[0]);
	for (unsigned int i = 1; i < MANY; i++) {
		uint64_t number = handles_add(&objects[i], true);

		CHECK(handle_index(number) != handle_index(old));
		CHECK(handles_find(number) == &objects[i]);
	}
	CHECK(handles_find(old) == &objects[0]);
	handles_remove(old);
	CHECK(!handles_find(old));
}

static void count_visit(uint64_t number, void *object, void *arg)
{
	unsigned int *count = arg;

	CHECK(handles_find(number) == object);
	++*count;
}

TEST(handles_are_all_visited)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < MANY; i++)
		handles_add(&objects[i], true);
	handles_remove(handles_add(&objects[0], false));
	handles_visit(count_visit, &count);
	CHECK(count == MANY);
}

TEST(handles_nodeids_name_generation_and_device)
{
	uint64_t nodeid = nodeid_make(GENERATION_MAX, NODEID_DEVICES_MAX, UINT64_MAX);

	CHECK(nodeid == UINT64_MAX);
	nodeid = nodeid_make(GENERATION, 5, NODEID_COUNTER_MASK + 3);
	CHECK(generation_of(nodeid) == GENERATION);
	CHECK(nodeid_device(nodeid) == 5);
	CHECK((nodeid & NODEID_COUNTER_MASK) == 2);
	nodeid = nodeid_of_name(1, "binder_logs");
	CHECK(!generation_of(nodeid) && !nodeid_device(nodeid));
	CHECK(nodeid == nodeid_of_name(1, "binder_logs"));
	CHECK(nodeid != nodeid_of_name(1, "features"));
	CHECK(nodeid != nodeid_of_name(2, "binder_logs"));
}

static void start(void)
{
	daemon_self = &daemon;
	handles_init(GENERATION);
}

/* A table lives as long as its daemon. */
static void end(void)
{
}

int main(int argc, char **argv)
{
	(void)argc;
	return unit_run(argv + 1, start, end);
}
