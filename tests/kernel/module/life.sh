#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# life.sh MODULE BINDERFS_TEST SQUATTER [MEASURING]: runs in the virtual machine, with no driver
# loaded yet. MEASURING is the measuring build, with locking modes. Prints TAP. The kernel is booted
# with slub_debug=U,kmalloc-*, which records for each object the code that allocated it.
set -u

module=$1
selftest=$2
squatter=$3
measuring=${4-}
conformance=$ANYBINDER_BIN/anybinder-conformance
# A round trip, a file, a death: all kinds of allocations.
filters=(--filter txn_fields_arrive --filter fd_arrives --filter fd_undelivered_is_released
	--filter death_is_notified --filter txn_oneway_hides_the_pid)
rounds=10
# A kmalloc cache may grow this much in all rounds: what the rest of the system allocates.
slack_objects=50
work=$(mktemp -d)
# Before 5.14 these are elsewhere.
alloc_traces=(/sys/kernel/debug/slab/kmalloc-*/alloc_traces)
[ -e "${alloc_traces[0]}" ] || alloc_traces=(/sys/kernel/slab/kmalloc-*/alloc_calls)
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../../lib/tap.sh"

# The module where modprobe finds it, in a separate tree; the kernel is made to look there, too.
install_module() {
	local dir
	dir=$work/lib/modules/$(uname -r)
	mkdir -p "$dir/extra"
	strip --strip-debug -o "$dir/extra/anybinder.ko" "$module"
	touch "$dir/modules.order" "$dir/modules.builtin" "$dir/modules.builtin.modinfo"
	depmod -b "$work"
	printf '#!/bin/sh\nexec %s -d %s "$@"\n' "$(command -v modprobe)" "$work" > "$work/modprobe"
	chmod +x "$work/modprobe"
	echo "$work/modprobe" > /proc/sys/kernel/modprobe
}

round() { # device-dir log
	"$conformance" --device-dir "$1" "${filters[@]}" > "$2" 2>&1
}

# Prints what is still visible of the module.
traces() {
	grep -w anybinder /proc/modules
	grep -wE '(any)?binder' /proc/filesystems
	grep binder /proc/misc
	find /dev /sys/module /sys/kernel/debug /sys/kernel/tracing/events -maxdepth 1 \
		-name '*binder*'
}

# Prints what is still allocated by code that was unloaded: its callers have no name any more.
orphans() {
	awk '$2 ~ /^0x/' "${alloc_traces[@]}" || echo "unknown"
	awk '$3 ~ /^0x/' /proc/vmallocinfo || echo "unknown"
}

# Objects in each kmalloc cache; slub_debug makes the count exact.
caches() {
	awk '$1 ~ /^kmalloc-/ { print $1, $2 }' /proc/slabinfo
}

# One life: loaded by the C driver's name, devices in /dev, binderfs, used, unloaded.
life() {
	local binderfs=$work/binderfs
	mkdir -p "$binderfs"
	"$work/modprobe" binder_linux devices=binder,hwbinder,vndbinder,anybinder || return
	[ -c /dev/anybinder ] || return
	round /dev "$work/log" || return
	mount -t binder binder "$binderfs" && round "$binderfs" "$work/log" || return
	umount "$binderfs" && rmmod anybinder
}

# The caches that have grown more than that in these lives.
grown_in_lives() {
	local status=0
	caches > "$work/before"
	for _ in $(seq $rounds); do
		life || status=1
	done
	caches > "$work/after"
	awk -v slack=$slack_objects 'NR == FNR { before[$1] = $2; next }
		$1 in before && $2 - before[$1] > slack || !($1 in before) {
			printf "%s %d -> %d; ", $1, before[$1], $2 }' "$work/before" "$work/after"
	return $status
}

# A leak grows with the number of lives; what the rest of the system allocates does not.
test_lives() {
	local status=0 left grown
	life || status=1
	grown=$(grown_in_lives) || status=1
	if [ -n "$grown" ]; then
		grown=$(grown_in_lives) || status=1
	fi
	[ $status -eq 0 ] || tail -20 "$work/log" | tap_comment
	tap_case $status lives "$rounds times loaded, used, unloaded; $(tail -1 "$work/log")"
	left=$(traces)
	tap_case "${#left}" nothing_is_left_visible "$left"
	left=$(orphans)
	tap_case "${#left}" nothing_is_left_allocated "$left"
	tap_case "${#grown}" caches_do_not_grow "$grown"
}

# mount loads the module, by the name of the file system.
test_mount_loads() {
	mkdir -p /dev/binderfs
	mount -t binder binder /dev/binderfs && round /dev/binderfs "$work/log"
	tap_case $? mount_loads "$(tail -1 "$work/log")"
	umount /dev/binderfs
}

test_in_use() {
	mount -t binder binder /dev/binderfs
	! rmmod anybinder 2> "$work/log"
	tap_case $? mounted_cannot_be_unloaded "$(cat "$work/log")"
	umount /dev/binderfs
}

# The measuring build: locking modes by name, and lock counts, which a parameter starts and stops.
test_measures() {
	local mode counts=/sys/module/anybinder/parameters/count_locks
	! insmod "$measuring" locking=coarse 2> "$work/log"
	tap_case $? unknown_locking_mode_is_refused "$(cat "$work/log")"
	for mode in fine global global-nopreempt; do
		if [ $mode = global-nopreempt ] && uname -v | grep -q PREEMPT_RT; then
			! insmod "$measuring" locking=$mode 2> "$work/log"
			tap_case $? locking_global_nopreempt "refused on PREEMPT_RT"
			continue
		fi
		insmod "$measuring" locking=$mode &&
			mount -t binder binder "$work/binderfs" &&
			round "$work/binderfs" "$work/log" &&
			! grep -v 'taken 0 waited 0$' $counts && echo 1 > $counts &&
			round "$work/binderfs" "$work/log" && echo 0 > $counts &&
			cp $counts "$work/counts" && round "$work/binderfs" "$work/log" &&
			cmp $counts "$work/counts" && grep -q '^inner taken [1-9]' "$work/counts" &&
			[ "$(cat /sys/module/anybinder/parameters/locking)" = $mode ] &&
			if [ $mode = fine ]; then
				grep -qx 'global taken 0 waited 0' "$work/counts"
			else
				grep -q '^global taken [1-9]' "$work/counts"
			fi
		tap_case $? "locking_${mode/-/_}" "$(grep '^global taken' "$work/counts")"
		umount "$work/binderfs" && rmmod anybinder
	done
}

# debugfs has the same texts as binder_logs.
test_debugfs() {
	mount -t binder -o stats=global binder /dev/binderfs
	diff -r /sys/kernel/debug/binder /dev/binderfs/binder_logs > "$work/log" 2>&1
	tap_case $? debugfs "$(head -3 "$work/log")"
	umount /dev/binderfs
}

test_stress() {
	cd "$work" || return
	stress-ng --binderfs 4 --timeout 10s --metrics-brief > "$work/log" 2>&1 &&
		grep -qE 'binderfs +[1-9]' "$work/log"
	tap_case $? stress_ng \
		"$(grep -E 'binderfs +[0-9]|skipped|fail' "$work/log" | tr -s ' \n' ' ')"
}

# Where another driver has the netlink family that is asked for, all but the failure notices work.
# What is done by default is in tests/kernel/module/beside.sh.
test_family_taken() {
	local binderfs=$work/binderfs
	insmod "$squatter" && "$work/modprobe" binder_linux family=binder &&
		mount -t binder binder "$binderfs" && round "$binderfs" "$work/log" &&
		[ -e "$binderfs/features/extended_error" ] &&
		[ ! -e "$binderfs/features/transaction_report" ] &&
		umount "$binderfs" && rmmod anybinder && rmmod squatter
	tap_case $? family_taken "$(dmesg | grep -o 'no transaction reports.*' | tail -1)"
}

install_module
test_lives
test_family_taken
[ -z "$measuring" ] || test_measures
test_mount_loads
test_in_use
test_debugfs
"$selftest" | sed "s/^/binderfs_test: /"
test_stress
rmmod anybinder
tap_case $? unloaded_at_the_end ""
tap_end
