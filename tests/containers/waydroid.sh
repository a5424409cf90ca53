#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# waydroid.sh: Waydroid, from Debian's newest suite, looks for the daemon's devices and writes its
# configuration of LXC. A container is started from that configuration, unchanged save for paths and
# the network, with a bare Debian in place of Android's image, which is not in Debian.
#
#   --module   on a machine whose kernel has the module loaded and no devices: Waydroid mounts
#              binderfs and makes the devices itself; the container has few programs
#   --fetch    only fetches the package
set -uo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
bin=${ANYBINDER_BIN:-$top/build/bin}
base=$top/build/roots/bookworm
package=$top/build/roots/waydroid
mode=${1-}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"

[ "$(id -u)" -eq 0 ] || tap_skip "needs root"
command -v lxc-execute >/dev/null || tap_skip "lxc is missing"
[ -n "${IN_NAMESPACE:-}" ] ||
	IN_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"

fetch() {
	local new=$package.new
	rm -rf "$new" && mkdir -p "$new" && "$top/vm/suite.sh" sid update >/dev/null &&
		(cd "$new" && "$top/vm/suite.sh" sid get download waydroid >/dev/null 2>&1) &&
		dpkg-deb -x "$new"/waydroid_*.deb "$new" && mv "$new" "$package"
}

[ -d "$package" ] || fetch || tap_skip "the package cannot be fetched"
[ "$mode" != --fetch ] || exit 0
[ "$mode" = --module ] || [ -d "$base" ] ||
	"$top/scripts/debian-root.sh" make bookworm "$base" || exit

dir=$(mktemp -d)
chmod 755 "$dir"
mount=$dir/mnt
[ "$mode" != --module ] || mount=/dev/binderfs
anybinder=("$bin/anybinder" --mount "$mount" --state-dir "$dir/state")
manager=

end() {
	if [ -n "$manager" ]; then
		kill "$manager"
	else
		"${anybinder[@]}" down >/dev/null 2>&1
	fi
	umount -l "$dir/root" 2>/dev/null
	rm -rf "$dir"
}
trap end EXIT

# With the devices where programs look for them.
with_devices() {
	if [ "$mode" = --module ]; then
		"$@"
	else
		"${anybinder[@]}" run -- "$@"
	fi
}

finds_the_devices() {
	with_devices /usr/bin/python3 "$top/tests/containers/waydroid_config.py" \
		"$package" "$dir/out" >"$dir/found" || return
	cat "$dir/found"
	[ "$(cat "$dir/found")" = "binder vndbinder hwbinder" ]
}

binds_single_files() {
	local name entry
	for name in binder vndbinder hwbinder; do
		entry="/dev/$name dev/$name none bind,create=file,optional 0 0"
		grep -qx "lxc.mount.entry = $entry" "$dir/out/waydroid/config_nodes" || return
	done
}

# Paths of this test, no network, and no control groups, which nested containers may not mount.
adapt() {
	sed -e "s|^lxc.rootfs.path = .*|lxc.rootfs.path = dir:$dir/root|" \
		-e "s|/var/lib/waydroid/lxc|$dir/out|" -e '/^lxc\.net\./d' -e 's/cgroup:ro //' \
		-e '/^lxc\.init\.cmd/d' "$dir/out/waydroid/config" >"$dir/config"
	touch "$dir/out/waydroid/config_session"
	echo "lxc.mount.entry = $dir/programs ab none bind,ro,create=dir 0 0" >>"$dir/config"
	mkdir -p "$dir/upper/mnt_extra" "$dir/work" "$dir/root" "$dir/programs"
	cp "$bin/anybinder" "$dir/programs"
	if [ "$mode" = --module ]; then
		small_root "$dir/root" /bin/sh "$bin/anybinder"
	else
		mount -t overlay overlay "$dir/root" -o \
			"lowerdir=$base,upperdir=$dir/upper,workdir=$dir/work"
	fi
}

# A shell and the libraries of programs, all that the container runs.
small_root() { # DIR PROGRAM...
	local root=$1 file
	shift
	mkdir -p "$root"/{bin,dev,proc,sys,tmp,run,var,sbin,usr,mnt_extra,ab}
	cp -L /bin/sh "$root/bin/sh"
	for file in $(ldd "$@" | grep -o '/[^ :]*\.so[^ :]*' | sort -u); do
		mkdir -p "$root$(dirname "$file")" && cp -L "$file" "$root$file"
	done
}

# The devices are opened several times there, by processes one after the other and at once.
container_reaches_the_manager() {
	adapt || return
	with_devices lxc-execute -n waydroid -P "$dir" -f "$dir/config" -- sh -c '
		a="/ab/anybinder --mount /dev"
		$a list && $a ping manager --count 50 || exit
		$a ping manager --count 500 &
		$a ping manager --count 500 && wait $!'
}

# The kernel's devices have no service manager before Waydroid has made them.
start_manager() {
	local tries
	"${anybinder[@]}" servicemanager >"$dir/manager.log" 2>&1 &
	manager=$!
	for tries in $(seq 300); do
		"${anybinder[@]}" list >/dev/null 2>&1 && return
		sleep 0.1
	done
	echo "no manager after $tries tries"
	cat "$dir/manager.log"
	return 1
}

mkdir "$dir/out"
if [ "$mode" = --module ]; then
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	[ ! -e /dev/binder ] || tap_skip "this machine has devices already"
else
	"${anybinder[@]}" up --mode 0666 >/dev/null || exit
fi
tap_command "Waydroid finds the devices" finds_the_devices
[ "$mode" != --module ] || tap_command "its devices have a service manager" start_manager
tap_command "its configuration binds single device files" binds_single_files
tap_command "a container of that configuration reaches the service manager" \
	container_reaches_the_manager
tap_end
