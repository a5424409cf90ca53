/* SPDX-License-Identifier: GPL-2.0 */
/*
 * command: the commands (BC_*) of a write buffer.
 */
#ifndef BINDER_COMMAND_H
#define BINDER_COMMAND_H

#include "common/abi.h"

struct binder_thread;

/*
 * Executes the commands from bwr->write_consumed to the end of the buffer, or until one fails
 * or leaves an error for the thread to read. bwr->write_consumed then is behind the last
 * one executed. 0; BINDER_AGAIN the slice is used up and commands are left, to be executed
 * by another binder_write(); -EFAULT not readable; -EINVAL unknown or not supported, and
 * what the handlers return. By the thread's own call; may sleep; no lock held.
 */
int binder_write(struct binder_thread *thread, struct binder_write_read *bwr);

#endif
