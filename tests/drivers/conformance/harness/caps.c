// SPDX-License-Identifier: GPL-2.0
/*
 * A test names what it needs, missing_capabilities.txt what a back end lacks and why. The names are
 * a fixed list, so that a misspelt one is an error, not a test that silently never runs. What only
 * a prepared machine has must be declared; the tests that need it belong to no other run.
 */
#include <stdio.h>
#include <string.h>

#include "harness.h"

static struct {
	const char *name;
	char reason[200];
	bool is_special; /* only a prepared machine has it, and this one was not declared to */
} caps[] = {
	{ "kernel", "" }, /* processes, descriptors, signals and poll are a kernel's */
	{ "binderfs", "" }, /* binder-control, features/ and binder_logs/ in the device directory */
	{ "device_names", "" }, /* names in the device directory are added, removed and renamed */
	{ "freeze_notification", "" }, /* BC_REQUEST_FREEZE_NOTIFICATION and its kin (6.12) */
	{ "pending_frozen", "" }, /* BR_TRANSACTION_PENDING_FROZEN (6.6) */
	{ "freeze_any_user", "" }, /* any user may freeze any process */
	{ "freeze_restricted", "" }, /* only the same user, root and the context manager may */
	{ "security_context", "" }, /* nodes that request it get a sender's security context */
	{ "secctx_optional", "" }, /* calls to such nodes succeed where the system has no context */
	{ "selinux_domains", "", true }, /* tests/kernel/selinux/domains.cil's can be entered */
	{ "selinux_refuses", "", true }, /* and what that policy does not allow is refused */
	{ "selinux_checks_files", "", true }, /* files, too, before the call with them is sent */
	{ "fd_passing", "" }, /* file descriptors reach an unmodified receiver */
	{ "fd_of_thread", "" }, /* they are sent by a process whose first thread has ended */
	{ "self_sent_file", "" }, /* an open in a message to itself ends with its process */
	{ "sent_files_in_circles", "" }, /* opens in each other's messages end with a process */
	{ "mmap_write_refused", "" }, /* a writable mapping is refused by mmap */
	{ "mmap_owner_only", "" }, /* mmap is refused to a process other than the opener */
	{ "mmap_once", "" }, /* a second mapping of the same open file is refused by mmap */
	{ "mmap_shared", "" }, /* a shared mapping serves as well as a private one */
	{ "fcntl_nonblock", "" }, /* O_NONBLOCK set by fcntl after the open has an effect */
	{ "fork_keeps_open", "" }, /* a file open in a forked child outlives its owner */
	{ "bad_pointer_einval", "" }, /* some ioctls return EINVAL for a bad pointer */
	{ "map_keeps_open", "" }, /* a mapping keeps the device open beyond close */
	{ "munmap_noticed", "" }, /* calls to a process that has dropped its mapping fail */
	{ "inherit_rt", "" }, /* real-time inheritance, minimum nice values above 0 */
	{ "realtime", "" }, /* the driver can change a thread to a real-time policy, and back */
	{ "read_refused", "" }, /* read(2) on a device fails */
	{ "binderfs_mount", "" }, /* `mount -t binder` makes a separate binderfs */
	{ "sender_euid_of_thread", "" }, /* sender_euid is that of the calling thread (7.2) */
	{ "sender_euid_of_process", "" }, /* sender_euid is that of the opener's first thread */
	{ "reports_7", "" }, /* reports as of 7.x: a%d r%d, state_hashed, transactions_hashed */
	{ "reports_6", "" }, /* reports as of 6.12: r%d */
	{ "freeze_callers_pid", "" }, /* BINDER_FREEZE takes a pid of the caller's namespace */
	{ "objects_outlive_threads", "" }, /* what is told of objects is not lost with a thread */
	{ "defer_complete", "" }, /* TF_DEFER_COMPLETE, as Android's newest Rust driver has it */
	{ "transaction_report", "" }, /* failure notices over generic netlink (6.18) */
};

#define NR_CAPS (sizeof(caps) / sizeof(caps[0]))

static int find(const char *name, size_t length)
{
	for (size_t i = 0; i < NR_CAPS; i++) {
		if (strlen(caps[i].name) == length && !strncmp(caps[i].name, name, length))
			return (int)i;
	}
	return -1;
}

bool caps_declare_missing(const char *declaration)
{
	const char *equals = strchr(declaration, '=');
	int at;

	if (!equals || !equals[1])
		return false;
	at = find(declaration, (size_t)(equals - declaration));
	if (at < 0)
		return false;
	snprintf(caps[at].reason, sizeof(caps[at].reason), "%s", equals + 1);
	return true;
}

bool caps_declare_present(const char *name)
{
	int at = find(name, strlen(name));

	if (at < 0)
		return false;
	caps[at].reason[0] = 0;
	caps[at].is_special = false;
	return true;
}

/* The capability in the list, by the first word of *@needs, which is skipped; -1: unknown. */
static int take(const char **needs)
{
	size_t length = strcspn(*needs, " ");
	int at = find(*needs, length);

	*needs += length;
	*needs += strspn(*needs, " ");
	return at;
}

bool caps_unprepared(const char *needs)
{
	while (*needs) {
		int at = take(&needs);

		if (at >= 0 && caps[at].is_special)
			return true;
	}
	return false;
}

const char *caps_missing(const char *needs)
{
	while (*needs) {
		int at = take(&needs);

		if (at >= 0 && caps[at].reason[0])
			return caps[at].reason;
	}
	return NULL;
}

const char *caps_unknown(const char *needs)
{
	while (*needs) {
		const char *word = needs;

		if (take(&needs) < 0)
			return word;
	}
	return NULL;
}
