/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside the helper process: what its files share. Each function may be called from any of its
 * threads.
 */
#ifndef HOST_FUSE_HELPER_SIDE_H
#define HOST_FUSE_HELPER_SIDE_H

#include "helper/helper_msg.h"

void helper_side_init(void);

void helper_send_event(const struct helper_event *event);

/* Is the daemon gone? The helper ends soon. */
bool helper_is_ending(void);
void helper_set_ending(void);

#endif
