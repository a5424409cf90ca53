/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interfaces that differ in older kernels. The module is written for the newest kernel; the script
 * `probe` searches the headers of the kernel and defines COMPAT_HAVE_*.
 */
#ifndef HOST_LINUX_COMPAT_H
#define HOST_LINUX_COMPAT_H

#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/sched.h>
#include <linux/security.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/string.h>

#ifdef COMPAT_HAVE_VM_FLAGS_MOD
#define compat_vm_flags_mod(vma, set, clear) vm_flags_mod(vma, set, clear)
#else
static inline void compat_vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set,
				       vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* The mapping that contains the address; NULL: none. */
static inline struct vm_area_struct *compat_vma_lookup(struct mm_struct *mm, unsigned long addr)
{
#ifdef COMPAT_HAVE_VMA_LOOKUP
	return vma_lookup(mm, addr);
#else
	struct vm_area_struct *vma = find_vma(mm, addr);

	return vma && vma->vm_start <= addr ? vma : NULL;
#endif
}

/* Maps a page for an access that may sleep. Pair: compat_kunmap_local(). */
static inline void *compat_kmap_local(struct page *page)
{
#ifdef COMPAT_HAVE_KMAP_LOCAL
	return kmap_local_page(page);
#else
	return kmap(page);
#endif
}

static inline void compat_kunmap_local(struct page *page, void *addr)
{
#ifdef COMPAT_HAVE_KMAP_LOCAL
	kunmap_local(addr);
#else
	kunmap(page);
#endif
}

static inline void compat_zero_page(struct page *page, size_t off, size_t size)
{
#ifdef COMPAT_HAVE_MEMZERO_PAGE
	memzero_page(page, off, size);
#else
	zero_user(page, off, size);
#endif
}

/* A sleep during which the machine may be suspended; the state is set before. */
#ifdef TASK_FREEZABLE
#define COMPAT_TASK_FREEZABLE TASK_FREEZABLE
#define compat_schedule_freezable() schedule()
#define compat_schedule_timeout_freezable(timeout) schedule_timeout(timeout)
#else
#include <linux/freezer.h>
#define COMPAT_TASK_FREEZABLE 0
#define compat_schedule_freezable() freezable_schedule()
#define compat_schedule_timeout_freezable(timeout) freezable_schedule_timeout(timeout)
#endif

/*
 * The first parameter of inode_operations.rename, and the argument in its place: the id mapping of
 * the mount; before 6.3 a namespace, before 5.12 none.
 */
#if defined(COMPAT_HAVE_MNT_IDMAP)
#define COMPAT_IDMAP_PARAMETER struct mnt_idmap *idmap,
#define COMPAT_IDMAP_ARGUMENT idmap,
#elif defined(COMPAT_HAVE_MNT_USERNS)
#define COMPAT_IDMAP_PARAMETER struct user_namespace *idmap,
#define COMPAT_IDMAP_ARGUMENT idmap,
#else
#define COMPAT_IDMAP_PARAMETER
#define COMPAT_IDMAP_ARGUMENT
#endif

static inline void compat_inode_init_times(struct inode *inode)
{
#ifdef COMPAT_HAVE_INODE_INIT_TS
	simple_inode_init_ts(inode);
#else
	inode->i_atime = inode->i_mtime = inode->i_ctime = current_time(inode);
#endif
}

/* The type of a device in the operations of a class. */
#ifdef COMPAT_HAVE_CLASS_CONST_DEVICE
#define COMPAT_CLASS_DEVICE const struct device
#else
#define COMPAT_CLASS_DEVICE struct device
#endif

#ifdef COMPAT_HAVE_IMPORT_NS_STRING
#define COMPAT_IMPORT_NS(ns) MODULE_IMPORT_NS(#ns)
#else
#define COMPAT_IMPORT_NS(ns) MODULE_IMPORT_NS(ns)
#endif

/*
 * Locks a directory and returns a reference to a negative dentry for @name. -EEXIST: the name
 * exists. Pair, unless it failed: compat_done_creating().
 */
static inline struct dentry *compat_start_creating(struct dentry *dir, const char *name)
{
#ifdef COMPAT_HAVE_START_CREATING
	return simple_start_creating(dir, name);
#else
	struct dentry *dentry;
#ifdef COMPAT_HAVE_LOOKUP_NOPERM
	struct qstr qname = QSTR_INIT(name, strlen(name));

	inode_lock(d_inode(dir));
	dentry = lookup_noperm(&qname, dir);
#else

	inode_lock(d_inode(dir));
	dentry = lookup_one_len(name, dir, strlen(name));
#endif
	if (!IS_ERR(dentry) && d_is_positive(dentry)) {
		dput(dentry);
		dentry = ERR_PTR(-EEXIST);
	}
	if (IS_ERR(dentry))
		inode_unlock(d_inode(dir));
	return dentry;
#endif
}

/* Puts the dentry and unlocks its directory. */
static inline void compat_done_creating(struct dentry *dentry)
{
#ifdef COMPAT_HAVE_DONE_CREATING
	simple_done_creating(dentry);
#else
	inode_unlock(d_inode(dentry->d_parent));
	dput(dentry);
#endif
}

/* Gives a dentry its inode, and pins it until simple_unlink() or the end of the mount. */
static inline void compat_make_persistent(struct dentry *dentry, struct inode *inode)
{
#ifdef COMPAT_HAVE_MAKE_PERSISTENT
	d_make_persistent(dentry, inode);
#else
	d_instantiate(dentry, inode);
	dget(dentry);
#endif
}

/* Ends a mount whose dentries are pinned. */
static inline void compat_kill_super(struct super_block *sb)
{
#ifdef COMPAT_HAVE_MAKE_PERSISTENT
	kill_anon_super(sb);
#else
	kill_litter_super(sb);
#endif
}

/*
 * The text of a security context: 0, or negative. Pair: compat_release_secctx(). Before 6.14 it
 * was two variables; with the patches for stacked security modules that distributions applied
 * to 6.8 and 6.11 it is struct lsmcontext, which only its release takes in some of them.
 */
#if defined(COMPAT_HAVE_LSM_CONTEXT)
#define compat_secctx struct lsm_context
#elif defined(COMPAT_HAVE_LSMCONTEXT)
#define compat_secctx struct lsmcontext
#else
struct compat_secctx {
	char *context;
	u32 len;
};
#define compat_secctx struct compat_secctx
#endif

static inline int compat_secid_to_secctx(u32 secid, compat_secctx *secctx)
{
#if defined(COMPAT_HAVE_LSM_CONTEXT) || defined(COMPAT_HAVE_SECCTX_LSMCONTEXT)
	return min(security_secid_to_secctx(secid, secctx), 0); /* the length, if it is one */
#else
	return security_secid_to_secctx(secid, &secctx->context, &secctx->len);
#endif
}

static inline void compat_release_secctx(compat_secctx *secctx)
{
#if defined(COMPAT_HAVE_LSM_CONTEXT) || defined(COMPAT_HAVE_LSMCONTEXT)
	security_release_secctx(secctx);
#else
	security_release_secctx(secctx->context, secctx->len);
#endif
}

typedef unsigned long (*compat_shrinker_fn)(struct shrinker *shrinker,
					    struct shrink_control *control);

#if !defined(COMPAT_HAVE_SHRINKER_ALLOC) && defined(COMPAT_HAVE_SHRINKER_NAME)
#define compat_register_shrinker(shrinker, name) register_shrinker(shrinker, "%s", name)
#else
#define compat_register_shrinker(shrinker, name) register_shrinker(shrinker)
#endif

/* Registers a shrinker. NULL: no memory. */
static inline struct shrinker *compat_shrinker_start(const char *name, compat_shrinker_fn count,
						     compat_shrinker_fn scan)
{
#ifdef COMPAT_HAVE_SHRINKER_ALLOC
	struct shrinker *shrinker = shrinker_alloc(0, "%s", name);
#else
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);
#endif

	if (!shrinker)
		return NULL;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker->seeks = DEFAULT_SEEKS;
#ifdef COMPAT_HAVE_SHRINKER_ALLOC
	shrinker_register(shrinker);
#else
	if (compat_register_shrinker(shrinker, name)) {
		kfree(shrinker);
		return NULL;
	}
#endif
	return shrinker;
}

static inline void compat_shrinker_stop(struct shrinker *shrinker)
{
#ifdef COMPAT_HAVE_SHRINKER_ALLOC
	shrinker_free(shrinker);
#else
	unregister_shrinker(shrinker);
	kfree(shrinker);
#endif
}

#endif
