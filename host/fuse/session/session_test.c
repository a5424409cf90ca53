// SPDX-License-Identifier: GPL-2.0
/*
 * Handles and nodeids, and what outlives a server, by themselves. Of the latter two servers map the
 * same memory file one after the other.
 */
#include "base/daemon_state.h"
#include "check.h"
#include "session/handles.h"
#include "session/persistent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MANY (3 * HANDLE_CHUNK)
#define GENERATION 7

static struct daemon own;
static int objects[MANY];
static int persistent_fd;

/* ---- handles ---- */

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
	CHECK(!atomic_load(&own.handles->chunks[MANY / HANDLE_CHUNK]));
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

	/* damaged: refused before there is room for them */
	CHECK(!handles_insert(old | 1ull << 40, &objects[0]));
	CHECK(!handles_insert(old + (2ull << GENERATION_SHIFT), &objects[0]));
	CHECK(!atomic_load(&own.handles->chunks[0]));
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

/* ---- what outlives a server ---- */

static struct persistent_name named(uint64_t ino, const char *text)
{
	struct persistent_name name = { .ino = ino, .mode = 0600 };

	snprintf(name.name, sizeof(name.name), "%s", text);
	return name;
}

static void put_name(uint32_t *slot, uint64_t ino, const char *text)
{
	struct persistent_name name = named(ino, text);

	persistent_put_name(slot, &name);
}

/* Returns the names as a list of words, the newest first. */
static const char *list_names(void)
{
	static char words[200];
	uint32_t *slots;
	uint32_t nr;
	struct persistent_name *names = persistent_names(&nr, &slots);

	words[0] = 0;
	for (uint32_t i = 0; i < nr; i++) {
		strcat(words, names[i].name);
		strcat(words, " ");
	}
	free(slots);
	free(names);
	return words;
}

static void next_server(void)
{
	munmap(own.persistent, sizeof(*own.persistent));
	own.persistent = NULL;
	CHECK(persistent_attach(persistent_fd));
}

TEST(persistent_names_are_there_for_the_next_server)
{
	uint32_t one = 0, two = 0, three = 0;

	put_name(&one, 1, "one");
	put_name(&two, 2, "two");
	put_name(&three, 3, "three");
	next_server();
	CHECK(!strcmp(list_names(), "three two one "));
	persistent_remove_name(&two);
	put_name(&one, 1, "renamed");
	CHECK(!two && one);
	next_server();
	CHECK(!strcmp(list_names(), "renamed three "));
}

TEST(persistent_slots_are_used_again)
{
	uint32_t slot = 0;

	for (int i = 0; i < 1000; i++)
		put_name(&slot, 1, "name");
	CHECK(atomic_load(&persistent_get()->names_end) == 2);
	for (int i = 0; i < 1000; i++) {
		persistent_remove_name(&slot);
		put_name(&slot, 1, "name");
	}
	CHECK(atomic_load(&persistent_get()->names_end) == 2);
}

TEST(persistent_name_that_is_being_changed_is_there_twice)
{
	uint32_t slot = 0, second = 0;

	put_name(&slot, 1, "old");
	put_name(&second, 1, "new");	/* the server was killed before it freed the first */
	next_server();
	CHECK(!strcmp(list_names(), "new old "));
}

static uint64_t notified;

static void note_notified(uint64_t poll_handle)
{
	notified = notified * 10 + poll_handle;
}

TEST(persistent_pollers_are_notified_once_their_server_has_crashed)
{
	uint64_t handles[] = { 3 << 1, 5 << 1 | 1, 9000 << 1 };

	notified = 0;
	for (unsigned int i = 0; i < 3; i++)
		persistent_note_poll(handles[i], i + 1);
	persistent_forget_poll(handles[1]);
	next_server();
	persistent_notify_polls(note_notified);
	CHECK(notified == 13);
}

static void note_ended(int id)
{
	notified = notified * 10 + (uint64_t)id;
}

TEST(persistent_backing_files_of_a_crashed_server_are_ended)
{
	uint32_t last;

	notified = 0;
	atomic_store(&persistent_get()->backing_first, 2);
	persistent_note_backing(4);
	persistent_note_backing(3);
	next_server();
	last = persistent_last_backing();
	persistent_note_backing(5);	/* the next server's own */
	persistent_end_backings(last, note_ended);
	CHECK(notified == 234);
	CHECK(atomic_load(&persistent_get()->backing_first) == 5);
}

TEST(persistent_by_another_version_is_refused)
{
	persistent_get()->version++;
	CHECK(!persistent_attach(persistent_fd) && errno == EPROTO);
	persistent_get()->version--;
	CHECK(!ftruncate(persistent_fd, 100));
	CHECK(!persistent_attach(persistent_fd) && errno == EPROTO);
	CHECK(!ftruncate(persistent_fd, sizeof(struct persistent)));
}

static void before(void)
{
	daemon_self = &own;
	handles_init(GENERATION);
	persistent_fd = persistent_create();
	CHECK(persistent_fd >= 0);
}

/* The table of handles lives as long as its daemon. */
static void after(void)
{
	munmap(own.persistent, sizeof(*own.persistent));
	close(persistent_fd);
}

int main(int argc, char **argv)
{
	(void)argc;
	return unit_run(argv + 1, before, after);
}
