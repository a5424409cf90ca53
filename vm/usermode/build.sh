#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the kernel of a Debian source package as a user-mode Linux, with the C driver and
# binderfs in it: a program of this machine, in which scripts run several times as fast as in QEMU
# without KVM.
#
#   vm/usermode/build.sh [KERNEL]        (a name in vm/kernels.tsv, default 6.12; on x86-64 only)
#
# Leaves build/vm/usermode/init, build/vm/usermode/KERNEL/linux and, for vm/kbuild.sh, what modules
# are built with in KERNEL/headers; a later call does nothing unless the kernel was upgraded, or its
# configuration or this script has changed. As with vm/reference-driver.sh, none of the kernel's
# code is in this tree.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
vm=$(cd "$here/../.." && pwd)/build/vm
name=${1:-6.12}
dir=$vm/usermode/$name
src=$dir/headers/build

die() { echo "vm/usermode/build.sh: $*" >&2; exit 1; }

[ "$(uname -m)" = x86_64 ] || die "a user-mode Linux is built on x86-64 only"
for tool in flex bison bc; do
	command -v $tool > /dev/null || die "$tool is not installed"
done
"$here/../fetch" "$name"
release=$(cat "$vm/$name/release")
built="$release $(cat "$here/config" "$here/build.sh" | cksum)"
mkdir -p "$vm/usermode"
if [ ! "$vm/usermode/init" -nt "$here/init.c" ]; then
	gcc -std=gnu11 -Wall -Wextra -Werror -O2 -static -o "$vm/usermode/init" "$here/init.c"
fi
if [ -e "$dir/built" ] && [ "$(cat "$dir/built")" = "$built" ]; then
	exit 0
fi
echo "vm/usermode/build.sh: building $release"

rm -rf "$dir"
mkdir -p "$dir/headers"
"$here/../source.sh" "$name" "$src"

# 6.12 has room for the registers of AVX-512, and fails where the processor has more (AMX). Without
# this it saves none beyond those of SSE, so programs must not use them (init.c).
sed -i 's/have_xstate_support = 1;/have_xstate_support = 0;/' \
	"$src"/arch/x86/um/os-Linux/registers.c
if ! (cd "$src" && make ARCH=um KCONFIG_ALLCONFIG="$here/config" allnoconfig &&
	nice make ARCH=um -j"$(nproc)" linux modules) > "$dir/build.log" 2>&1; then
	tail -20 "$dir/build.log" >&2
	exit 1
fi
cp "$src/linux" "$dir/linux"
# Of the source, what modules are built with.
find "$src" -mindepth 1 -maxdepth 1 ! -name include ! -name scripts ! -name arch ! -name Makefile \
	! -name .config ! -name Module.symvers -exec rm -rf {} +
find "$src/arch" -mindepth 1 -maxdepth 1 ! -name um ! -name x86 -exec rm -rf {} +
find "$src" -name '*.o' ! -path '*/scripts/*' -delete
echo "$built" > "$dir/built"
