// SPDX-License-Identifier: GPL-2.0
/*
 * The entries of a directory.
 *
 * The root of a node in a cluster has thousands of devices, each of whose opens looks its name up.
 * So all names of the tree are in one hash table, devices in an array by their number, and the list
 * of a directory only keeps the order.
 */
#include "base/daemon_state.h"
#include "names/tree.h"
#include "session/handles.h"

#include <stdlib.h>
#include <string.h>

static struct entry **bucket_of(const struct entry *dir, const char *name)
{
	return &daemon_self->tree->names[nodeid_of_name(dir->ino, name) % TREE_BUCKETS];
}

struct entry *directory_find(const struct entry *dir, const char *name)
{
	struct entry *entry = *bucket_of(dir, name);

	while (entry && (entry->parent != dir || strcmp(entry->name, name)))
		entry = entry->next_name;
	return entry;
}

struct entry *directory_device(unsigned int number)
{
	return daemon_self->tree->devices[number];
}

static void add_name(struct entry *entry)
{
	struct entry **bucket = bucket_of(entry->parent, entry->name);

	entry->next_name = *bucket;
	*bucket = entry;
}

static void remove_name(struct entry *entry)
{
	struct entry **slot = bucket_of(entry->parent, entry->name);

	while (*slot != entry)
		slot = &(*slot)->next_name;
	*slot = entry->next_name;
}

void directory_add(struct entry *entry)
{
	struct entry *dir = entry->parent;

	entry->previous = dir->last;
	*(dir->last ? &dir->last->next : &dir->child) = entry;
	dir->last = entry;
	add_name(entry);
	if (entry->kind == ENTRY_DEVICE)
		daemon_self->tree->devices[nodeid_device(entry->ino)] = entry;
}

void directory_remove(struct entry *entry)
{
	struct entry *dir = entry->parent;

	*(entry->previous ? &entry->previous->next : &dir->child) = entry->next;
	*(entry->next ? &entry->next->previous : &dir->last) = entry->previous;
	remove_name(entry);
	if (entry->kind == ENTRY_DEVICE)
		daemon_self->tree->devices[nodeid_device(entry->ino)] = NULL;
}

void directory_rename(struct entry *entry, char *name)
{
	remove_name(entry);
	free(entry->name);
	entry->name = name;
	add_name(entry);
}
