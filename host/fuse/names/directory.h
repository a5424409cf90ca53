/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The entries of a directory (tree.h): by their names, by the numbers of devices, and in the order
 * of their creation. The caller holds the tree's mutex.
 */
#ifndef HOST_FUSE_DIRECTORY_H
#define HOST_FUSE_DIRECTORY_H

struct entry;

/* The entry of @dir with this name; NULL: none. */
struct entry *directory_find(const struct entry *dir, const char *name);

/* The device with this number; NULL: none. */
struct entry *directory_device(unsigned int number);

/* Adds @entry, which has its parent, name and inode number, behind all others of its parent. */
void directory_add(struct entry *entry);
void directory_remove(struct entry *entry);

/* Gives @entry, which keeps its place, another name. Takes @name, and frees the one before. */
void directory_rename(struct entry *entry, char *name);

#endif
