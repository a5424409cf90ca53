/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How something went wrong, for the two who care: the peer, who is told by a
 * return code (BR_FAILED_REPLY, BR_DEAD_REPLY, BR_FROZEN_REPLY) and may ask for
 * an extended error, and the person who debugs, who wants the errno and the
 * place where it was born.
 */
#ifndef BINDER_RESULT_H
#define BINDER_RESULT_H

#include "common/abi.h"
#include "base/base_types.h"

struct binder_result {
	u32 ret;	   /* BR_*; BR_OK (ABI number) when nothing is wrong */
	s32 err;	   /* negative errno, the extended error's param */
	u32 line;	   /* where it was born, in file */
	const char *file;
	const char *why;   /* a few words for the log */
};

/* What the other party is told of the errno @err of a home: -ESRCH means that somebody died. */
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

/* Stores the failure in *@r and returns its errno, so that a function can end
 * with `return binder_fail(...)`. */
#define binder_fail(r, ret, err, why) binder_fail_at(r, ret, err, why, __FILE__, __LINE__)

#endif
