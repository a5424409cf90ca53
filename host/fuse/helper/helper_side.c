// SPDX-License-Identifier: GPL-2.0
/* Inside the helper process: what its files share. */
#include "helper/helper_side.h"

#include "base/daemon.h"

struct helper_side {
	atomic_bool ending;
};

void helper_side_init(void)
{
	daemon_self->helper_side = daemon_alloc(sizeof(struct helper_side));
}

bool helper_is_ending(void)
{
	return atomic_load(&daemon_self->helper_side->ending);
}

void helper_set_ending(void)
{
	atomic_store(&daemon_self->helper_side->ending, true);
}

void helper_send_event(const struct helper_event *event)
{
	/* fails when the daemon has ended, which the main thread notices */
	helper_msg_send(HELPER_CONTROL, event, sizeof(*event) + event->nr * sizeof(s32), -1);
}
