// SPDX-License-Identifier: GPL-2.0
/*
 * An empty call into the driver of a binder device: BINDER_VERSION. Over anybinderd that is the
 * least that a request through FUSE and its answer cost, with the work of binder left out: what a
 * call, which is three requests, is to be held against. Nothing is moved, and nobody is called.
 */
#include "bench/fail.h"
#include "bench/peer.h"
#include "bench/stage.h"

#include <fcntl.h>
#include <linux/android/binder.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void *entry_prepare(const struct cell *cell)
{
	if (!cell->address)
		fail("entry needs --address");
	if (cell->request_bytes || cell->reply_bytes)
		fail("entry carries nothing");
	return NULL;
}

static void entry_serve(void *state, const struct cell *cell, int pair)
{
	stage_up();
	for (;;)
		pause();
}

static void *entry_connect(void *state, const struct cell *cell, int pair)
{
	int *device = malloc(sizeof(*device));

	*device = open(cell->address, O_RDWR | O_CLOEXEC);
	if (*device < 0)
		fail_errno(cell->address);
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
	.prepare = entry_prepare,
	.serve = entry_serve,
	.connect = entry_connect,
	.call = entry_call,
};
