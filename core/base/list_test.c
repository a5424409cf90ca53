// SPDX-License-Identifier: GPL-2.0
/* The list against an array with the same elements in the same order. */
#include <string.h>

#include "base/list.h"
#include "check.h"

#define NR_ITEMS 24
#define NR_STEPS 20000

struct item {
	int id;
	struct bl_list link;
};

struct model {
	int ids[NR_ITEMS];
	int len;
};

static int model_find(const struct model *model, int id)
{
	for (int i = 0; i < model->len; i++) {
		if (model->ids[i] == id)
			return i;
	}
	return -1;
}

static void model_insert(struct model *model, int at, int id)
{
	memmove(model->ids + at + 1, model->ids + at, (size_t)(model->len - at) * sizeof(int));
	model->ids[at] = id;
	model->len++;
}

static void model_remove(struct model *model, int id)
{
	int at = model_find(model, id);

	if (at < 0)
		return;
	model->len--;
	memmove(model->ids + at, model->ids + at + 1, (size_t)(model->len - at) * sizeof(int));
}

/* Same elements in the same order, in both directions. */
static bool same(struct bl_list *head, const struct model *model)
{
	struct item *item;
	struct bl_list *back = head;
	int i = 0;

	bl_for_each(item, head, link)
		REQUIRE(i < model->len && item->id == model->ids[i++], false);
	REQUIRE(i == model->len && bl_empty(head) == (i == 0), false);
	REQUIRE(bl_empty_racy(head) == (i == 0), false);
	while (i > 0) {
		back = back->prev;
		REQUIRE(bl_entry(back, struct item, link)->id == model->ids[--i], false);
	}
	REQUIRE(back->prev == head, false);
	return true;
}

TEST(list_random_steps)
{
	struct item items[NR_ITEMS];
	struct bl_list head = BL_INIT(head);
	struct model model = { .len = 0 };
	u64 seed = 42;

	for (int i = 0; i < NR_ITEMS; i++) {
		items[i].id = i;
		bl_init(&items[i].link);
	}
	for (int step = 0; step < NR_STEPS; step++) {
		int id = (int)(unit_random(&seed) % NR_ITEMS);
		struct bl_list *link = &items[id].link;
		bool in = model_find(&model, id) >= 0;

		REQUIRE(bl_linked(link) == in);
		switch (unit_random(&seed) % 4) {
		case 0:
			if (in)
				break;
			bl_add_head(&head, link);
			model_insert(&model, 0, id);
			break;
		case 1:
			bl_del(link);
			bl_add_tail(&head, link);
			model_remove(&model, id);
			model_insert(&model, model.len, id);
			break;
		case 2:
			bl_del(link);
			model_remove(&model, id);
			break;
		case 3:
			link = bl_pop(&head);
			REQUIRE(!link == (model.len == 0));
			REQUIRE(!link || bl_entry(link, struct item, link)->id == model.ids[0]);
			if (link)
				model_remove(&model, model.ids[0]);
			break;
		}
		REQUIRE(same(&head, &model));
	}
}

TEST(list_splice_keeps_order)
{
	for (int split = 0; split <= 6; split++) {
		struct item items[6];
		struct bl_list first = BL_INIT(first), second = BL_INIT(second);
		struct model model = { .len = 0 };

		for (int i = 0; i < 6; i++) {
			items[i].id = i;
			bl_add_tail(i < split ? &first : &second, &items[i].link);
			model_insert(&model, i, i);
		}
		bl_splice_tail(&first, &second);
		REQUIRE(bl_empty(&second));
		REQUIRE(same(&first, &model));
	}
}

TEST(list_ends)
{
	struct bl_list head = BL_INIT(head);
	struct item a = { .id = 1 }, b = { .id = 2 };

	REQUIRE(!bl_first(&head) && !bl_pop(&head));
	REQUIRE(!bl_first_entry(&head, struct item, link));
	bl_add_tail(&head, &b.link);
	bl_add_head(&head, &a.link);
	REQUIRE(bl_first(&head) == &a.link);
	REQUIRE(bl_first_entry(&head, struct item, link)->id == 1);
}
