#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Unpack Debian's source of a kernel that vm/fetch has fetched.
#
#   vm/source.sh KERNEL DIR [ARGUMENT]...
#
# KERNEL is a name in vm/kernels.tsv. DIR must not exist. The arguments are tar's: patterns of files
# to unpack, --exclude. None of the kernel's code is in this tree.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
kernel=$(dirname "$here")/build/vm/$1
dir=$2
shift 2

suite=$(cat "$kernel/suite")
suite=${suite%:*}
# 7.3.4+deb13-amd64: linux-source-7.3
package=linux-source-$(sed -E 's/^([0-9]+\.[0-9]+).*/\1/' "$kernel/release")
echo "vm/source.sh: unpacking $package"
mkdir "$dir" "$dir.package"
trap 'rm -rf "$dir.package"' EXIT
"$here/suite.sh" "$suite" update
(cd "$dir.package" && "$here/suite.sh" "$suite" get download "$package")
dpkg-deb --fsys-tarfile "$dir.package"/*.deb | tar -xO "./usr/src/$package.tar.xz" | nice xz -dc |
	tar -x -C "$dir" --strip-components=1 --wildcards "$@"
