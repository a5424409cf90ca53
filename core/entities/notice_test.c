// SPDX-License-Identifier: GPL-2.0
/* What death and freeze notices have in common; the tests of notices/ test the rest. */
#include "entities/notice.h"
#include "common/limits.h"
#include "pair.h"
#include "check.h"

TEST(notice_number_is_limited)
{
	struct binder_proc *proc;
	struct binder_notice *notice;
	struct bl_list list = BL_INIT(list);
	struct bl_list *link;
	struct pair p;
	u32 nr = 0;

	pair_begin(&p);
	proc = p.client->proc;
	while ((notice = binder_notice_new(proc, WORK_FREEZE, nr))) {
		bl_add_tail(&list, &notice->work.link);
		nr++;
	}
	CHECK(nr == BINDER_MAX_NOTICES);
	binder_notice_discard(bl_entry(bl_pop(&list), struct binder_notice, work.link));
	notice = binder_notice_new(proc, WORK_FREEZE, nr);
	CHECK(notice);
	binder_notice_discard(notice);
	while ((link = bl_pop(&list)))
		binder_notice_discard(bl_entry(link, struct binder_notice, work.link));
	CHECK(pair_end(&p));
}
