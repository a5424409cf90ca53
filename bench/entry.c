// SPDX-License-Identifier: GPL-2.0
/*
 * An empty call into the driver of a binder device: BINDER_VERSION. Over anybinderd this is the
 * cost of one FUSE request and its reply without any work of binder: a lower bound for a call,
 * which is three requests. No data is moved and no server is called.
 */
#include "bench/fail.h"
#include "bench/peer.h"

#include <fcntl.h>
#include <linux/android/binder.h>
#include <stdlib.h>
#include <sys/ioctl.h>

static void *entry_connect(void *state, const struct cell *cell, int pair)
{
	int *device = malloc(sizeof(*device));

	*device = open(cell->address, O_RDWR | O_CLOEXEC);
	if (*device < 0)
		fail_errno("%s", cell->address);
	return device;
}

static void entry_call(void *connection)
{
	const int *device = connection;
	struct binder_version version;

	if (ioctl(*device, BINDER_VERSION, &version))
		fail_errno("BINDER_VERSION");
}

const struct peer peer_entry = {
	.name = "entry",
	.needs_address = true,
	.has_no_payload = true,
	.connect = entry_connect,
	.call = entry_call,
};
