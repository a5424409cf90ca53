#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# beside.sh MODULE FILE DRIVER HAS-FAMILY: in a virtual machine, the module and a driver of the
# kernel, each loaded first. FILE is the other driver; DRIVER is `stock` (the kernel's package,
# without binderfs), `ref` (the same with binderfs) or `rust`. Prints TAP.
#
# Other drivers cannot be unloaded, so the module comes first there.
# (rust_binder can, but leaves its file system type registered, which the kernel then trips over.)
set -u

top=$(cd "$(dirname "$0")/../../.." && pwd)
# Calls, files, deaths and handles, none of which depends on a kernel's version.
filters=(txn_fields_arrive fd_arrives object_handle_is_passed_on object_returns_to_its_owner
	txn_oneway_hides_the_pid manager_is_one_per_device death_is_notified)
rust_filters=(txn_oneway_hides_the_pid txn_reply_fields_arrive fd_in_reply
	manager_is_one_per_device death_is_notified)
own_names="filesystem=anybinder family=anybinder debugfs=anybinder"
devices=binder,hwbinder,vndbinder
own_dir=/dev/anybinderfs
parameters=/sys/module/anybinder/parameters
kind='' stock_dir=''

# shellcheck source=tests/lib/tap.sh
. "$top/tests/lib/tap.sh"

conformance() { # DIRECTORY OPTION...
	local directory=$1 wanted=("${filters[@]}")
	shift
	# Receivers in the other tests do not enter the loop, which the Rust driver wants.
	[ "$kind $directory" != "rust $stock_dir" ] || wanted=("${rust_filters[@]}")
	"$top/build/bin/anybinder-conformance" --device-dir "$directory" \
		"${wanted[@]/#/--filter=}" "$@"
}

# Runs the suite on both drivers at the same time.
use_both() { # NAME
	local other status=0
	conformance "$stock_dir" > /tmp/stock.log 2>&1 &
	other=$!
	conformance "$own_dir" > /tmp/own.log 2>&1 || status=1
	wait $other || status=1
	[ $status -eq 0 ] || cat /tmp/stock.log /tmp/own.log | tap_comment
	tap_case $status "$1" "ours: $(tail -1 /tmp/own.log); other: $(tail -1 /tmp/stock.log)"
}

stock_works() { # NAME
	conformance "$stock_dir" > /tmp/stock.log 2>&1
	tap_case $? "$1" "$(tail -1 /tmp/stock.log)"
}

load_stock() {
	local name=devices
	[ "$kind" != rust ] || name=rust_devices
	insmod "$stock" $name=$devices || return
	[ "$kind" = stock ] || mount -t binder binder "$stock_dir"
}

load_own() { # PARAMETER...
	dmesg -C
	insmod "$module" "$@" && mount -t anybinder -o stats=global anybinder "$own_dir" &&
		dmesg > /tmp/dmesg
}

unload_own() {
	umount "$own_dir" && rmmod anybinder
}

# The names that ours has: file system, netlink family, directory in debugfs.
names() {
	(cd $parameters && cat filesystem family debugfs | tr '\n' ' ')
}

logged() { # TEXT...
	local text
	for text in "$@"; do
		grep -qF "anybinder: $text" /tmp/dmesg || return
	done
}

# The directory in debugfs has the same texts as the mount: it is not the other driver's.
own_debugfs() {
	local directory
	directory=/sys/kernel/debug/$(cat $parameters/debugfs)
	diff -r "$directory" "$own_dir/binder_logs" > /tmp/diff 2>&1
	tap_case $? "$1" "$(names)$(head -1 /tmp/diff)"
}

doctor() { # NAME TEXT
	local line
	line=$("$top/build/bin/anybinder" doctor | grep '^driver ')
	[[ $line == *"$2"* ]]
	tap_case $? "$1" "$line"
}

test_ours_first() {
	local wanted=$own_names
	# Without binderfs the C driver needs none of the names but that in debugfs.
	[ "$kind" != stock ] || wanted=debugfs=anybinder
	# shellcheck disable=SC2086 # several parameters
	load_own $wanted && load_stock
	tap_case $? ours_first "$(names)"
	use_both ours_first_both_work
	own_debugfs ours_first_debugfs
	unload_own
	tap_case $? ours_first_is_unloaded ""
	stock_works stock_works_without_ours
}

test_stock_first() {
	load_own devices=$devices
	tap_case $? stock_first "$(names)"
	use_both stock_first_both_work
	own_debugfs stock_first_debugfs
	# /dev/binder may be the other driver's; a program that is run so finds ours there.
	"$top/build/bin/anybinder" --mount $own_dir run -- bash "$0" --inside > /tmp/run.log 2>&1
	tap_case $? run_gives_ours "$(tail -1 /tmp/run.log)"
	# The Rust driver has none.
	[ "$kind" = rust ] ||
		logged "another driver has the debugfs directory binder: reports are in anybinder"
	tap_case $? log_debugfs "$(grep -F debugfs /tmp/dmesg)"
	doctor doctor_tells_both_apart "anybinder's module, beside $driver_text"
}

# What differs where the other driver has a binderfs, or devices in /dev.
test_stock_first_names() {
	if [ "$kind" = stock ]; then
		logged "another driver has /dev/binder: "
		tap_case $? log_device "$(grep -F /dev/binder /tmp/dmesg)"
		mount -t binder binder /mnt && [ -c /mnt/binder-control ] && umount /mnt
		tap_case $? mount_binder_is_ours "$(names)"
		return
	fi
	logged "another driver has the file system binder: mount -t anybinder"
	tap_case $? log_file_system "$(grep -F 'file system binder' /tmp/dmesg)"
	conformance /dev > /tmp/own.log 2>&1
	tap_case $? own_devices_in_dev "$(tail -1 /tmp/own.log)"
	if [ "$has_family" = yes ]; then
		logged "another driver has the netlink family binder" &&
			BINDER_NETLINK_FAMILY=anybinder conformance $own_dir \
				--filter=report_of_a_call_to_no_node > /tmp/own.log 2>&1
		tap_case $? own_family "$(names)$(tail -1 /tmp/own.log)"
	fi
}

test_taken_name_is_refused() {
	! insmod "$module" filesystem=binder 2> /tmp/log &&
		dmesg | grep -q 'anybinder: the file system binder cannot be registered: -16' &&
		! grep -q anybinder /proc/filesystems && [ ! -e /sys/kernel/debug/anybinder ]
	tap_case $? taken_name_is_refused "$(cat /tmp/log)"
}

guest() { # MODULE DRIVER KIND HAS-FAMILY
	module=$1 stock=$2 kind=$3 has_family=$4
	stock_dir=/dev/binderfs driver_text="the kernel's driver in C"
	[ "$kind" != stock ] || stock_dir=/dev
	[ "$kind" != rust ] || driver_text="the kernel's driver in Rust"
	mkdir -p /dev/binderfs $own_dir
	mount -t tmpfs none /mnt
	test_ours_first
	test_stock_first
	test_stock_first_names
	unload_own
	tap_case $? stock_first_ours_is_unloaded ""
	stock_works stock_works_at_the_end
	[ "$kind" = stock ] || test_taken_name_is_refused
	return 0
}

# Under `anybinder run`: are the usual paths ours?
inside() {
	[ "$(stat -L -c %t /dev/binder)" = "$(stat -c %t $own_dir/binder)" ] &&
		[ "$(stat -L -c %t /dev/binderfs/binder)" = "$(stat -c %t $own_dir/binder)" ] &&
		conformance /dev
}

if [ "$1" = --inside ]; then
	inside
	exit
fi
guest "$@"
tap_end
