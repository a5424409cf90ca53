#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test_recipe.sh rpm|arch DIR TARBALL: builds the RPM or Arch packages of a release tarball with
# this machine's rpmbuild or makepkg, without network, installs them into an empty root with rpm or
# pacman, and runs the programs from there. Needs root; takes minutes.
set -uo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
kind=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
root=$dir/root
tarball=$(readlink -f "$3")
version=$(sed -n 's/^Version: *//p' "$top/packaging/rpm/anybinder.spec")
source=anybinder-$version
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
tap_logs=$dir/logs

# The tarball of an untagged commit has another name inside; the recipes want the version alone.
make_source() {
	rm -rf "$dir/unpacked" "$root"
	mkdir -p "$dir/unpacked/$source" "$root"
	tar -x --strip-components=1 -C "$dir/unpacked/$source" -f "$tarball" &&
		tar -c -C "$dir/unpacked" "$source" | xz -0 >"$dir/$source.tar.xz"
	rm -r "$dir/unpacked"
}

# --nodeps: what it needs are packages of Debian here, which rpm does not know. Likewise pacman.
build_rpm() {
	rm -rf "$dir/SOURCES" "$dir/RPMS" "$dir/SRPMS"
	mkdir -p "$dir/SOURCES"
	ln "$dir/$source.tar.xz" "$dir/SOURCES/"
	cp "$top/packaging/rpm/anybinder.spec" "$dir/" &&
		unshare --net rpmbuild --define "_topdir $dir" --nodeps -ba "$dir/anybinder.spec"
}

# Without scripts: the root has no shell. Its programs run with this machine's C library.
install_rpm() {
	rpm --root "$root" --initdb &&
		rpm --root "$root" --nodeps --noscripts --install "$dir"/RPMS/*/*.rpm
}

verify_rpm() { rpm --root "$root" -V --nodeps --nouser --nogroup anybinder anybinder-dkms; }

remove_rpm() { rpm --root "$root" --noscripts --erase anybinder anybinder-dkms; }

# makepkg refuses to run as root.
build_arch() {
	rm -rf "$dir/src" "$dir/pkg" "$dir"/*.pkg.tar.*
	cp -L "$top"/packaging/arch/anybinder/* "$dir/" && cd "$dir" &&
		unshare --net --user --map-user=1000 --map-group=1000 makepkg --nodeps
}

run_pacman() {
	pacman --root "$root" --cachedir "$root/var/cache" --noconfirm "$@"
}

install_arch() {
	mkdir -p "$root/var/lib/pacman" &&
		run_pacman -U --nodeps --nodeps --noscriptlet "$dir"/*.pkg.tar.*
}

verify_arch() { run_pacman -Qkk anybinder anybinder-dkms; }

remove_arch() { run_pacman -R --noscriptlet --nosave anybinder anybinder-dkms; }

has_what_make_install_has() {
	grep -q "^PACKAGE_VERSION=.$version" "$root/usr/src/$source/dkms.conf" &&
		[ "$("$root/usr/bin/anybinder" --version)" = "anybinder $version" ] &&
		grep -q '^ExecStart=/usr/libexec/anybinder/service daemon' \
			"$root/usr/lib/systemd/system/anybinderd.service"
}

serves() {
	local bin=$root/usr/bin/anybinder status=0
	export ANYBINDER_MOUNT=$dir/mount ANYBINDER_STATE_DIR=$dir/state
	"$bin" up && "$bin" list | grep manager || status=1
	"$bin" down
	return $status
}

is_gone() { [ -z "$(find "$root" -path "$root/var" -prune -o -name '*anybinder*' -print)" ]; }

"$top/scripts/setup" build "$kind"
tap_command source make_source
tap_command build "build_$kind"
if [ "$tap_failed" -eq 0 ]; then
	tap_command install "install_$kind"
	tap_command verify "verify_$kind"
	tap_command content has_what_make_install_has
	tap_command serves serves
	tap_command remove "remove_$kind"
	tap_command is-gone is_gone
fi
tap_end
