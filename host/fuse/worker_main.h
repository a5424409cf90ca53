/* SPDX-License-Identifier: GPL-2.0 */
/* What a worker does. */
#ifndef HOST_FUSE_WORKER_MAIN_H
#define HOST_FUSE_WORKER_MAIN_H

struct worker;

/* The body of a thread of the pool: serves requests or the slow lane, or finishes queued work. */
void worker_main(struct worker *self);

#endif
