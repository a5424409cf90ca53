// SPDX-License-Identifier: GPL-2.0
/*
 * Questions to SELinux's policy, answered by a directory that looks like selinuxfs: its file access
 * is a terminal, at the other end of which a thread plays the policy.
 */
#include "check.h"
#include "clients/client_thread.h"
#include "clients/selinux.h"
#include "workers/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define CLASS 7

_Thread_local struct worker *worker_self;

/* Not called: which thread calls is a question of the daemon. */
ssize_t client_thread_read_file(pid_t tid, const char *name, char *buffer, size_t size)
{
	return -1;
}

static struct {
	char directory[32];
	int policy;			/* the terminal's other end */
	int client;			/* which keeps the terminal alive */
	const char *terminal;
	u32 *status;			/* version, sequence, enforcing, policyload, deny_unknown */
	_Atomic u32 allowed;
	_Atomic u32 flags;
	atomic_int asked;
	char question[256];
	pthread_t thread;
} fake;

static char *path_of(const char *name)
{
	static char path[96];

	snprintf(path, sizeof(path), "%s/%s", fake.directory, name);
	return path;
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

static void *play_policy(void *unused)
{
	ssize_t got;

	while ((got = read(fake.policy, fake.question, sizeof(fake.question) - 1)) > 0) {
		char answer[96];
		int size;

		fake.question[got] = 0;
		atomic_fetch_add(&fake.asked, 1);
		size = snprintf(answer, sizeof(answer), "%x ffffffff 0 ffffffff 1 %x",
				atomic_load(&fake.allowed), atomic_load(&fake.flags));
		if (write(fake.policy, answer, (size_t)size) != size)
			break;
	}
	return NULL;
}

/* Returns false where there are no terminals, as in a chroot without /dev/pts. */
static bool make_terminal(void)
{
	struct termios raw;

	fake.policy = posix_openpt(O_RDWR | O_NOCTTY);
	fake.terminal = fake.policy >= 0 && !grantpt(fake.policy) && !unlockpt(fake.policy)
				? ptsname(fake.policy) : NULL;
	fake.client = fake.terminal ? open(fake.terminal, O_RDWR | O_NOCTTY) : -1;
	if (fake.client < 0)
		return false;
	if (tcgetattr(fake.client, &raw))
		abort();
	cfmakeraw(&raw);
	if (tcsetattr(fake.client, TCSANOW, &raw))
		abort();
	return true;
}

static void make_status(void)
{
	int fd = open(path_of("status"), O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, 4096))
		abort();
	fake.status = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (fake.status == MAP_FAILED)
		abort();
	memcpy(fake.status, (u32[]){ 1, 2, 1, 1, 0 }, 5 * sizeof(u32));
}

static void init(void)
{
	strcpy(fake.directory, "/tmp/selinux-test.XXXXXX");
	if (!mkdtemp(fake.directory))
		abort();
	mkdir(path_of("class"), 0700);
	mkdir(path_of("class/binder"), 0700);
	mkdir(path_of("class/binder/perms"), 0700);
	write_file("class/binder/index", "7");
	write_file("class/binder/perms/impersonate", "1");
	write_file("class/binder/perms/call", "2");
	write_file("class/binder/perms/set_context_mgr", "3");
	write_file("class/binder/perms/transfer", "4");
	if (!make_terminal() || symlink(fake.terminal, path_of("access")))
		abort();
	make_status();
	if (pthread_create(&fake.thread, NULL, play_policy, NULL))
		abort();
	if (!selinux_start(fake.directory))
		abort();
}

static void new_policy(u32 allowed)
{
	atomic_store(&fake.allowed, allowed);
	fake.status[1] += 2;
	atomic_store(&fake.asked, 0);
}

TEST(selinux_what_the_policy_says_is_kept)
{
	new_policy(0x2);
	for (int i = 0; i < 10; i++) {
		CHECK(selinux_permits("u:r:app:s0", "u:r:other:s0", SELINUX_CALL));
		CHECK(!selinux_permits("u:r:app:s0", "u:r:other:s0", SELINUX_TRANSFER));
	}
	CHECK(atomic_load(&fake.asked) == 1);
	CHECK(!strcmp(fake.question, "u:r:app:s0 u:r:other:s0 7"));
	/* the other way round is another question */
	CHECK(selinux_permits("u:r:other:s0", "u:r:app:s0", SELINUX_CALL));
	CHECK(atomic_load(&fake.asked) == 2);
}

TEST(selinux_another_policy_is_asked_anew)
{
	new_policy(0x8);
	CHECK(selinux_permits("a", "b", SELINUX_TRANSFER));
	CHECK(!selinux_permits("a", "b", SELINUX_CALL));
	write_file("class/binder/perms/call", "5");
	new_policy(0x10);
	CHECK(selinux_permits("a", "b", SELINUX_CALL));
	CHECK(!selinux_permits("a", "b", SELINUX_TRANSFER));
	write_file("class/binder/perms/call", "2");
}

TEST(selinux_without_enforcing_nothing_is_refused)
{
	new_policy(0);
	CHECK(!selinux_permits("a", "b", SELINUX_SET_CONTEXT_MGR));
	fake.status[2] = 0;
	CHECK(selinux_permits("a", "b", SELINUX_SET_CONTEXT_MGR) && selinux_permits(NULL, "b", 0));
	fake.status[2] = 1;
	CHECK(!selinux_permits("a", "b", SELINUX_SET_CONTEXT_MGR));
	new_policy(0);
	atomic_store(&fake.flags, 1);	/* a permissive domain */
	CHECK(selinux_permits("a", "b", SELINUX_SET_CONTEXT_MGR));
	atomic_store(&fake.flags, 0);
}

TEST(selinux_who_has_no_context_may_nothing)
{
	new_policy(~0u);
	CHECK(selinux_permits("a", "b", SELINUX_CALL));
	CHECK(!selinux_permits(NULL, "b", SELINUX_CALL));
	CHECK(!selinux_permits("a", NULL, SELINUX_CALL));
	CHECK(atomic_load(&fake.asked) == 1);
}

TEST(selinux_a_policy_without_the_class_refuses_what_is_unknown_if_it_says_so)
{
	unlink(path_of("class/binder/perms/call"));
	new_policy(0);
	CHECK(selinux_permits("a", "b", SELINUX_CALL));
	CHECK(!selinux_permits("a", "b", SELINUX_TRANSFER));
	fake.status[4] = 1;
	CHECK(!selinux_permits("a", "b", SELINUX_CALL));
	fake.status[4] = 0;
	write_file("class/binder/perms/call", "2");
}

TEST(selinux_no_policy_is_an_error)
{
	struct daemon *first = daemon_self;
	struct daemon second = { 0 };

	daemon_self = &second;
	CHECK(!selinux_start("/tmp/there is none") && !selinux_is_on());
	daemon_self = first;
	CHECK(selinux_is_on());
}

static void end(void)
{
	static const char *const names[] = {
		"class/binder/perms/impersonate", "class/binder/perms/call",
		"class/binder/perms/set_context_mgr", "class/binder/perms/transfer",
		"class/binder/perms", "class/binder/index", "class/binder", "class", "access",
		"status",
	};

	close(fake.client);
	close(fake.policy);
	pthread_cancel(fake.thread);
	pthread_join(fake.thread, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove(path_of(names[i]));
	rmdir(fake.directory);
	munmap(fake.status, 4096);
}

int main(int argc, char **argv)
{
	struct daemon daemon = { 0 };

	(void)argc;
	daemon_self = &daemon;
	if (!make_terminal())
		return unit_skip("no terminal can be opened: is /dev/pts mounted?");
	close(fake.client);
	close(fake.policy);
	return unit_run(argv + 1, init, end);
}
