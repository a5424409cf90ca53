#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test_build.sh DIR TARBALL [SUITE]: makes the Debian source package of a release tarball, and
# builds it in a clean root of SUITE (default: trixie) as an ordinary user without network: twice,
# in two folders, with other times, languages, time zones and numbers of jobs. Both must give the
# same bytes, and lintian has nothing to say. The packages are left in DIR/SUITE. Needs root, and
# the network for the root itself, and takes half an hour.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
root_tool=$top/scripts/debian-root.sh
mkdir -p "$1"
dir=$(cd "$1" && pwd)
tarball=$2
suite=${3:-trixie}
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
tap_logs=$dir/logs
root=$(mktemp -d "/var/tmp/anybinder-build-XXXXXX")
trap '"$root_tool" remove "$root"' EXIT
chmod 755 "$root"

inside() { "$root_tool" enter "$root" sh -euxc "$1"; }

prepare() {
	"$root_tool" make "$suite" "$root" &&
		mkdir "$root/source" &&
		cp "$dir"/source/anybinder_* "$root/source/" || return
	inside 'export DEBIAN_FRONTEND=noninteractive
		apt-get -qq update
		apt-get -y -qq --no-install-recommends install build-essential lintian >/dev/null
		apt-get -y -qq --no-install-recommends build-dep /source/*.dsc >/dev/null
		useradd -m builder'
}

# build FOLDER ENVIRONMENT
build() {
	inside "mkdir -p $1; cd $1
		dpkg-source -x /source/*.dsc tree
		chown -R builder $1
		unshare --net runuser -u builder -- env $2 sh -c 'umask $3; cd tree
			! grep -qv Iface /proc/net/route || exit
			exec dpkg-buildpackage -us -uc'"
}

is_same() {
	(cd "$root/first" && sha256sum -- *.deb) >"$root/sums" && cat "$root/sums" &&
		(cd "$root/srv/another/folder" && sha256sum -c "$root/sums")
}

check_changes() {
	inside 'runuser -u builder -- lintian --fail-on error,warning /first/*.changes'
}

keep() {
	rm -rf "${dir:?}/$suite"
	mkdir "$dir/$suite"
	cp "$root"/first/*.deb "$root"/first/*.buildinfo "$dir/$suite/"
}

"$top/scripts/setup" package package-test
tap_command source "$top/packaging/deb/source" "$dir/source" "$tarball"
tap_command root prepare
[ "$tap_failed" -gt 0 ] ||
	tap_command build build /first "LANG=C.UTF-8 DEB_BUILD_OPTIONS=parallel=2" 022
if [ "$tap_failed" -eq 0 ]; then
	keep
	tap_command lintian check_changes
	tap_command build-again build /srv/another/folder \
		"LANG=C TZ=Pacific/Auckland DEB_BUILD_OPTIONS=parallel=3" 027
	tap_command same-bytes is_same
fi
tap_end
