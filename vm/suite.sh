#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Read the package index of a Debian suite, whatever this machine runs: nothing is installed here.
#
#   vm/suite.sh SUITE update           fetch the index, unless it is less than a day old
#   vm/suite.sh SUITE get ARGS...      apt-get ARGS (download ...)
#   vm/suite.sh SUITE cache ARGS...    apt-cache ARGS
#   vm/suite.sh SUITE source P=VERSION the upstream sources of a source package, not unpacked
#   vm/suite.sh SUITE root DIR         a minimal Debian in DIR, by debootstrap
#   vm/suite.sh SUITE sources          its lines for sources.list
#   vm/suite.sh SUITE mirror           the address that ends in /debian
#
# SUITE is a code name, CODENAME-backports, or sid; with :ARCH behind it, of another architecture
# than amd64 (update, get and cache only). Packages come from the Debian mirror that apt
# uses on this machine, or from $DEBIAN_MIRROR.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
suite=${1%:*}
arch=amd64
[ "$suite" = "$1" ] || arch=${1#*:}
release=${suite%-backports}
command=$2
shift 2
dir=$(dirname "$here")/build/vm/apt/$suite
[ "$arch" = amd64 ] || dir=$dir-$arch
keys=/usr/share/keyrings/debian-archive-keyring.gpg
max_age_minutes=1440

die() { echo "vm/suite.sh: $*" >&2; exit 1; }

# The address of apt's first source whose path ends in /$1.
configured() {
	apt-get indextargets --format '$(REPO_URI)' | sed -n "s|/$1/\$|/$1|p" | sort | uniq -c |
		sort -rn | awk 'NR == 1 { print $2 }'
}

mirror() {
	local found=${DEBIAN_MIRROR:-$(configured debian)}
	[ -n "$found" ] || die "apt has no Debian source here: set DEBIAN_MIRROR"
	echo "$found"
}

write_sources() {
	local base security name
	base=$(mirror)
	security=$(configured debian-security)
	for name in "$release" "$suite"; do
		echo "deb [signed-by=$keys] $base $name main"
	done | sort -u
	[ "$release" = sid ] ||
		echo "deb [signed-by=$keys] ${security:-$base-security} $release-security main"
}

options=(-o "Dir=$dir" -o "Dir::State::status=$dir/status" -o Dir::Etc::sourcelist=sources.list
	-o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root -o "APT::Architecture=$arch"
	-o "APT::Architectures::=$arch" -o Acquire::Languages=none -o Acquire::Retries=3
	-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
	# Kept, also where the machine's apt keeps none: each command would read the index again.
	-o Dir::Cache::pkgcache=pkgcache.bin -o Dir::Cache::srcpkgcache=)
[ "$suite" = "$release" ] || options+=(-o "APT::Default-Release=$suite")

update() {
	mkdir -p "$dir/etc/apt/apt.conf.d" "$dir/etc/apt/preferences.d" \
		"$dir/var/lib/apt/lists/partial" "$dir/var/cache/apt/archives/partial"
	exec 9>> "$dir/lock"
	flock 9
	[ -z "$(find "$dir/updated" -mmin -$max_age_minutes 2>/dev/null)" ] || return 0
	touch "$dir/status"
	write_sources > "$dir/etc/apt/sources.list"
	apt-get -qq "${options[@]}" update || die "no package index of $suite"
	touch "$dir/updated"
}

# The lists of sources are kept apart: nobody else needs them.
get_source() {
	local lists=$dir/var/lib/apt/lists-source
	mkdir -p "$lists/partial"
	echo "deb-src [signed-by=$keys] $(mirror) $suite main" > "$dir/etc/apt/sources-source.list"
	options+=(-o Dir::Etc::sourcelist=sources-source.list -o "Dir::State::lists=$lists")
	apt-get -qq "${options[@]}" update || die "no index of the sources of $suite"
	apt-get -qq "${options[@]}" source --download-only --tar-only "$1"
}

case $command in
update) update ;;
source) get_source "$1" ;;
sources) write_sources ;;
mirror) mirror ;;
get) apt-get -qq "${options[@]}" "$@" ;;
cache) apt-cache "${options[@]}" "$@" ;;
root)
	# It mounts /proc there: in a namespace of its own, so that nothing stays mounted in build/.
	unshare --mount --propagation private \
		debootstrap --variant=minbase --include=ca-certificates --keyring="$keys" \
		"$release" "$1" "$(mirror)"
	write_sources > "$1/etc/apt/sources.list"
	# What this machine needs to reach the mirror.
	apt-config dump | grep '^Acquire::' > "$1/etc/apt/apt.conf.d/98machine" || true
	;;
*) die "no command $command" ;;
esac
