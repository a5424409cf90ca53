#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The root directory of a guest of another architecture: Debian packages with what they depend on,
# unpacked and not configured, since their programs do not run here.
#
#   vm/foreign.sh ARCH     build/vm/roots/bookworm-ARCH
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
vm=$(realpath "$(dirname "$here")/build/vm")
arch=$1
suite=bookworm
root=$vm/roots/$suite-$arch

# What the tests run in a guest.
packages="bash binutils coreutils dash diffutils fuse3 findutils grep iproute2 kmod libc-bin mawk
	mount procps python3 sed stress-ng util-linux"

# The lists of users and groups, and links that packages make when they are configured.
configure() { # ROOT
	cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd"
	cp "$1/usr/share/base-passwd/group.master" "$1/etc/group"
	ln -sf mawk "$1/usr/bin/awk"
	echo 'hosts: files' > "$1/etc/nsswitch.conf"
	chmod 755 "$1/root" # other users reach a tree in it, as far as it lets them
	mkdir -p "$1/tmp" "$1/run" "$1/dev" "$1/proc" "$1/sys" "$1/mnt" "$1/root"
}

create() {
	local new=$root.new dir deb
	echo "vm/foreign.sh: unpacking a root for $arch in build/vm/roots"
	rm -rf "$new"
	mkdir -p "$new"/{debs/partial,usr/bin,usr/sbin,usr/lib}
	for dir in bin sbin lib; do
		ln -s "usr/$dir" "$new/$dir"
	done
	: > "$new/debs/status" # nothing is installed: all dependencies are fetched
	"$here/suite.sh" "$suite:$arch" update
	# shellcheck disable=SC2086 # several names
	"$here/suite.sh" "$suite:$arch" get -o "Dir::State::status=$new/debs/status" \
		-o "Dir::Cache::archives=$new/debs" install --download-only --yes \
		--no-install-recommends base-passwd $packages
	for deb in "$new"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$new"
	done
	configure "$new"
	rm -rf "$new/debs" "$new/usr/share/doc" "$new/usr/share/man" "$new/usr/share/locale"
	mv "$new" "$root"
}

mkdir -p "$vm/roots"
exec 9>> "$root.lock"
flock 9
[ -d "$root" ] || create
