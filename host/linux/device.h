/* SPDX-License-Identifier: GPL-2.0 */
/* device: the file operations of a Binder device, in /dev or in a binderfs. */
#ifndef HOST_LINUX_DEVICE_H
#define HOST_LINUX_DEVICE_H

struct file_operations;

extern const struct file_operations device_fops;

/* Calls @fn for each name in a comma-separated list until it fails; returns its error, or
 * -ENOMEM. */
int device_for_each_name(const char *names, int (*fn)(void *arg, const char *name), void *arg);

/* Creates misc devices of these names in /dev: all, or none and -errno. */
int device_add_static(const char *names);
void device_remove_static(void);

#endif
