/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside the helper process: one injector for each user, so that a receiver delays only its own.
 */
#ifndef HOST_FUSE_HELPER_INJECT_H
#define HOST_FUSE_HELPER_INJECT_H

#include "helper/helper_msg.h"

void helper_injectors_init(void);

/* Main thread only. */
void helper_inject_start(const struct helper_message *message);
void helper_inject_resume(u64 id);
bool helper_inject_is_idle(void);

#endif
