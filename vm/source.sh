#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Unpack Debian's source of a kernel that vm/fetch has fetched.
#
#   vm/source.sh KERNEL DIR [ARGUMENT]...
#
# KERNEL is a name in vm/kernels.tsv. DIR must not exist. The arguments are tar's: patterns of files
# to unpack, --exclude. None of the kernel's code is in this tree.
#
# The source is that of the package linux-source-VERSION. Where that has gone, Debian still has the
# upstream sources of the package that the image was built from, without Debian's changes.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
kernel=$(dirname "$here")/build/vm/$1
dir=$2
shift 2

release=$(cat "$kernel/release")
suite=$(cat "$kernel/suite")
suite=${suite%:*}
package=$dir.package
# 7.3.4+deb13-amd64: linux-source-7.3
binary=linux-source-$(sed -E 's/^([0-9]+\.[0-9]+).*/\1/' <<< "$release")

take() { tar -x -C "$dir" --strip-components=1 --wildcards "$@"; }

take_from_binary() {
	echo "vm/source.sh: unpacking $binary"
	(cd "$package" && "$here/suite.sh" "$suite" get download "$binary")
	dpkg-deb --fsys-tarfile "$package"/*.deb | tar -xO "./usr/src/$binary.tar.xz" |
		nice xz -dc | take "$@"
}

take_from_source() {
	local version
	version=$("$here/suite.sh" "$suite" cache show "linux-image-$release" |
		awk '$1 == "Version:" && !seen++ { print $2 }')
	echo "vm/source.sh: unpacking the upstream sources of linux $version"
	(cd "$package" && "$here/suite.sh" "$suite" source "linux=$version")
	nice xz -dc "$package"/linux_*.orig.tar.xz | take "$@"
}

mkdir "$dir" "$package"
trap 'rm -rf "$package"' EXIT
"$here/suite.sh" "$suite" update
if "$here/suite.sh" "$suite" cache pkgnames "$binary" | grep -x "$binary" > /dev/null; then
	take_from_binary "$@"
else
	take_from_source "$@"
fi
