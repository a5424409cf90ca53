// SPDX-License-Identifier: GPL-2.0
/*
 * anybinderd: Android Binder devices from user space.
 *
 * Start: options, background, supervisor, mount, negotiation with the kernel, tree, threads; then a
 * stat(2) of the mountpoint, which proves that requests are served; only then is readiness
 * announced. End: a signal, or umount(8). Calls in flight then fail with ECONNABORTED at the
 * clients, because the connection ends with the process.
 */
#include "base/daemon.h"
#include "base/log.h"
#include "buffers/bound_buffer.h"
#include "calls/open_file.h"
#include "calls/park.h"
#include "calls/pool.h"
#include "calls/watch.h"
#include "clients/identity.h"
#include "clients/namespaces.h"
#include "clients/users.h"
#include "core.h"
#include "device.h"
#include "dispatch.h"
#include "events/events.h"
#include "events/stages.h"
#include "files/files.h"
#include "helper/helper_msg.h"
#include "memory/account.h"
#include "names/layout.h"
#include "names/lookup.h"
#include "names/tree.h"
#include "queues/backlog.h"
#include "queues/congestion.h"
#include "session/expire.h"
#include "session/handles.h"
#include "session/mount.h"
#include "session/ready.h"
#include "session/session.h"
#include "start/options.h"
#include "start/supervisor.h"
#include "start/user_limits.h"
#include "workers/worker.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without --threads; calls are short, so that more workers would not be faster. */
#define DEFAULT_WORKERS_MAX 4

static const struct watch_handlers watch_handlers = {
	.owner_died = device_owner_died,
	.search = device_search,
	.hand_over = pool_hand_over,
	.check_workers = pool_check,
};

static const struct pool_handlers pool_handlers = {
	.serve = dispatch,
	.finish_woken = device_finish_woken,
	.continue_one = dispatch_continue_one,
	.serve_slow = dispatch_serve_slow,
};

static unsigned int worker_count(const struct options *options)
{
	cpu_set_t cpus;
	int count = 1;

	if (options->threads)
		return options->threads;
	if (!sched_getaffinity(0, sizeof(cpus), &cpus))
		count = CPU_COUNT(&cpus);
	return (unsigned int)(count < DEFAULT_WORKERS_MAX ? count : DEFAULT_WORKERS_MAX);
}

/* False: the kernel has ended the connection. */
static bool wait_for_end(const struct options *options)
{
	sigset_t set;
	int signal_number;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	while (sigwait(&set, &signal_number))
		;
	/* unmounting is an end like any other */
	if (!atomic_load(&daemon_self->session->ended) || !mount_exists()) {
		log_info("stopping");
		return true;
	}
	log_error("the kernel has aborted the connection of %s: an administrator asked it to, or a "
		  "request was older than fs.fuse.max_request_timeout permits",
		  options->mountpoint);
	return false;
}

static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Sets up everything between the mount and the first request of a client. */
static bool daemon_serve(const struct options *options)
{
	struct session *session = daemon_self->session;
	struct stat st;

	binder_world_init();
	if (options->record_stages && stages_start()) {
		log_error("out of memory");
		return false;
	}
	if (!layout_create(options->devices))
		return false;
	if (!files_init(device_not_held))
		return false;
	if (!supervisor_attach() || !watch_start(&watch_handlers) ||
	    !lookup_start() || !pool_start(worker_count(options), &pool_handlers) ||
	    (session->timeout_s && !expire_start(session->timeout_s, device_end_overdue))) {
		log_error("cannot start the threads: too little memory, or too low a limit of "
			  "threads (ulimit -u) or descriptors (ulimit -n)");
		return false;
	}
	if (stat(options->mountpoint, &st)) {
		log_error("the mount at %s does not respond: %s", options->mountpoint,
			  strerror(errno));
		return false;
	}
	session->device = st.st_dev;
	return true;
}

static bool daemon_run(const struct options *options)
{
	bool ok;
	int fd;

	if (!mount_prepare(options->mountpoint))
		return false;
	fd = mount_fuse(options->mountpoint, !options->private_mount);
	if (fd < 0) {
		mount_undo(options->mountpoint);
		return false;
	}
	if (!session_begin(fd, options->passthrough) || !daemon_serve(options) ||
	    (options->pid_file && !ready_write_pid_file(options->pid_file, getppid()))) {
		mount_undo(options->mountpoint);
		return false;
	}
	if (daemon_self->session->timeout_s)
		log_info("the kernel ends requests after %u s; calls return before that",
			 daemon_self->session->timeout_s);
	log_info("serving %s at %s%s", options->devices, options->mountpoint,
		 daemon_self->session->passthrough ? ", buffers mapped directly" : "");
	ready_leave_terminal();
	supervisor_announce();
	ok = wait_for_end(options);
	/* once the mount is gone, the next daemon may start, which writes its own */
	if (options->pid_file)
		unlink(options->pid_file);
	mount_undo(options->mountpoint);
	session_close();
	return ok;
}

/* The state of each part. */
static void init_daemon(const struct options *options)
{
	handles_init(1);
	users_init(options->uid);
	namespaces_init();
	identity_init();
	ready_init();
	expire_init();
	worker_table_init();
	account_init();
	backlog_init();
	congestion_init();
	events_init();
	stages_init();
	tree_init(options->uid, options->gid);
	layout_init(options->mode, options->max_devices);
	bound_open_init();
	lookup_init();
	workqueue_init(pool_hand_over);
	park_init();
	open_files_init();
	bound_buffers_init();
}

int main(int argc, char **argv)
{
	struct options options;
	char *mountpoint;

	if (argc && !strcmp(argv[0], HELPER_NAME))
		helper_main();
	options_parse(&options, argc, argv);
	log_threshold = options.log_level;
	daemon_self = daemon_alloc(sizeof(*daemon_self));
	init_daemon(&options);
	block_signals();
	limits_set(&options);
	/* the daemon changes to / later */
	mountpoint = mount_absolute(options.mountpoint);
	if (!mountpoint)
		return 1;
	options.mountpoint = mountpoint;
	if (!options.foreground)
		ready_fork();
	if (!supervisor_fork(&options))
		return 1;
	/* not exit(): workers are still running */
	_exit(daemon_run(&options) ? 0 : 1);
}
