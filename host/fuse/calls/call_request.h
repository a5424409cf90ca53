/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The request of a thread's present call, an ioctl.
 *
 * call_begin() fills it, and whoever owns the call (client_call.h) reads it; the engine writes the
 * argument's result to @arg. Between two calls it is that of the last one.
 */
#ifndef HOST_FUSE_CALL_REQUEST_H
#define HOST_FUSE_CALL_REQUEST_H

#include "base/types.h"

/* Size of the largest ioctl argument, which has 48 bytes, and some spare. */
#define HOST_ARG_SIZE 64

struct call_request {
	u64 unique;			/* the kernel's number of the request */
	u32 euid;			/* of the caller, in the daemon's user namespace */
	u32 cmd;
	u32 out_size;			/* bytes of @arg that the reply copies back */
	u32 stamp;			/* the period of its begin (expire.h) */
	u64 address;			/* of the argument in the caller's memory */
	_Alignas(8) char arg[HOST_ARG_SIZE];
};

#endif
