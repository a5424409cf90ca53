#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the reference driver: the in-tree driver of a Debian kernel's source package, with binderfs
# (which Debian's build disables), out of tree against the headers of that kernel.
#
#   vm/reference-driver.sh [KERNEL]        (default 6.12)
#
# Leaves build/vm/ref/KERNEL/binder_linux.ko, and in src/ the sources of the driver and of the
# binderfs self-test. The reference is only run and compared with; none of its code is in this tree.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
vm=$(dirname "$here")/build/vm
name=${1:-6.12}
dir=$vm/ref/$name

release=$(cat "$vm/$name/release") || exit 1
if [ -e "$dir/release" ] && [ "$(cat "$dir/release")" = "$release" ]; then
	exit 0
fi
echo "vm/reference-driver.sh: building the reference driver for $release"

rm -rf "$dir"
mkdir -p "$dir"
"$here/source.sh" "$name" "$dir/src" '*/drivers/android/*.[ch]' \
	'*/tools/testing/selftests/filesystems/binderfs/*' '*/tools/testing/selftests/kselftest*.h'

# Failure notices over netlink came with 6.18.
driver=$dir/src/drivers/android
if [ ! -e "$driver/binder.c" ]; then
	echo "vm/reference-driver.sh: $release has no driver in C, 7.3 was the last that had:" \
		"say 7.3 in the row $name of vm/kernels.tsv, and give $release a row of its own" >&2
	exit 1
fi
netlink=
[ ! -e "$driver/binder_netlink.c" ] || netlink=binder_netlink.o
cat > "$driver/Makefile" <<END
obj-m := binder_linux.o
binder_linux-y := binder.o binder_alloc.o binderfs.o $netlink
ccflags-y := -I\$(src) -DCONFIG_ANDROID_BINDERFS=1
END
if ! nice "$here/kbuild.sh" "$name" "$driver" > "$dir/build.log" 2>&1; then
	tail -20 "$dir/build.log" >&2
	exit 1
fi
cp "$driver/binder_linux.ko" "$dir/"
echo "$release" > "$dir/release"
