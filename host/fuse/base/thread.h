/* SPDX-License-Identifier: GPL-2.0 */
/* The daemon's threads. None is waited for: each ends by itself or with the process. */
#ifndef HOST_FUSE_THREAD_H
#define HOST_FUSE_THREAD_H

/* Starts a thread that works for the same daemon as the caller. Returns 0, -EAGAIN or -ENOMEM. */
int thread_start(void (*body)(void *arg), void *arg);

/* A number of the calling thread, from 1, in the order in which threads ask for it. */
unsigned int thread_number(void);

#endif
