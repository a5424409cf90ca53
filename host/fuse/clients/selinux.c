// SPDX-License-Identifier: GPL-2.0
/*
 * What SELinux's policy permits, asked through selinuxfs.
 *
 * A question is one write to the file access, "SUBJECT OBJECT CLASS", whose answer is read from the
 * same open. Numbers of classes and permissions are those of the policy, and may change with it:
 * they are read again whenever the kernel's status page has another sequence number.
 */
#include "clients/selinux.h"

#include "base/locks.h"
#include "base/daemon_log.h"
#include "clients/client_thread.h"
#include "workers/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DECISIONS 256u

/* A write to selinuxfs is at most a page. */
#define QUESTION_MAX 4096u

/* A flag of the answer: the subject's domain is permissive. */
#define FLAG_PERMISSIVE 1u

/* The kernel's struct selinux_kernel_status. */
struct status {
	u32 version;
	_Atomic u32 sequence;		/* odd: it is being changed */
	_Atomic u32 enforcing;
	u32 policyload;
	_Atomic u32 deny_unknown;
};

struct decision {
	char *contexts;			/* of subject and object, each with its NUL; NULL: none */
	u32 permitted;			/* a bit for each permission of the policy */
};

struct selinux {
	const char *directory;
	const struct status *status;
	pthread_mutex_t lock;		/* guards the rest */
	u32 sequence;			/* of @status, for which the rest is true */
	unsigned int class;		/* 0: the policy does not know it */
	u32 bits[SELINUX_PERMISSIONS];
	struct decision decisions[DECISIONS];
};

static const char *const names[] = {
	[SELINUX_CALL] = "call",
	[SELINUX_TRANSFER] = "transfer",
	[SELINUX_SET_CONTEXT_MGR] = "set_context_mgr",
	[SELINUX_IMPERSONATE] = "impersonate",
};

static int open_in(const char *directory, const char *name, int flags)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return open(path, flags | O_CLOEXEC | O_NOCTTY);
}

/* The number in the file @name; 0: there is none. */
static unsigned int read_number(const char *name)
{
	int fd = open_in(daemon_self->selinux->directory, name, O_RDONLY);
	char text[16] = "";
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return got > 0 ? (unsigned int)strtoul(text, NULL, 10) : 0;
}

/* Lock held. */
static void read_policy(struct selinux *selinux, u32 sequence)
{
	for (unsigned int i = 0; i < DECISIONS; i++) {
		free(selinux->decisions[i].contexts);
		selinux->decisions[i].contexts = NULL;
	}
	selinux->class = read_number("class/binder/index");
	for (int i = 0; i < SELINUX_PERMISSIONS; i++) {
		char name[48];
		unsigned int number;

		snprintf(name, sizeof(name), "class/binder/perms/%s", names[i]);
		number = read_number(name);
		selinux->bits[i] = number && number <= 32 ? 1u << (number - 1) : 0;
	}
	selinux->sequence = sequence;
}

/* False: the policy cannot be asked, or does not know a context. */
static bool ask_policy(const char *subject, const char *object, unsigned int class, u32 *permitted)
{
	int fd = open_in(daemon_self->selinux->directory, "access", O_RDWR);
	char text[QUESTION_MAX];
	int size = snprintf(text, sizeof(text), "%s %s %u", subject, object, class);
	unsigned int allowed = 0;
	unsigned int flags = 0;
	ssize_t got = -1;
	bool ok;

	if (fd >= 0 && size < (int)sizeof(text) && write(fd, text, (size_t)size) == size)
		got = read(fd, text, sizeof(text) - 1);
	if (got > 0)
		text[got] = 0;
	ok = got > 0 && sscanf(text, "%x %*x %*x %*x %*u %x", &allowed, &flags) >= 1;
	if (!ok)
		log_info("SELinux does not answer about %s and %s: %s", subject, object,
			 strerror(errno));
	if (fd >= 0)
		close(fd);
	*permitted = flags & FLAG_PERMISSIVE ? ~0u : allowed;
	return ok;
}

static u32 hash_contexts(const char *subject, const char *object)
{
	u32 hash = 2166136261u;

	for (const char *c = subject; *c; c++)
		hash = (hash ^ (u8)*c) * 16777619u;
	for (const char *c = object; *c; c++)
		hash = (hash ^ (u8)*c) * 16777619u;
	return hash;
}

static bool is_about(const struct decision *decision, const char *subject, const char *object)
{
	return decision->contexts && !strcmp(decision->contexts, subject) &&
	       !strcmp(decision->contexts + strlen(subject) + 1, object);
}

/* Lock held. */
static u32 find_permitted(struct selinux *selinux, const char *subject, const char *object)
{
	u32 hash = hash_contexts(subject, object);
	struct decision *decision = &selinux->decisions[hash % DECISIONS];
	size_t size = strlen(subject) + 1;
	u32 permitted;

	if (is_about(decision, subject, object))
		return decision->permitted;
	if (!ask_policy(subject, object, selinux->class, &permitted))
		return 0;
	free(decision->contexts);
	decision->permitted = permitted;
	decision->contexts = malloc(size + strlen(object) + 1);
	if (decision->contexts) {
		memcpy(decision->contexts, subject, size);
		strcpy(decision->contexts + size, object);
	}
	return permitted;
}

bool selinux_permits(const char *subject, const char *object, enum selinux_permission permission)
{
	struct selinux *selinux = daemon_self->selinux;
	u32 sequence = atomic_load(&selinux->status->sequence);
	bool permits;

	if (!atomic_load(&selinux->status->enforcing))
		return true;
	if (!subject || !object)
		return false;
	guard_mutex(&selinux->lock);
	if (sequence != selinux->sequence)
		read_policy(selinux, sequence);
	if (!selinux->bits[permission])
		return !atomic_load(&selinux->status->deny_unknown);
	permits = find_permitted(selinux, subject, object) & selinux->bits[permission];
	if (!permits)
		log_info("SELinux: denied { %s } scontext=%s tcontext=%s tclass=binder",
			 names[permission], subject, object);
	return permits;
}

bool selinux_start(const char *directory)
{
	int access_fd = open_in(directory, "access", O_RDWR);
	int fd = open_in(directory, "status", O_RDONLY);
	const struct status *status = MAP_FAILED;
	struct selinux *selinux;

	if (fd >= 0 && access_fd >= 0)
		status = mmap(NULL, sizeof(*status), PROT_READ, MAP_SHARED, fd, 0);
	if (status == MAP_FAILED)
		log_error("--selinux: no policy can be asked at %s: %s", directory,
			  strerror(errno));
	if (fd >= 0)
		close(fd);
	if (access_fd >= 0)
		close(access_fd);
	if (status == MAP_FAILED)
		return false;
	selinux = daemon_part(selinux);
	selinux->directory = directory;
	selinux->status = status;
	pthread_mutex_init(&selinux->lock, NULL);
	read_policy(selinux, atomic_load(&status->sequence));
	return true;
}

/* ---- the rules of the C driver's hooks ---- */

/* The context in which the running worker's caller is now. */
static const char *current_context(char *buffer, size_t size)
{
	ssize_t got = client_thread_read_file(atomic_load(&worker_self->client_tid),
					      "attr/current", buffer, size);

	return got > 0 && got < (ssize_t)size - 1 ? buffer : NULL;
}

int selinux_check_manage(const struct host_proc *proc)
{
	char now[QUESTION_MAX];

	return selinux_permits(current_context(now, sizeof(now)), proc->context,
			       SELINUX_SET_CONTEXT_MGR) ? 0 : -EACCES;
}

int selinux_check_call(const struct host_proc *from, const struct host_proc *to)
{
	char buffer[QUESTION_MAX];
	const char *now = current_context(buffer, sizeof(buffer));
	bool same = now && from->context && !strcmp(now, from->context);

	if (!same && !selinux_permits(now, from->context, SELINUX_IMPERSONATE))
		return -EPERM;
	return selinux_permits(from->context, to->context, SELINUX_CALL) ? 0 : -EPERM;
}

int selinux_check_transfer(const struct host_proc *from, const struct host_proc *to)
{
	return selinux_permits(from->context, to->context, SELINUX_TRANSFER) ? 0 : -EPERM;
}
