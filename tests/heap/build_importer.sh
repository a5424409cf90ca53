#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# build_importer.sh KERNEL: leaves build/module/importer-KERNEL/heap_importer.ko.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
dir=$top/build/module/importer-$1
if [ "$(readlink "$dir/Kbuild")" != "$top/tests/heap/importer/Kbuild" ]; then
	rm -rf "$dir" # came along with a copy of the tree, or is not there yet
fi
mkdir -p "$dir"
ln -sfn "$top/tests/heap/importer/Kbuild" "$dir/Kbuild"
ln -sfn "$top/tests/heap/importer/importer.c" "$dir/importer.c"
ln -sfn "$top/tests/heap/importer/importer_abi.h" "$dir/importer_abi.h"
ln -sfn "$top/host/linux" "$dir/linux"
flock "$dir" "$top/vm/kbuild.sh" "$1" "$dir" -s W=1
