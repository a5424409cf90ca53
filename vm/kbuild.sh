#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build modules for a kernel of vm/kernels.tsv with its headers, and the compiler that they need.
#
#   vm/kbuild.sh KERNEL DIR [ARGS]        make ARGS modules, of the module sources in DIR
#
# KERNEL usermode/NAME is a user-mode Linux of vm/usermode/build.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
kernel=$1
dir=$2
shift 2
vm=$(dirname "$here")/build/vm
headers=$vm/$kernel/headers/build
where=$(awk -v name="$kernel" '$1 == name { print $5 }' "$here/kernels.tsv")

# BTF would need pahole, W=1 checks comments with scripts that Debian's headers lack, and what is
# for a debugger takes a sixth of the time; none is used here.
command=(make --no-print-directory -j"$(nproc)" -C "$headers" M="$dir"
	CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_BTF_MODULES= cmd_checkdoc= "$@" modules)
if [[ $(cat "$vm/$kernel/suite" 2>/dev/null) = *:arm64 ]]; then
	command+=(CROSS_COMPILE=aarch64-linux-gnu-)
fi
if [[ $kernel = usermode/* ]]; then
	command+=(ARCH=um)
fi
if [ "$where" = source ]; then
	command+=(CC="$(sed -n 's/^CC = //p' "$headers/.kernelvariables")")
elif [ "$where" != suite ]; then
	exec "${command[@]}"
fi
suite=$(sed 's/-backports$//' "$vm/$kernel/suite")
compiler=$(sed -nE 's/^CC = .*(gcc-[0-9]+)$/\1/p' "$headers/.kernelvariables")
"$here/root.sh" "$suite" create "$compiler"
exec "$here/root.sh" "$suite" run "${command[@]}"
