#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# newer KDIR DIR: checks that host/linux compiles for kernels between that of KDIR (6.12) and the
# newest, of which no packages are built here. Builds it in DIR against the headers of KDIR, some of
# them changed as mainline or a distribution changed them; undefined symbols are ignored. Only finds
# changes that are listed here.
set -eu

kdir=$1
dir=$2
here=$(cd "$(dirname "$0")" && pwd)
number=0 failed=0

# The common part of Debian's headers, or KDIR itself.
srctree=$(dirname "$(sed -n 's/^include \(.*\)\/Makefile$/\1\/Makefile/p' "$kdir/Makefile")")
[ -d "$srctree/include/linux" ] || srctree=$kdir

# change HEADER SED-PROGRAM: fails if the program changes nothing.
change() {
	local header=$headers/include/$1
	cp --remove-destination "$(realpath "$header")" "$header.old"
	sed "$2" "$header.old" > "$header.new"
	if cmp -s "$header.new" "$header.old"; then
		echo "newer: $1 is not as expected: adapt host/linux/compat/newer.sh" >&2
		exit 1
	fi
	rm "$header" "$header.old"
	mv "$header.new" "$header"
}

# A header of the network uses the functions for security contexts: without them.
without_secctx_in_scm() {
	change net/scm.h '
		/err = security_secid_to_secctx/d
		/^\tint err;/s/;/ = -EOPNOTSUPP;/
		/^\tchar \*secdata;/s/;/ = NULL;/
		/^\tu32 seclen;/s/;/ = 0;/
		/security_release_secctx(secdata, seclen);/d'
}

# Security modules stacked by patches of a distribution (6.8, 6.11): a structure of their own.
lsmcontext='/^struct lsm_ctx;/i\
struct lsmcontext { char *context; u32 len; int id; };
	s/security_release_secctx(char \*secdata, u32 seclen)/\
security_release_secctx(struct lsmcontext *cp)/'

changes_lsmcontext() {
	without_secctx_in_scm
	change linux/security.h "$lsmcontext"'
		s/security_secid_to_secctx(u32 secid, char \*\*secdata, u32 \*seclen)/\
security_secid_to_secctx(u32 secid, struct lsmcontext *cp)/'
}

# The same patches, of which only the first are applied.
changes_lsmcontext_release() {
	without_secctx_in_scm
	change linux/security.h "$lsmcontext"
}

# 6.14: the text of a security context is a structure.
with_lsm_context() {
	without_secctx_in_scm
	change linux/security.h '
		/^struct lsm_ctx;/i\
struct lsm_context { char *context; u32 len; int id; };
		s/security_secid_to_secctx(u32 secid, char \*\*secdata, u32 \*seclen)/\
security_secid_to_secctx(u32 secid, struct lsm_context *cp)/
		s/security_release_secctx(char \*secdata, u32 seclen)/\
security_release_secctx(struct lsm_context *cp)/'
}

# 6.16: lookup_one_len() became lookup_noperm(); a common header has a macro ACQUIRE().
changes_6_16() {
	with_lsm_context
	change linux/namei.h '
		s/\*lookup_one_len(const char \*, struct dentry \*, int)/\
*lookup_noperm(struct qstr *, struct dentry *)/'
	change linux/cleanup.h '/^#define CLASS(/i\
#define ACQUIRE(_name, _var) CLASS(_name, _var)'
}

for changes in $(declare -F | awk '$3 ~ /^changes_/ { print $3 }'); do
	headers=$dir/$changes
	rm -rf "$headers"
	mkdir -p "$headers/include"
	cp -as "$srctree/include/linux" "$srctree/include/net" "$headers/include"
	$changes
	"$here/../link-sources.sh" "$headers/build"
	rm "$headers/build/Kbuild"
	sed "s/^obj-m := .*/obj-m := anybinder.o/; s/ engine.o / /" "$here/../Kbuild" \
		> "$headers/build/Kbuild"
	if make -s -j2 -C "$kdir" M="$headers/build" W=1 CONFIG_DEBUG_INFO= \
		CONFIG_DEBUG_INFO_BTF_MODULES= KBUILD_MODPOST_WARN=1 COMPAT_SRCTREE="$headers" \
		NOSTDINC_FLAGS="-nostdinc -I$headers/include" modules > "$headers/log" 2>&1 &&
		! grep -E 'warning:|error:' "$headers/log"; then
		echo "ok $((++number)) - $changes"
	else
		failed=1
		cat "$headers/log"
		echo "not ok $((++number)) - $changes"
	fi
done
echo "1..$number"
exit $failed
