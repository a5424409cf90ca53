#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A root directory of another Debian suite, with a compiler for its kernels' headers.
#
#   vm/root.sh SUITE base               build/vm/roots/SUITE.base, a minimal one
#   vm/root.sh SUITE create PROGRAM [PACKAGES]
#                                    build/vm/roots/SUITE, that with a compiler or another program,
#                                    and with packages that it needs
#   vm/root.sh SUITE run COMMAND...     run a command there, as root, with this tree at its own path
#
# The mounts belong to a mount namespace of the command and end with it.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
vm=$(realpath "$top/build/vm")
suite=$1
command=$2
shift 2
root=$vm/roots/$suite

make_base() {
	local log=$vm/roots/$suite.log
	echo "vm/root.sh: creating a minimal $suite in build/vm/roots"
	rm -rf "$root.base.new"
	if ! "$here/suite.sh" "$suite" root "$root.base.new" > "$log" 2>&1; then
		tail -20 "$log" >&2
		exit 1
	fi
	mv "$root.base.new" "$root.base"
}

# install DEPENDENCIES: as in the field of a package
install() {
	local log=$vm/roots/$suite.log
	if ! chroot "$root.new" sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get -qq update &&
		apt-get -qq -o APT::Sandbox::User=root satisfy -y --no-install-recommends "$1" &&
		apt-get clean' sh "$1" > "$log" 2>&1; then
		tail -20 "$log" >&2
		exit 1
	fi
}

create() {
	local program=$1 packages=${2:+, $2}
	[ -d "$root.base" ] || make_base
	echo "vm/root.sh: build/vm/roots/$suite with $program"
	if [ -d "$root" ]; then # with another program
		mv "$root" "$root.new"
	else
		rm -rf "$root.new"
		cp -a "$root.base" "$root.new"
	fi
	install "make, kmod, libelf1, libssl4 | libssl3 | libssl1.1, $program$packages"
	mv "$root.new" "$root"
}

# Runs in the namespace.
bind_and_run() {
	local dir
	for dir in /dev /proc "$top" "$vm"; do
		mkdir -p "$root$dir"
		mount --rbind "$dir" "$root$dir"
	done
	exec chroot "$root" sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
}

# One process creates a root; the others wait.
lock() {
	mkdir -p "$vm/roots"
	exec 9>> "$vm/roots/$suite.lock"
	flock 9
}

case $command in
base)
	lock
	[ -d "$root.base" ] || make_base
	;;
create)
	lock
	[ -x "$root/usr/bin/$1" ] || create "$@"
	;;
run) exec unshare --mount --propagation private "$0" "$suite" bind_and_run "$@" ;;
bind_and_run) bind_and_run "$@" ;;
*)
	echo "vm/root.sh: no command $command" >&2
	exit 2
	;;
esac
