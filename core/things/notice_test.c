// SPDX-License-Identifier: GPL-2.0
/* What death and freeze notices have in common; the tests of notices/ test the rest. */
#include "things/notice.h"
#include "common/limits.h"
#include "pair.h"
#include "check.h"

TEST(notice_taken_by_its_cookie)
{
	struct binder_notice *a, *b;
	struct bl_list list = BL_INIT(list);
	struct binder_proc *proc;
	struct pair p;

	pair_begin(&p);
	proc = p.client->proc;
	a = binder_notice_new(proc, WORK_DEATH, 1);
	b = binder_notice_new(proc, WORK_DEATH, 2);
	REQUIRE(a && b);
	binder_lock(&proc->inner_lock);
	bl_add_tail(&list, &a->work.link);
	bl_add_tail(&list, &b->work.link);
	CHECK(!binder_notice_take_ilocked(proc, &list, 3));
	CHECK(binder_notice_take_ilocked(proc, &list, 2) == b);
	CHECK(!binder_notice_take_ilocked(proc, &list, 2));
	CHECK(binder_notice_take_ilocked(proc, &list, 1) == a && bl_empty(&list));
	binder_unlock(&proc->inner_lock);
	binder_notice_discard(a);
	binder_notice_discard(b);
	binder_notice_free(NULL);
	CHECK(pair_end(&p));
}

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
