// SPDX-License-Identifier: GPL-2.0
/*
 * What stands in the tree.
 *
 * The names and the texts are those of binderfs, since tools look for them: a feature is a file
 * that says "1", a report is made by the engine at the moment that it is opened.
 */
#include "layout.h"

#include "core.h"
#include "log.h"
#include "stages.h"
#include "text.h"
#include "tree.h"

#include <errno.h>
#include <linux/ioctl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define CONTROL_NAME "binder-control"

/* What <linux/android/binderfs.h> says, which cannot be read beside the engine's own abi.h. */
struct binderfs_device {
	char name[BINDER_NAME_MAX + 1];
	uint32_t major;
	uint32_t minor;
};

#define BINDER_CTL_ADD _IOWR('b', 1, struct binderfs_device)

static struct entry *logs_proc;
static mode_t device_mode;
static unsigned int device_limit;
static pthread_mutex_t add_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t next_minor;
static atomic_uint nr_devices;

static void write_feature(struct text *text, uint64_t arg)
{
	text_print(text, "%u\n", (unsigned int)arg);
}

/* Reports differ only in the function of the engine that writes them. */
static void (*const reports[])(struct host_out *out) = {
	binder_report_state,
	binder_report_stats,
	binder_report_transactions,
	binder_report_transaction_log,
	binder_report_failed_transaction_log,
};

static const char *const report_names[] = {
	"state", "stats", "transactions", "transaction_log", "failed_transaction_log",
};

static void write_report(struct text *text, uint64_t arg)
{
	struct host_out out = { text };

	reports[arg](&out);
}

static void write_proc_report(struct text *text, uint64_t arg)
{
	struct host_out out = { text };

	binder_report_proc(&out, (s32)arg);
}

static void write_contention(struct text *text, uint64_t arg)
{
	struct host_out out = { text };

	(void)arg;
	binder_report_contention(&out);
}

static void write_stages(struct text *text, uint64_t arg)
{
	(void)arg;
	stages_write(text);
}

static int obey_stages(const char *word)
{
	if (!strcmp(word, "on"))
		return stages_start();
	if (strcmp(word, "off"))
		return -EINVAL;
	stages_stop();
	return 0;
}

struct text_entry {
	const char *name;
	mode_t mode;
	void (*write)(struct text *text, uint64_t arg);
	uint64_t arg;
	int (*obey)(const char *word);	/* NULL: it cannot be written */
};

static void fill_text(struct entry *entry, void *arg)
{
	const struct text_entry *text = arg;

	entry->write_text = text->write;
	entry->arg = text->arg;
	entry->obey = text->obey;
}

static int add_text(struct entry *dir, struct text_entry text)
{
	return tree_add(dir, text.name, ENTRY_TEXT, text.mode, fill_text, &text);
}

static void drop_device(struct entry *entry)
{
	atomic_fetch_sub(&nr_devices, 1);
	binder_context_put(entry->device);
}

static void fill_device(struct entry *entry, void *context)
{
	entry->device = context;
	entry->drop = drop_device;
}

static int add_device(const char *name)
{
	struct binder_context *context;
	int error;

	if (!*name || !strcmp(name, ".") || !strcmp(name, "..") || strchr(name, '/'))
		return -EACCES;
	if (atomic_fetch_add(&nr_devices, 1) >= device_limit) {
		atomic_fetch_sub(&nr_devices, 1);
		return -ENOSPC;
	}
	context = binder_context_new(name);
	error = -ENOMEM;
	if (context)
		error = tree_add(tree_root(), name, ENTRY_DEVICE, device_mode, fill_device,
				 context);
	if (error) {
		atomic_fetch_sub(&nr_devices, 1);
		if (context)
			binder_context_put(context);
	}
	return error;
}

/* Texts for whoever measures, and how they are switched. */
static const struct text_entry measures[] = {
	{ "stages", 0600, write_stages, 0, obey_stages },
	{ "lock_contention", 0644, write_contention, 0, binder_contention_command },
};

static struct entry *add_dir(struct entry *parent, const char *name)
{
	if (tree_add(parent, name, ENTRY_DIR, 0755, NULL, NULL))
		return NULL;
	return tree_child(parent, name);
}

static bool add_texts(void)
{
	static const char *const features[] = {
		"oneway_spam_detection", "extended_error", "freeze_notification",
	};
	struct entry *dir = add_dir(tree_root(), "features");
	struct entry *logs;
	int error = 0;

	for (size_t i = 0; dir && i < sizeof(features) / sizeof(features[0]); i++)
		error |= add_text(dir, (struct text_entry){ features[i], 0444, write_feature, 1 });
	logs = add_dir(tree_root(), "binder_logs");
	for (size_t i = 0; logs && i < sizeof(reports) / sizeof(reports[0]); i++)
		error |= add_text(logs, (struct text_entry){ report_names[i], 0444, write_report,
							     i });
	for (size_t i = 0; logs && i < sizeof(measures) / sizeof(measures[0]); i++)
		error |= add_text(logs, measures[i]);
	logs_proc = logs ? add_dir(logs, "proc") : NULL;
	return dir && logs_proc && !error;
}

bool layout_init(const char *devices, mode_t mode, unsigned int max_devices)
{
	char name[BINDER_NAME_MAX + 1];
	size_t length;

	device_mode = mode;
	device_limit = max_devices;
	if (tree_add(tree_root(), CONTROL_NAME, ENTRY_CONTROL, 0600, NULL, NULL) || !add_texts()) {
		log_error("out of memory");
		return false;
	}
	for (; *devices; devices += length + (devices[length] == ',')) {
		int error = -ENAMETOOLONG;

		length = strcspn(devices, ",");
		if (!length)
			continue;
		if (length <= BINDER_NAME_MAX) {
			snprintf(name, sizeof(name), "%.*s", (int)length, devices);
			error = add_device(name);
		}
		if (error) {
			log_error("cannot make the device '%.*s': %s", (int)length, devices,
				  strerror(-error));
			return false;
		}
	}
	return true;
}

void layout_control(const struct request *request)
{
	const struct fuse_ioctl_in *in = request->body;
	struct binderfs_device device;
	int error;

	if (in->cmd != BINDER_CTL_ADD || request->body_size < sizeof(*in) + sizeof(device)) {
		session_reply_ioctl(request->head->unique, -EINVAL, NULL, 0);
		return;
	}
	memcpy(&device, in + 1, sizeof(device));
	device.name[BINDER_NAME_MAX] = 0;
	pthread_mutex_lock(&add_lock);
	error = add_device(device.name);
	/* a FUSE file has no device number; these tell devices apart in the caller's output */
	device.major = 0;
	device.minor = error ? 0 : next_minor++;
	pthread_mutex_unlock(&add_lock);
	session_reply_ioctl(request->head->unique, error, &device, error ? 0 : sizeof(device));
}

void layout_proc_opened(pid_t pid)
{
	struct text_entry text = { NULL, 0444, write_proc_report, (uint64_t)pid };
	char name[16];

	snprintf(name, sizeof(name), "%d", pid);
	tree_add_shared(logs_proc, name, ENTRY_TEXT, 0444, fill_text, &text);
}

void layout_proc_closed(pid_t pid)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", pid);
	tree_remove_shared(logs_proc, name);
}
