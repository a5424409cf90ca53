/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dbus-broker without its launcher, which needs a systemd journal and a user session.
 */
#ifndef BENCH_BROKER_H
#define BENCH_BROKER_H

/*
 * Runs dbus-broker with a bus on a new unix socket at @path, open to all users, until it or this
 * process is killed. Does not return.
 */
void broker_run(const char *path);

#endif
