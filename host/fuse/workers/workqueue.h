/* SPDX-License-Identifier: GPL-2.0 */
/* Work that takes long, and that no client waits for, is done by a thread of its own. */
#ifndef HOST_FUSE_WORKQUEUE_H
#define HOST_FUSE_WORKQUEUE_H

#include "host_types.h"

void workqueue_init(void);

/*
 * Has @work->run() called, after that of the works that came before; it may call the engine. False:
 * there is no thread for it, the caller has to do it.
 */
bool workqueue_add(struct work *work);

#endif
