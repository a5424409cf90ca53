#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test.sh DIR: checks that the package in DIR installs in a clean Debian 12 with 6.1, and in a clean
# Debian 13 with the newest kernel of its backports, each with only its dependencies and the
# kernel's headers, and that the modules built by DKMS load in that kernel. Needs root and, unless
# the downloads are there already, the network.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(cd "$1" && pwd)
deb=$(ls "$dir"/anybinder-dkms_*_all.deb)
root=$dir/root
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
tap_logs=$dir/logs

inside() { DEBIAN_FRONTEND=noninteractive LC_ALL=C chroot "$root" "$@"; }

leave() {
	mountpoint -q "$root/proc" && umount "$root/proc"
	mountpoint -q "$root/var/cache/apt/archives" && umount "$root/var/cache/apt/archives"
	rm -rf "$root"
}

# Downloaded packages are kept in $dir/archives. $packages is the suite of the kernel's headers.
make_root() {
	leave
	"$top/vm/root.sh" "$suite" base
	cp -a "$top/build/vm/roots/$suite.base" "$root"
	"$top/vm/suite.sh" "$packages" sources > "$root/etc/apt/sources.list"
	mkdir -p "$dir/archives/$suite/partial" "$root/var/cache/apt/archives"
	mount --bind "$dir/archives/$suite" "$root/var/cache/apt/archives"
	mount -t proc proc "$root/proc"
	cp "$deb" "$root/tmp/"
	inside apt-get -qq -o APT::Sandbox::User=root update
}

install_package() {
	inside apt-get -qq -o APT::Sandbox::User=root install -y --no-install-recommends \
		"linux-headers-$release" "/tmp/${deb##*/}" || return
	# The kernel itself is not installed here, and DKMS 3.2 leaves the first run to its package.
	[ -e "$root/lib/modules/$release/modules.dep" ] || inside depmod -a "$release"
}

is_installed() {
	inside dkms status | tee /dev/stderr | grep -q "anybinder.*$release.*: installed"
}

# modprobe resolves the names of the C driver and of the file system to the module.
is_found() {
	local name
	for name in binder_linux fs-binder; do
		inside modprobe -S "$release" --show-depends "$name" | tee /dev/stderr |
			grep -q 'insmod .*/anybinder.ko' || return
	done
	inside modprobe -S "$release" --show-depends anybinder_heap | tee /dev/stderr |
		grep -q 'insmod .*/anybinder_heap.ko'
}

loads() {
	"$top/vm/run" --kernel "$kernel" -- "$top/packaging/dkms/test_guest.sh" "$root"
}

is_gone() {
	inside dpkg --purge anybinder-dkms || return
	[ -z "$(cd "$root" && find lib/modules var/lib/dkms usr/src -name '*anybinder*')" ]
}

# The newest kernel that has been fetched from the suite $1.
kernel_of() {
	local name
	for name in newest 7.2; do
		if [ "$(cat "$top/build/vm/$name/suite")" = "$1" ]; then
			echo "$name"
			return
		fi
	done
	echo "packaging: no kernel of $1 in build/vm: run make vm-fetch" >&2
	return 1
}

# test_in SUITE PACKAGES KERNEL
test_in() {
	suite=$1 packages=$2 kernel=$3
	release=$(cat "$top/build/vm/$kernel/release")
	echo "packaging: $suite with $release"
	make_root
	tap_command "$suite installs" install_package
	tap_command "$suite is_built_by_dkms" is_installed
	tap_command "$suite is_found_by_modprobe" is_found
	tap_command "$suite loads_in_its_kernel" loads
	tap_command "$suite is_removed" is_gone
}

trap leave EXIT
"$top/vm/fetch" 6.1 newest
test_in bookworm bookworm 6.1
newer=$(kernel_of trixie-backports)
test_in trixie trixie-backports "$newer"
tap_end
