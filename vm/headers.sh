#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The headers of a kernel of which Debian keeps the image and the source, and no headers package:
# made of the source, with the configuration of the image, in a root directory of its suite.
#
#   vm/headers.sh KERNEL       a kernel that vm/fetch has fetched
#
# Leaves build/vm/KERNEL/headers/build, the directory for `make -C`. Ten minutes on two cores, once.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
vm=$(realpath "$here/../build/vm")
kernel=$vm/$1
tree=$kernel/headers/build
log=$kernel/headers.log
tools="bc, flex, bison, libelf-dev, libssl-dev, libc6-dev, cpio, perl, python3"

die() { echo "vm/headers.sh: $*" >&2; exit 1; }

# make in the root of the suite
make_in_root() {
	if ! "$here/root.sh" "$suite" run nice make --no-print-directory -C "$tree" -j"$(nproc)" \
		CC="$compiler" HOSTCC="$compiler" KERNELRELEASE="$release" "$@" >> "$log" 2>&1; then
		tail -20 "$log" >&2
		die "see $log"
	fi
}

# What struct module and the loading of modules depend on. In the rest upstream lacks only options
# that Debian adds.
settings() {
	grep -E '^CONFIG_(MODULE|MODVERSIONS|DEBUG_INFO_BTF|PREEMPT|SMP|LTO|CFI)' "$1" |
		grep -v MODULE_SIG
}

release=$(cat "$kernel/release")
suite=$(sed 's/-backports$//' "$kernel/suite")
compiler=$(sed -nE 's/^CONFIG_CC_VERSION_TEXT="([^ ]+) .*/\1/p' "$kernel/config")
package=gcc-${compiler##*-}
: > "$log"
# pahole: without it struct module would lack the fields for BTF.
"$here/root.sh" "$suite" create pahole "$package, $tools"
"$here/root.sh" "$suite" create bison "$package, $tools"
rm -rf "$kernel/headers"
mkdir -p "$kernel/headers"
"$here/source.sh" "$1" "$tree" --exclude='*/drivers/[b-z]*.c' --exclude='*/sound/*.c' \
	--exclude='*/drivers/gpu/*.h' --exclude='*/Documentation/*.rst'
cp "$kernel/config" "$tree/.config"
echo "vm/headers.sh: preparing the headers of $release"
make_in_root olddefconfig
diff <(settings "$kernel/config") <(settings "$tree/.config") >&2 ||
	die "the configuration of $release cannot be had in $suite"
make_in_root modules_prepare
# As in Debian's headers: the compiler that modules are built with.
echo "CC = $compiler" > "$tree/.kernelvariables"
python3 "$here/exports.py" "$kernel/vmlinux" > "$tree/Module.symvers"
