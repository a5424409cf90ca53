// SPDX-License-Identifier: GPL-2.0
/* The injector on architectures that it does not support: it does not start, and has no jobs. */
#include "fds/inject/inject.h"

#include <errno.h>

int inject_start(struct injector **out)
{
	return -ENOSYS;
}

void inject_submit(struct injector *injector, struct inject_job *job)
{
}

bool inject_is_idle(const struct injector *injector)
{
	return true;
}
