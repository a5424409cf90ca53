/* SPDX-License-Identifier: GPL-2.0 */
/* log: the record of an entry of a transaction log. */
#ifndef BINDER_STATE_LOG_H
#define BINDER_STATE_LOG_H

#include "common/limits.h"
#include "common/translog.h"

struct state_log {
	struct binder_log_entry entry;
	char context[BINDER_NAME_MAX + 1];
	u32 ring;
};

#endif
