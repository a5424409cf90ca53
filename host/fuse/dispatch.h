/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a request's opcode to the function that answers it.
 */
#ifndef HOST_FUSE_DISPATCH_H
#define HOST_FUSE_DISPATCH_H

#include "session.h"

/* Answers @request, or parks it. Nothing in it points into the request's buffer afterwards. */
void dispatch(const struct request *request);

#endif
