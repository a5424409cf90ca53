/* SPDX-License-Identifier: GPL-2.0 */
/* device: the file operations of a Binder device, in /dev or in a binderfs. */
#ifndef HOST_LINUX_DEVICE_H
#define HOST_LINUX_DEVICE_H

struct file_operations;

extern const struct file_operations device_fops;

/**
 * device_for_each_name() - call a function for each name until it fails
 * @names: separated by commas
 * @fn: the function
 * @arg: its argument
 *
 * Context: May sleep.
 *
 * Return: 0, the error of the function, or -ENOMEM.
 */
int device_for_each_name(const char *names, int (*fn)(void *arg, const char *name), void *arg);

/**
 * device_add_static() - create devices in /dev, all or none
 * @names: separated by commas; those that another driver has are left out
 *
 * Context: May sleep. Pair: device_remove_static().
 *
 * Return: 0 or -errno.
 */
int device_add_static(const char *names);
/**
 * device_remove_static() - remove the devices in /dev
 */
void device_remove_static(void);

#endif
