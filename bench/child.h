/* SPDX-License-Identifier: GPL-2.0 */
/* Processes that do not outlive the one that started them. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include <sys/types.h>

/* fork(2) of a child that is killed when its parent ends. Failure ends the process. */
pid_t child_fork(void);

#endif
