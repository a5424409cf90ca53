/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why a transaction failed. The sender gets a return code (BR_FAILED_REPLY, BR_DEAD_REPLY
 * or BR_FROZEN_REPLY) and can ask for an extended error; the logs show the errno, a text
 * and the line of the source.
 *
 * One convention for results in all of core/: a function that can fail returns 0 or -errno, and
 * what it finds goes through a pointer. Only what ends a call or a command may be one of the
 * positive BINDER_* below instead. A bool answers a question (is_, has_, may_), or its comment says
 * what false means.
 */
#ifndef BINDER_RESULT_H
#define BINDER_RESULT_H

#include "common/abi.h"
#include "base/base_types.h"

struct binder_result {
	u32 ret;	   /* BR_*; BR_OK: no failure */
	s32 err;	   /* negative errno, the param of the extended error */
	u32 line;	   /* where binder_fail() stands in @file */
	const char *file;
	const char *why;   /* a few words for the log */
};

/* The return code for the errno @err of a host operation; -ESRCH: a process is dead. */
static inline u32 binder_ret_of(s32 err)
{
	return err == -ESRCH ? BR_DEAD_REPLY : BR_FAILED_REPLY;
}

static inline s32 binder_fail_at(struct binder_result *r, u32 ret, s32 err, const char *why,
				 const char *file, u32 line)
{
	r->ret = ret;
	r->err = err;
	r->why = why;
	r->file = file;
	r->line = line;
	return err;
}

/* Stores the failure in *@r and returns @err, for `return binder_fail(...)`. */
#define binder_fail(r, ret, err, why) binder_fail_at(r, ret, err, why, __FILE__, __LINE__)

/* The results of a call besides 0 and -errno; see core.h. */
#define BINDER_WOULD_BLOCK 1
#define BINDER_RESTART	   2
#define BINDER_AGAIN	   3

#endif
