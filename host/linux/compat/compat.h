/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What older kernels call differently. The module is written for the newest kernel that it is built on;
 * the probe script beside this file looks at the kernel's headers and defines COMPAT_HAVE_* for what it
 * finds there.
 */
#ifndef HOST_LINUX_COMPAT_H
#define HOST_LINUX_COMPAT_H

#include <linux/fs.h>
#include <linux/mm.h>

#ifdef COMPAT_HAVE_VM_FLAGS_MOD
#define compat_vm_flags_mod(vma, set, clear) vm_flags_mod(vma, set, clear)
#else
static inline void compat_vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set,
				       vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* What a directory operation is told of the mount's ids. */
#ifdef COMPAT_HAVE_MNT_IDMAP
#define compat_idmap struct mnt_idmap
#else
#define compat_idmap struct user_namespace
#endif

static inline void compat_inode_init_times(struct inode *inode)
{
#ifdef COMPAT_HAVE_INODE_INIT_TS
	simple_inode_init_ts(inode);
#else
	inode->i_atime = inode->i_mtime = inode->i_ctime = current_time(inode);
#endif
}

#endif
