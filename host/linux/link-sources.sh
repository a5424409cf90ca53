#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# link-sources.sh DIR [MORE]: fills the build directory DIR of the modules with links to their
# sources and those in the directory MORE, whose Kbuild is then the one of the build, at the paths
# of the tree. The kernel's build puts an object beside its source; this keeps objects out of the
# tree.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
dir=$1
kbuild=${2:-host/linux}/Kbuild
# A build directory copied along with its tree has links to the original tree.
if [ -L "$dir/Kbuild" ] && [ "$(readlink "$dir/Kbuild")" != "$top/$kbuild" ]; then
	rm -rf "$dir"
fi
mkdir -p "$dir"
find "$dir" -xtype l -delete # links to removed sources

link() { # from to
	[ -L "$dir/$2" ] && return
	mkdir -p "$dir/$(dirname "$2")"
	ln -s "$top/$1" "$dir/$2"
}

cd "$top"
for file in host/*.h \
	$(find core host/linux heap ${2:-} -path heap/test -prune -o \
		-name '*.[ch]' ! -name '*_test.c' -print) \
	host/linux/compat/probe.sh host/linux/Kbuild; do
	link "$file" "$file"
done
link "$kbuild" Kbuild
