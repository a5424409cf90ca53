// SPDX-License-Identifier: GPL-2.0
/* What outlives a server, by itself: two servers map the same memory file one after the other. */
#include "base/daemon_state.h"
#include "check.h"
#include "session/persistent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct daemon own;
static int persistent_fd;

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

static void start(void)
{
	daemon_self = &own;
	persistent_fd = persistent_create();
	CHECK(persistent_fd >= 0);
}

static void end(void)
{
	munmap(own.persistent, sizeof(*own.persistent));
	close(persistent_fd);
}

int main(int argc, char **argv)
{
	(void)argc;
	return unit_run(argv + 1, start, end);
}
