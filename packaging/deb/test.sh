#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test.sh DIR [SUITE]...: checks the package anybinder in DIR by lintian, and in clean Debian roots
# (default: bookworm trixie) with their own systemd: installed, used, upgraded under load, as an
# ordinary user's service, removed and purged; then its tests by autopkgtest; and a program that is
# compiled with the packages of the C API. Needs root and the network.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
root_tool=$top/scripts/debian-root.sh
dir=$(cd "$1" && pwd)
shift
deb=$(ls "$dir"/anybinder_*_*.deb | head -1)
ndk=$(ls "$dir"/libbinder-ndk{1,-dev}_*.deb)
# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"
tap_logs=$dir/logs
root='' booted=''

inside() { timeout "${limit_s-180}" "$root_tool" in "$root" "$@"; }
# service TEST: of the package's own tests.
service() { inside /opt/tree/debian/tests/installed-package "$1"; }
# shell TEXT: in the root, ended at the first error. There `soon CMD...` tries for a minute.
soon='soon() {
	local n=0
	until "$@"; do n=$((n + 1)); [ $n -lt 120 ] || return 1; sleep 0.5; done
}'
shell() { inside sh -euxc "$soon
$1"; }
apt() { shell "DEBIAN_FRONTEND=noninteractive apt-get -y -q --no-install-recommends $*"; }

leave() {
	# unshare ignores SIGTERM; its child dies with it.
	[ -z "$booted" ] || { kill -KILL "$booted" && wait "$booted"; } 2>/dev/null
	booted=
	[ -z "$root" ] || "$root_tool" remove "$root"
	root=
}

# The same package with a later version, whose programs are other files.
make_later() {
	rm -rf "$dir/later"
	dpkg-deb -R "$deb" "$dir/later" &&
		sed -i 's/^Version: .*/&+later/' "$dir/later/DEBIAN/control" &&
		dpkg-deb --root-owner-group -b "$dir/later" "$root/opt/later.deb" >/dev/null
	rm -rf "$dir/later"
}

prepare() { # SUITE
	root=$(mktemp -d "/var/tmp/anybinder-$1-XXXXXX")
	chmod 755 "$root"
	"$root_tool" make "$1" "$root" || return
	"$root_tool" enter "$root" sh -c 'apt-get -qq update &&
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
			--no-install-recommends systemd systemd-sysv dbus dbus-user-session \
			libpam-systemd procps >/dev/null && useradd -m tester' || return
	mkdir "$root/opt/tree" && cp -r "$top/debian" "$root/opt/tree/" &&
		cp "$deb" "$root/opt/first.deb" && cp $ndk "$root/opt/" || return
	make_later
}

boot() {
	"$root_tool" boot "$root" >"$dir/boot.log" 2>&1 </dev/null &
	booted=$!
	local tries
	for tries in $(seq 180); do
		# Degraded: the modules of this kernel are not in the root.
		case $(inside systemctl is-system-running 2>/dev/null) in
		running | degraded) return 0 ;;
		esac
		sleep 1
	done
	echo "not up after $tries s"
	inside systemctl list-jobs --no-pager
	tail "$dir/boot.log"
	return 1
}

# What is made or removed in the root's /dev is not in this machine's.
has_own_dev() {
	inside touch /dev/of-the-root || return
	[ ! -e /dev/of-the-root ] || { rm /dev/of-the-root; return 1; }
}

both_active='systemctl is-active anybinderd anybinder-servicemanager'
both_serve="up() { $both_active && anybinder list | grep -q manager; }; soon up"

# A client that calls until it is stopped; an error ends it with another status.
start_load() {
	shell "systemd-run --quiet --unit load -p KillSignal=SIGINT -p RemainAfterExit=yes \
		-p SuccessExitStatus='SIGINT 130' anybinder ping manager --count 1000000000 --quiet
	soon sh -c 'systemctl status load | grep \"ping manager\"'
	systemctl is-active load"
}

# Upgraded, then downgraded: each time another process serves, and the client saw no error.
replaced() { # PACKAGE
	shell "old=\$(anybinder --json status | grep -o '\"server\": *[0-9]*')
		main=\$(systemctl show -P MainPID anybinderd)
		manager=\$(systemctl show -P MainPID anybinder-servicemanager)
		DEBIAN_FRONTEND=noninteractive apt-get -y -q --allow-downgrades install $1
		[ \"\$old\" != \"\$(anybinder --json status | grep -o '\"server\": *[0-9]*')\" ]
		[ \"\$main\" = \"\$(systemctl show -P MainPID anybinderd)\" ]
		[ \"\$manager\" = \"\$(systemctl show -P MainPID anybinder-servicemanager)\" ]
		systemctl show -P SubState load | grep -x running || {
			systemctl status --no-pager load; exit 1; }"
}

load_went_on() {
	shell 'systemctl show -P SubState load | grep -x running || {
			systemctl status --no-pager load; exit 1; }
		systemctl stop load; timeout 20 anybinder ping manager --count 1000 | tail -1'
}

is_gone() {
	shell '! mountpoint -q /dev/binderfs; [ ! -L /dev/binder ]
		! pgrep "anybinderd|servicemanager"
		[ -f /etc/default/anybinder ]; ! command -v anybinder'
}

is_purged() {
	shell 'left=$(find / -xdev -path /opt -prune -o -path /var/lib/apt -prune -o \
			-path /var/log -prune -o -path /var/lib/systemd -prune -o \
			-name "*anybinder*" -print)
		[ -z "$left" ] || { echo "left: $left"; exit 1; }'
}

# The root is the testbed. Its kernel is this machine's, and the package stays installed.
run_autopkgtest() {
	apt install autopkgtest && shell 'cd /opt/tree
		autopkgtest --ignore-restrictions=isolation-machine,breaks-testbed \
			--no-built-binaries /opt/first.deb . -- null'
}

# A client of the service manager that runs.
compile_ndk() {
	apt install gcc libc6-dev pkgconf /opt/libbinder-ndk*.deb && shell 'cd /opt
		printf "%s\n" "#include <android/binder_manager.h>" \
			"int main(void) { return !AServiceManager_checkService(\"manager\"); }" \
			>found.c
		gcc found.c -o found $(pkg-config --cflags --libs binder_ndk)
		./found'
}

test_suite() { # SUITE
	local name
	tap_command "$1-root" prepare "$1"
	tap_command "$1-boot" boot
	[ "$tap_failed" -eq 0 ] || return
	tap_command "$1-own-dev" has_own_dev
	tap_command "$1-install" apt install /opt/first.deb
	for name in starts devices one-version user-is-denied settings crash; do
		tap_command "$1-$name" service "$name"
	done
	tap_command "$1-load" start_load
	tap_command "$1-upgrade" replaced /opt/later.deb
	tap_command "$1-downgrade" replaced /opt/first.deb
	tap_command "$1-upgrade-keeps-settings" shell "$both_serve
		grep MODE=0666 /etc/default/anybinder; anybinder list"
	tap_command "$1-load-went-on" load_went_on
	tap_command "$1-user-service" service user-service
	tap_command "$1-ndk" compile_ndk
	tap_command "$1-remove" apt remove anybinder
	tap_command "$1-is-removed" is_gone
	tap_command "$1-purge" apt purge anybinder
	tap_command "$1-is-purged" is_purged
	limit_s=1200 tap_command "$1-autopkgtest" run_autopkgtest
	leave
}

trap leave EXIT
"$top/scripts/setup" package-test
tap_command lintian lintian --fail-on error,warning "$deb" $ndk
[ $# -gt 0 ] || set -- bookworm trixie
for suite; do
	test_suite "$suite"
done
tap_end
