#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# probe SRCTREE: prints -D options for what the headers of a kernel offer.
set -eu

# have NAME HEADER PATTERN
have() {
	if grep -qsE "$3" "$include/$2"; then
		printf ' -DCOMPAT_HAVE_%s' "$1"
	fi
}

include=$1/include/linux
have LINUX_STDARG stdarg.h '\bva_list\b'
have VM_FLAGS_MOD mm.h '\bvm_flags_mod\('
have MNT_IDMAP fs.h 'int \(\*rename\) \(struct mnt_idmap'
have MNT_USERNS fs.h 'int \(\*rename\) \(struct user_namespace'
have INODE_INIT_TS fs.h '\bsimple_inode_init_ts\('
have LOOKUP_NOPERM namei.h '\blookup_noperm\('
have START_CREATING fs.h '\bsimple_start_creating\('
have DONE_CREATING fs.h '\bsimple_done_creating\('
have MAKE_PERSISTENT dcache.h '\bd_make_persistent\('
have LSM_CONTEXT security.h 'security_release_secctx\(struct lsm_context'
have LSMCONTEXT security.h 'security_release_secctx\(struct lsmcontext'
have SECCTX_LSMCONTEXT security.h 'security_secid_to_secctx\(u32 secid, struct lsmcontext'
have VMA_LOOKUP mm.h '\bvma_lookup\('
have KMAP_LOCAL highmem-internal.h '\bkmap_local_page\('
have MEMZERO_PAGE highmem.h '\bmemzero_page\('
have SHRINKER_NAME shrinker.h '__printf\(2, 3\) register_shrinker\('
have SHRINKER_ALLOC shrinker.h '\bshrinker_alloc\('
have CLASS_CONST_DEVICE device/class.h 'devnode\)\(const struct device'
have IMPORT_NS_STRING module.h 'MODULE_INFO\(import_ns, ns\)'
have DMA_BUF_VMAP_UNLOCKED dma-buf.h '\bdma_buf_vmap_unlocked\('
