/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bl: a circular doubly linked list, the links inside the things listed.
 *
 * The head is a struct bl_list like every element. An element that stands in no
 * list points at itself (bl_init, bl_del), so "is it queued?" is bl_linked() and
 * deleting twice is harmless. Nothing here locks, allocates or sleeps; the list
 * belongs to whoever holds its owner's lock.
 */
#ifndef ANYBINDER_BASE_LIST_H
#define ANYBINDER_BASE_LIST_H

#include "base_types.h"

struct bl_list {
	struct bl_list *next;
	struct bl_list *prev;
};

#define BL_INIT(name) { &(name), &(name) }

/* Makes @list an empty head, or an element that stands in no list. */
static inline void bl_init(struct bl_list *list)
{
	list->next = list;
	list->prev = list;
}

/* Is there no element in the list of @head? */
static inline bool bl_empty(const struct bl_list *head)
{
	return head->next == head;
}

/* Does @item stand in a list? (@item has been through bl_init once.) */
static inline bool bl_linked(const struct bl_list *item)
{
	return item->next != item;
}

static inline void bl_link_between(struct bl_list *item, struct bl_list *prev, struct bl_list *next)
{
	item->prev = prev;
	item->next = next;
	prev->next = item;
	next->prev = item;
}

/* Puts @item, which stands in no list, first in the list of @head. */
static inline void bl_add_head(struct bl_list *head, struct bl_list *item)
{
	bl_link_between(item, head, head->next);
}

/* Puts @item, which stands in no list, last in the list of @head. */
static inline void bl_add_tail(struct bl_list *head, struct bl_list *item)
{
	bl_link_between(item, head->prev, head);
}

/* Takes @item out of its list; no effect if it stands in none. */
static inline void bl_del(struct bl_list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	bl_init(item);
}

/* Moves @item, whether linked or not, to the end of the list of @head. */
static inline void bl_move_tail(struct bl_list *head, struct bl_list *item)
{
	bl_del(item);
	bl_add_tail(head, item);
}

/* Moves all elements of @from to the end of @head, in order; @from is then empty. */
static inline void bl_splice_tail(struct bl_list *head, struct bl_list *from)
{
	if (bl_empty(from))
		return;
	from->next->prev = head->prev;
	head->prev->next = from->next;
	from->prev->next = head;
	head->prev = from->prev;
	bl_init(from);
}

/* The first or last element, NULL if the list is empty. */
static inline struct bl_list *bl_first(const struct bl_list *head)
{
	return bl_empty(head) ? NULL : head->next;
}

static inline struct bl_list *bl_last(const struct bl_list *head)
{
	return bl_empty(head) ? NULL : head->prev;
}

/* Takes the first element out and returns it, NULL if the list is empty. */
static inline struct bl_list *bl_pop(struct bl_list *head)
{
	struct bl_list *item = bl_first(head);

	if (item)
		bl_del(item);
	return item;
}

/* The structure that holds the element @ptr, which is not NULL. */
#define bl_entry(ptr, type, member) base_container_of(ptr, type, member)

/* The same for the first element; NULL if the list is empty. */
#define bl_first_entry(head, type, member) \
	(bl_empty(head) ? NULL : bl_entry((head)->next, type, member))
#define bl_last_entry(head, type, member) \
	(bl_empty(head) ? NULL : bl_entry((head)->prev, type, member))

/* Each structure of the list in order; the list may not change meanwhile. */
#define bl_for_each(pos, head, member) \
	for (pos = bl_entry((head)->next, __typeof__(*pos), member); \
	     &pos->member != (head); \
	     pos = bl_entry(pos->member.next, __typeof__(*pos), member))

/* As above, but @pos itself may be taken out or freed in the body. */
#define bl_for_each_safe(pos, tmp, head, member) \
	for (pos = bl_entry((head)->next, __typeof__(*pos), member), \
	     tmp = bl_entry(pos->member.next, __typeof__(*pos), member); \
	     &pos->member != (head); \
	     pos = tmp, tmp = bl_entry(tmp->member.next, __typeof__(*tmp), member))

#endif
