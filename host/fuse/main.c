// SPDX-License-Identifier: GPL-2.0
/*
 * anybinderd: Android Binder devices from user space.
 *
 * One program for three processes. The supervisor is started, mounts, keeps the connection and
 * executes the program again as the server, which serves it and executes it once more as its
 * helper.
 */
#include "base/daemon_state.h"
#include "base/daemon_log.h"
#include "fds/fds.h"
#include "server_process.h"
#include "session/mount.h"
#include "session/ready.h"
#include "start/options.h"
#include "start/server_msg.h"
#include "start/supervisor.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

size_t daemon_page_size = 4096;

static void block_signals(void)
{
	sigset_t set = supervisor_signals();

	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int main(int argc, char **argv)
{
	struct options options;

	if (argc)
		fds_run_helper(argv[0]);
	block_signals();
	daemon_page_size = (size_t)sysconf(_SC_PAGESIZE);
	/* not exit(): threads may be running */
	if (argc && !strcmp(argv[0], SERVER_NAME))
		_exit(server_main(argc, argv));
	options_parse(&options, argc, argv);
	log_threshold = options.log_level;
	daemon_self = daemon_alloc(sizeof(*daemon_self));
	ready_init();
	/* the program executes itself by its name there, and looks at its clients */
	if (access("/proc/self/exe", F_OK) < 0) {
		log_error("/proc is not mounted; mount it: mount -t proc proc /proc");
		return 1;
	}
	/* the daemon changes to / later */
	options.mountpoint = mount_absolute(options.mountpoint);
	if (options.pid_file)
		options.pid_file = mount_absolute(options.pid_file);
	if (!options.mountpoint)
		return 1;
	if (!options.foreground)
		ready_fork();
	_exit(supervisor_main(&options, argv));
}
