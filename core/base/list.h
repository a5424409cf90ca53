/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bl: a circular doubly linked list; the links are members of the listed structures.
 *
 * The head is a struct bl_list like every element. An element that is on no list points
 * at itself (bl_init(), bl_del()), so bl_linked() answers whether it is queued, and
 * deleting it twice is harmless. Nothing here locks, allocates or sleeps. The caller
 * serialises all access to a list; only bl_empty_racy() may be called without.
 */
#ifndef ANYBINDER_BASE_LIST_H
#define ANYBINDER_BASE_LIST_H

#include "base_types.h"

struct bl_list {
	struct bl_list *next;
	struct bl_list *prev;
};

#define BL_INIT(name) { &(name), &(name) }

/* Stores to ->next are marked because bl_empty_racy() may load that word at the same time. */
#define BL_SET_NEXT(list, to) host_write_once((list)->next, to)

/* Makes @list an empty head, or an element that is on no list. */
static inline void bl_init(struct bl_list *list)
{
	BL_SET_NEXT(list, list);
	list->prev = list;
}

static inline bool bl_empty(const struct bl_list *head)
{
	return head->next == head;
}

/*
 * bl_empty() without the lock of the list, for a head that cannot be freed meanwhile. The
 * answer may be out of date; it orders no other load or store.
 */
static inline bool bl_empty_racy(const struct bl_list *head)
{
	return host_read_once(head->next) == head;
}

/* Returns whether @item, once initialised by bl_init(), is on a list. */
static inline bool bl_linked(const struct bl_list *item)
{
	return item->next != item;
}

static inline void bl_link_between(struct bl_list *item, struct bl_list *prev, struct bl_list *next)
{
	item->prev = prev;
	BL_SET_NEXT(item, next);
	BL_SET_NEXT(prev, item);
	next->prev = item;
}

/* Makes @item, which is on no list, the first element of @head. */
static inline void bl_add_head(struct bl_list *head, struct bl_list *item)
{
	bl_link_between(item, head, head->next);
}

/* Makes @item, which is on no list, the last element of @head. */
static inline void bl_add_tail(struct bl_list *head, struct bl_list *item)
{
	bl_link_between(item, head->prev, head);
}

/* Removes @item from its list; does nothing if it is on none. */
static inline void bl_del(struct bl_list *item)
{
	BL_SET_NEXT(item->prev, item->next);
	item->next->prev = item->prev;
	bl_init(item);
}

/* Moves all elements of @from to the end of @head, in order; @from is then empty. */
static inline void bl_splice_tail(struct bl_list *head, struct bl_list *from)
{
	if (bl_empty(from))
		return;
	from->next->prev = head->prev;
	BL_SET_NEXT(head->prev, from->next);
	BL_SET_NEXT(from->prev, head);
	head->prev = from->prev;
	bl_init(from);
}

/* The first element; NULL if the list is empty. */
static inline struct bl_list *bl_first(const struct bl_list *head)
{
	return bl_empty(head) ? NULL : head->next;
}

/* Removes and returns the first element; NULL if the list is empty. */
static inline struct bl_list *bl_pop(struct bl_list *head)
{
	struct bl_list *item = bl_first(head);

	if (item)
		bl_del(item);
	return item;
}

/* The structure that contains the element @ptr, which is not NULL. */
#define bl_entry(ptr, type, member) base_container_of(ptr, type, member)

/* The same for the first element; NULL if the list is empty. */
#define bl_first_entry(head, type, member) \
	(bl_empty(head) ? NULL : bl_entry((head)->next, type, member))

/* Each structure on the list, in order. The body may not change the list. */
#define bl_for_each(pos, head, member) \
	for (pos = bl_entry((head)->next, __typeof__(*pos), member); \
	     &pos->member != (head); \
	     pos = bl_entry(pos->member.next, __typeof__(*pos), member))

#endif
