/* SPDX-License-Identifier: GPL-2.0 */
/* device: what a Binder device file answers, whether it stands in /dev or in a binderfs. */
#ifndef HOST_LINUX_DEVICE_H
#define HOST_LINUX_DEVICE_H

struct file_operations;

extern const struct file_operations device_fops;

/* Calls @fn for each name of a list with commas, until one returns an error, which is returned.
 * -ENOMEM. */
int device_for_each_name(const char *names, int (*fn)(void *arg, const char *name), void *arg);

/* The misc devices of these names in /dev. -errno: none of them is there. */
int device_add_static(const char *names);
void device_remove_static(void);

#endif
